"""Small protocols for the tests of nodes; also loaded by real nodes as `tests/worlds/node/protocols.py:Counter`."""

from __future__ import annotations

from typing import ClassVar

from vez.core import Assumption, Durable, Io, Message, Mutex, Parameter, Process


class Count(Message):
    value: int


class Counter(Process):
    """Process 1 counts in a durable field, and sends every number to the others, which note it."""

    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.RELIABLE,)
    every_ms: Parameter[float] = 2.0
    value: Durable[int] = 0

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.set_timer("tick", self.every_ms)

    def on_recover(self, io: Io) -> None:
        io.note(f"recovered {self.value}")
        self.on_start(io)

    def on_timer_tick(self, io: Io) -> None:
        self.value += 1
        io.broadcast(Count(self.value))
        io.set_timer("tick", self.every_ms)

    def on_count(self, message: Count, sender: int, io: Io) -> None:
        io.note(f"heard {message.value}")


class Careless(Counter):
    """As `Counter`, over channels that may lose messages."""

    assumes = ()


class Large(Message):
    text: str


class Wordy(Process):
    """Process 1 sends a message that is larger than a frame of a test with small limits, and then a small one."""

    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.RELIABLE,)

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.set_timer("tick", 2.0)

    def on_timer_tick(self, io: Io) -> None:
        io.broadcast(Large("x" * 5000))
        io.broadcast(Large("small"))
        io.set_timer("tick", 2.0)

    def on_large(self, message: Large, sender: int, io: Io) -> None:
        io.note(message.text)


class CarelesslyWordy(Wordy):
    """As `Wordy`, over channels that may lose messages."""

    assumes = ()


class Nested(Message):
    inner: Nested | None = None


class Nesting(Process):
    """Process 1 sends a message with more levels than nodes allow."""

    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.RELIABLE,)

    def on_start(self, io: Io) -> None:
        message = Nested()
        for _ in range(40):
            message = Nested(message)
        if io.me == 1:
            io.broadcast(message)

    def on_nested(self, message: Nested, sender: int, io: Io) -> None:
        io.note("heard")


class Faulty(Mutex):
    """A handler with a mistake."""

    def on_want(self, io: Io) -> None:
        raise ZeroDivisionError("no\nreason")

    def on_done(self, io: Io) -> None: ...


class Talkative(Mutex):
    """Every process enters at once, after remarks that are longer than a line should be."""

    def on_want(self, io: Io) -> None:
        io.note("long " * 40_000)
        io.note("longer " * 300_000)
        io.enter()

    def on_done(self, io: Io) -> None: ...


class Hello(Message):
    pass


class Greeting(Process):
    """Process 1 greets all others when it starts, and again when its timer runs out."""

    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.RELIABLE,)
    again_ms: Parameter[float] = 0.0

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.broadcast(Hello())
            if self.again_ms:
                io.set_timer("again", self.again_ms)

    def on_timer_again(self, io: Io) -> None:
        io.broadcast(Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        pass


class Watchful(Greeting):
    """As `Greeting`; the failure detector tells every process of crashes."""

    def on_suspect(self, peer: int, io: Io) -> None:
        io.note(f"suspects {peer}")

    def on_trust(self, peer: int, io: Io) -> None:
        io.note(f"trusts {peer}")
