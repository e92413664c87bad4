"""Two clients and a server in lock-step: blocking input and output.

    vez sim --scenario scenarios/26-blocking-clients.toml --diagram text

A client sends a request and waits for the response. The server handles one request at a time: the second is not begun
before the first response has been sent. Camargos, Concorrência, the first drawing.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Parameter, Property, Star, named


class Request(Message):
    """Client to server."""


class Response(Message):
    """Server to client."""


class BlockingServer(Mutex):
    """The hub serves; the others are clients. A client that is "inside" processes its response."""

    name = "blocking-server"
    topology = Star
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM)

    service_ms: Parameter[float] = 3.0  # how long the server processes a request
    serves: bool = False
    waiting: tuple[int, ...] = ()  # clients whose requests have arrived, the one in service first

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_start(self, io: Io) -> None:
        self.serves = io.me == io.hub

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Request())

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.waiting += (sender,)
        if len(self.waiting) == 1:
            io.set_timer("done", self.service_ms)

    def on_timer_done(self, io: Io) -> None:
        first, self.waiting = self.waiting[0], self.waiting[1:]
        io.send(first, Response())
        if self.waiting:
            io.set_timer("done", self.service_ms)

    def on_response(self, message: Response, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        """The client has processed its response."""

    def status(self) -> str:
        if not self.serves:
            return ""
        return f"processes the request of {named(self.waiting[0])}" if self.waiting else "idle, waits for a request"
