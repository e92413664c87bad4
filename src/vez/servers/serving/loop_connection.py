"""One connection of the model `loop`: events of the event loop in, requests and answers in order."""

from __future__ import annotations

import asyncio
import socket
import time
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from vez.servers.serving.connection import LAST_WORDS_S
from vez.servers.serving.conversation import Conversation
from vez.servers.serving.http import CONTINUE, BadRequest, Vanished
from vez.servers.serving.recording import Phase
from vez.servers.serving.server import LOADED
from vez.servers.serving.service import Answer, Request

if TYPE_CHECKING:
    from vez.servers.serving.loop import Loop


class State(Enum):
    """The state of a connection: the event for which it waits."""

    IDLE = "the first byte of a request"
    RECEIVING = "the rest of a request"
    DECIDING = "the pool"
    SENDING = "the client to take an answer"
    OVER = "the client to end the connection"


UNDER_WAY = (State.RECEIVING, State.DECIDING, State.SENDING)


class LoopConnection(asyncio.BufferedProtocol):
    """One connection on the event loop. The state of HTTP is in its conversation."""

    __slots__ = ("_conversation", "_ended", "_server", "_state", "_transport", "address", "deadline")

    def __init__(self, server: Loop) -> None:
        self._server = server
        self._conversation = Conversation(server.limits, server.memory)
        self._transport = cast(asyncio.Transport, None)
        self._state = State.IDLE
        self._ended = False  # the client sends no more
        self.deadline = time.monotonic() + server.limits.idle_s  # checked by the loop's sweeps; None: no limit
        self.address = ""

    @property
    def is_idle(self) -> bool:
        """True if the connection can be closed without interrupting a request."""
        return self._state is State.IDLE

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast(asyncio.Transport, transport)
        self.address = str(transport.get_extra_info("peername", ("",))[0])
        plug: socket.socket = transport.get_extra_info("socket")
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server.gate.join(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._server.gate.leave(self)
        if self._state in UNDER_WAY:
            self._server.counts.add("vanished")
            self._server.log.line(f"{self.address}: vanished while waiting for {self._state.value}")
        self._state = State.OVER

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next read. All connections share one, because data is used before the loop reads again."""
        return self._server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take bytes from the client."""
        if self._state is State.OVER:
            return
        self._conversation.receive(bytes(self._server.buffer[:nbytes]))
        if self._state is State.DECIDING or self._state is State.SENDING:
            self._transport.pause_reading()  # one request after the other
        else:
            self._go_on()

    def eof_received(self) -> bool:
        """The client has stopped sending. An answer can still be sent, so the connection stays open."""
        self._ended = True
        if self._state is State.OVER:
            return False
        self._conversation.receive(b"")
        if self._state is State.IDLE or self._state is State.RECEIVING:
            self._go_on()
        return True

    def pause_writing(self) -> None:
        """The client does not read its answer fast enough."""
        if self._state is not State.OVER:
            self._enter(State.SENDING, self._server.limits.answer_s)

    def resume_writing(self) -> None:
        """The client has read its answer."""
        if self._state is State.SENDING:
            self._rest()
            self._go_on()

    def _enter(self, state: State, seconds: float) -> None:
        self._state = state
        self.deadline = time.monotonic() + seconds

    def _rest(self) -> None:
        """Wait for the next request."""
        self._enter(State.IDLE, self._server.limits.idle_s)
        self._server.gate.listen()

    def _go_on(self) -> None:
        """Handle requests until bytes are missing or one has to wait."""
        while self._state is State.IDLE or self._state is State.RECEIVING:
            begin = time.monotonic()
            try:
                request = self._conversation.next_request()
            except BadRequest as bad:
                self._server.counts.add("malformed")
                self._server.log.line(f"{self.address}: bad request ({bad.answer.status}): {bad}")
                self._send(bad.answer, 0)
                return
            except Vanished:
                self._state = State.RECEIVING
                self.abort()
                return
            if request is None:
                self._wait_for_more()
                return
            self._handle(request, begin)

    def _wait_for_more(self) -> None:
        if self._conversation.over:
            self._part()
            return
        if self._conversation.asks_to_continue:
            self._transport.write(CONTINUE)
        if self._state is State.IDLE and self._conversation.has_begun:
            self._enter(State.RECEIVING, self._server.limits.request_s)
        self._transport.resume_reading()

    def _handle(self, request: Request, begin: float) -> None:
        server = self._server
        number = next(server.numbers)
        try:
            question = server.question(request, self.address, begin)
            server.note(Phase.RECEIVE, number, begin)
            known = server.service.at_once(question)
            if known is None:
                self._hand_over(question, number)
                return
            answer = server.service.answer(known)
        except Exception as error:
            answer = server.explain(error)
        self._send(answer, number)

    def _hand_over(self, question: Any, number: int) -> None:
        self._enter(State.DECIDING, float("inf"))
        if not self._server.hand_over(self, question, number):
            self._server.counts.add("refused")
            self._send(LOADED, number)

    def decided(self, answer: Answer, number: int) -> None:
        """Send the answer that the pool has decided on."""
        if self._state is State.DECIDING:
            self._send(answer, number)
            self._go_on()

    def _send(self, answer: Answer, number: int) -> None:
        begin = time.monotonic()
        server = self._server
        self._rest()
        try:
            data = self._conversation.reply(answer, close=server.stopping)
        except Exception as error:  # an answer that HTTP does not allow
            server.counts.add("failed")
            server.log.line(f"a connection failed: {type(error).__name__}: {error}")
            self._state = State.OVER
            self.abort()
            return
        self._transport.write(data)  # may enter SENDING
        server.counts.add("answered")
        server.note(Phase.SEND, number, begin)
        if self._conversation.over:
            self._part()

    def _part(self) -> None:
        """Shut down sending, and let the client read the rest of the answer: see connection.LAST_WORDS_S."""
        if self._ended:
            self.end()
            return
        patience = self._server.limits.answer_s if self._state is State.SENDING else LAST_WORDS_S
        self._enter(State.OVER, patience)
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def end(self) -> None:
        """End the connection as soon as the written bytes are sent."""
        self._enter(State.OVER, self._server.limits.answer_s)
        self._transport.close()

    def close_if_idle(self) -> None:
        """End the connection unless it has a request."""
        if self._state is State.IDLE:
            self.end()

    def check(self, now: float) -> None:
        """End the connection if its deadline has passed."""
        if now < self.deadline:
            return
        if self._state in (State.RECEIVING, State.SENDING) or self._transport.get_write_buffer_size():
            self._server.counts.add("slow")
            self._server.log.line(f"{self.address}: too slow while waiting for {self._state.value}")
        self._state = State.OVER
        self._transport.abort()

    def cut(self) -> bool:
        """End the connection at once because the server stops; True if it had a request."""
        asked = self._state in UNDER_WAY or self._transport.get_write_buffer_size() > 0
        self._state = State.OVER
        self._transport.abort()
        return asked

    def abort(self) -> None:
        """End the connection at once."""
        self._transport.abort()
