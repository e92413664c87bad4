"""Many clients in one thread: each asks, waits for the whole answer, and asks again. A loop around epoll or similar.

The clients parse as little as possible, so that the measurement is of the server and not of the clients.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from enum import StrEnum

import msgspec

from vez.servers.serving.trial.plan import Asked

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
BACK_OFF_S = 0.005
"""Seconds after which a client that was refused or cut off asks again."""
LAST_ANSWER_S = 20.0
"""Longest wait in seconds for answers after the last request."""


class Fate(StrEnum):
    """The outcome of a request."""

    ANSWERED = "answered"
    REFUSED = "refused"
    """Status 503."""
    OTHER = "other"
    """Any other status than 200."""
    LOST = "lost"
    """The connection ended without an answer."""
    PENDING = "pending"
    """No answer until the end of the trial."""


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One request as its client saw it. Times are seconds of the monotonic clock."""

    client: int
    target: str
    begin: float
    end: float
    fate: Fate


class _Client:
    """One client: a connection, which it opens again when it was closed."""

    def __init__(self, number: int, load: Load, place: int) -> None:
        self.number = number
        self.load = load
        self.place = place
        self.plug: socket.socket | None = None
        self.got = b""
        self.rest = b""
        self.target = ""
        self.begin = 0.0
        self.asked = 0
        self.wake_at: float | None = None

    def ask(self, now: float) -> None:
        """Send the next request."""
        asked = self.load.asked
        if now >= self.load.until or (asked.requests and self.asked >= asked.requests):
            self.leave()
            return
        self.target = asked.targets[self.place % len(asked.targets)]
        self.place += 1
        self.asked += 1
        self.begin = now
        self.load.waiting += 1
        request = self.load.requests[self.target]
        try:
            self.connect()
            self.send(request)
        except OSError:
            self.over(Fate.LOST)

    def connect(self) -> None:
        """Open the connection unless it is open."""
        if self.plug is None:
            self.plug = socket.create_connection(self.load.address, LAST_ANSWER_S)
            self.plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.plug.setblocking(False)
            self.load.selector.register(self.plug, selectors.EVENT_READ, self)

    def send(self, request: bytes) -> None:
        """Send the whole request; it fits the kernel's buffer."""
        if self.plug is not None and self.plug.send(request) != len(request):
            raise OSError("the request does not fit the kernel's buffer")

    def readable(self) -> None:
        """Handle bytes from the server, or the end of the connection."""
        if self.plug is None:
            return
        try:
            data = self.plug.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.over(Fate.LOST)
            return
        self.got = self.got + data if self.got else data
        head = self.got.find(b"\r\n\r\n")
        found = _LENGTH.search(self.got, 0, head + 2) if head >= 0 else None
        if found is None or len(self.got) < head + 4 + int(found[1]):
            return
        status, self.got = self.got[9:12], b""
        self.over(Fate.ANSWERED if status == b"200" else Fate.REFUSED if status == b"503" else Fate.OTHER)

    def over(self, fate: Fate) -> None:
        """Record the outcome of the request, and continue."""
        now = time.monotonic()
        self.load.samples.append(Sample(self.number, self.target, self.begin, now, fate))
        self.load.waiting -= 1
        if fate in (Fate.REFUSED, Fate.LOST):
            self.leave()
            self.wake_at = now + BACK_OFF_S
            self.load.sleepers.append(self)
        else:
            self.ask(now)

    def wake(self, now: float) -> None:
        """Send the next request after a pause."""
        self.wake_at = None
        self.ask(now)

    def leave(self) -> None:
        """Close the connection."""
        if self.plug is not None:
            self.load.selector.unregister(self.plug)
            self.plug.close()
            self.plug = None
        self.got = b""


class _SlowClient(_Client):
    """Sends its request byte by byte."""

    def send(self, request: bytes) -> None:
        self.rest = request
        self.wake(time.monotonic())

    def wake(self, now: float) -> None:
        """Send one byte more."""
        self.wake_at = None
        if self.plug is None or not self.rest:
            self.ask(now)
            return
        try:
            self.plug.send(self.rest[:1])
        except OSError:
            return
        self.rest = self.rest[1:]
        if self.rest:
            self.wake_at = now + self.load.asked.slow_byte_ms / 1000
            self.load.sleepers.append(self)


class Load:
    """All clients of a trial."""

    def __init__(self, address: tuple[str, int], asked: Asked) -> None:
        self.address = address
        self.asked = asked
        self.selector = selectors.DefaultSelector()
        self.samples: list[Sample] = []
        self.sleepers: list[_Client] = []
        self.waiting = 0
        self.until = 0.0
        head = "{method} {target} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n{more}\r\n"
        more = "Content-Length: 0\r\n" if asked.method == "POST" else ""
        self.requests = {
            target: head.format(
                method=asked.method, target=target, more=more + (f"X-Tag: {place}\r\n" if asked.tags else "")
            ).encode()
            for place, target in enumerate(asked.targets)
        }

    def run(self) -> list[Sample]:
        """Send requests until the time is over or all are sent. Returns every request with its outcome."""
        asked = self.asked
        apart = max(1, len(asked.targets) // max(1, asked.clients))
        quick = [_Client(number, self, number * apart) for number in range(asked.clients)]
        slow = [_SlowClient(asked.clients + number, self, number) for number in range(asked.slow_clients)]
        try:
            for client in (*slow, *quick):
                client.connect()
            now = time.monotonic()
            self.until = now + asked.seconds
            for client in (*slow, *quick):
                client.ask(time.monotonic())
            while (self.waiting or self.sleepers) and now < self.until + LAST_ANSWER_S:
                self._round(now)
                now = time.monotonic()
                if now >= self.until and not any(client.plug for client in quick):
                    break  # slow clients are not waited for
        finally:
            for client in (*quick, *slow):
                if client.plug is not None and client.begin:
                    self.samples.append(Sample(client.number, client.target, client.begin, now, Fate.PENDING))
                client.leave()
            self.selector.close()
        return self.samples

    def _round(self, now: float) -> None:
        wake_at = min((client.wake_at for client in self.sleepers if client.wake_at is not None), default=now + 1)
        for key, _ in self.selector.select(max(0.0, min(wake_at - now, 1.0))):
            key.data.readable()
        if self.sleepers:
            now = time.monotonic()
            due = [client for client in self.sleepers if client.wake_at is None or client.wake_at <= now]
            self.sleepers = [client for client in self.sleepers if client not in due]
            for client in due:
                if client.wake_at is not None:
                    client.wake(now)
