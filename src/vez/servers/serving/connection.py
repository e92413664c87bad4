"""One connection of a client, for threads that block: whole requests in, whole answers out, in bounded time."""

from __future__ import annotations

import contextlib
import select
import socket
import time

from vez.servers.serving.conversation import Conversation, Memory
from vez.servers.serving.http import CONTINUE, Vanished
from vez.servers.serving.limits import Limits
from vez.servers.serving.service import Answer, Request

CHUNK = 1 << 14
"""Largest number of bytes of one read. Not more than the limit of headers, which h11 checks only between reads."""
LAST_WORDS_S = 0.2
"""Seconds for which the server reads from a client after it was told that the connection is over. An unread byte would
make the kernel reset the connection, and the client would never see the answer."""


class TooSlow(Exception):
    """The client did not send its request, or take its answer, in time."""


class Connection:
    """A socket and its conversation. One thread at a time uses it; `cut` may be called by another."""

    __slots__ = ("_limits", "_socket", "address", "conversation", "descriptor", "idle_since", "ready_at")

    def __init__(self, accepted: socket.socket, address: str, limits: Limits, memory: Memory, now: float) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = accepted
        self._limits = limits
        self.address = address
        self.conversation = Conversation(limits, memory)
        self.descriptor = accepted.fileno()
        self.idle_since = now
        """Time since which there was no request; only the gate uses it."""
        self.ready_at = now
        """Time at which bytes of the next request were seen."""

    def receive(self) -> Request | None:
        """Block until a whole request has arrived; None if the client is done. Raises BadRequest, TooSlow, Vanished."""
        deadline = 0.0
        while (request := self.conversation.next_request()) is None:
            if self.conversation.over:
                return None
            if self.conversation.asks_to_continue:
                self._send(CONTINUE, time.monotonic() + self._limits.answer_s)
            deadline = deadline or time.monotonic() + self._limits.request_s
            self.conversation.receive(self._read(deadline))
        return request

    def send(self, answer: Answer, *, close: bool = False) -> None:
        """Block until the kernel has the whole answer. Raises TooSlow, Vanished."""
        data = self.conversation.reply(answer, close=close)
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise Vanished from error
        if sent < len(data):
            self._send(memoryview(data)[sent:], time.monotonic() + self._limits.answer_s)

    def part(self) -> None:
        """Shut down sending, and let the client read the rest of the answer. Then the connection can be closed."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + LAST_WORDS_S
            while self._read(deadline):
                pass
        except (OSError, TooSlow, Vanished):
            return

    def refuse(self, words: bytes) -> None:
        """Send a refusal without blocking. Then the connection can be closed."""
        with contextlib.suppress(OSError):
            self._socket.recv(CHUNK)
            self._socket.send(words)
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def cut(self) -> None:
        """End the connection while another thread blocks on it. The socket stays open until that thread closes it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self, deadline: float) -> bytes:
        while True:
            try:
                return self._socket.recv(CHUNK)
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
            except OSError as error:
                raise Vanished from error

    def _send(self, data: bytes | memoryview, deadline: float) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except OSError as error:
                raise Vanished from error

    def _wait(self, event: int, deadline: float) -> None:
        left = deadline - time.monotonic()
        poll = select.poll()
        poll.register(self.descriptor, event)
        if left <= 0 or not poll.poll(left * 1000):
            raise TooSlow
