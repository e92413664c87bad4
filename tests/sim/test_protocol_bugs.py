"""A handler that breaks the rules of core fails loudly, in the run where it does."""

from __future__ import annotations

import itertools

import pytest

from vez.core import Graph, Io, Message, Mutex, Process, Star
from vez.errors import MutableField, NotDeterministic, ProtocolBug, UnhandledMessage
from vez.sim import Scenario, simulate


class Hello(Message):
    number: int = 0


def run(algorithm: type[Process], *, debug: bool = False, record: bool = True, **parts: object) -> None:
    simulate(Scenario(algorithm="mine", n=3, **parts), algorithm, debug=debug, record=record)  # type: ignore[arg-type]


class Deaf(Process):
    def on_start(self, io: Io) -> None:
        io.broadcast(Hello())


@pytest.mark.parametrize("record", [True, False])
def test_an_unhandled_message(record: bool) -> None:
    with pytest.raises(UnhandledMessage, match="has no on_hello"):
        run(Deaf, record=record)


COUNTER = itertools.count()


class Random(Process):
    """Looks outside its state: a global counter stands for a clock or a random number."""

    def on_start(self, io: Io) -> None:
        io.send(io.right, Hello(next(COUNTER)))

    def on_hello(self, message: Hello, sender: int, io: Io) -> None: ...


class Remembering(Process):
    value: int = 0

    def on_start(self, io: Io) -> None:
        self.value = next(COUNTER)


class Listing(Process):
    queue: tuple[int, ...] = ()

    def on_start(self, io: Io) -> None:
        self.queue = [io.me]  # type: ignore[assignment]


def test_a_handler_that_is_not_deterministic_is_caught_in_a_debug_run() -> None:
    run(Random)  # an ordinary run cannot tell
    with pytest.raises(NotDeterministic, match=r"Random.on_start did send\(2, Hello\(number=\d+\)\) and then"):
        run(Random, debug=True)
    with pytest.raises(NotDeterministic, match="left value at"):
        run(Remembering, debug=True)


def test_a_mutable_value_in_a_field_is_caught_in_a_debug_run() -> None:
    with pytest.raises(MutableField, match="a list, into queue"):
        run(Listing, debug=True)


class NoTimer(Process):
    def on_start(self, io: Io) -> None:
        io.set_timer("lease", 1)


class Backwards(Process):
    def on_start(self, io: Io) -> None:
        io.set_timer("tick", -1)

    def on_timer_tick(self, io: Io) -> None: ...


class Nobody(Process):
    def on_start(self, io: Io) -> None:
        io.send(99, Hello())


class Spoke(Process):
    topology = Star

    def on_start(self, io: Io) -> None:
        if io.me == 2:
            io.send(3, Hello())


class Stringly(Process):
    def on_start(self, io: Io) -> None:
        io.send(io.right, "hello")  # type: ignore[arg-type]


class Eager(Mutex):
    def on_want(self, io: Io) -> None:
        io.enter()
        io.enter()

    def on_done(self, io: Io) -> None: ...


class Chooser(Process):
    def on_start(self, io: Io) -> None:
        io.choose(())


@pytest.mark.parametrize(
    ("algorithm", "complaint"),
    [
        (NoTimer, "no on_timer_lease"), (Backwards, "in the past"), (Nobody, "does not exist"), (Spoke, "no channel"),
        (Stringly, "not a Message"), (Eager, "inside already"), (Chooser, "no options"),
    ],
)  # fmt: skip
def test_other_broken_rules(algorithm: type[Process], complaint: str) -> None:
    with pytest.raises(ProtocolBug, match=complaint):
        run(algorithm)


def test_io_has_no_back_doors() -> None:
    class Curious(Process):
        def on_start(self, io: Io) -> None:
            io.clock()  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="clock"):
        run(Curious)


def test_a_graph_knows_its_channels() -> None:
    class Shouter(Process):
        topology = Graph

        def on_start(self, io: Io) -> None:
            for neighbour in io.neighbours:
                io.send(neighbour, Hello(io.me))

        def on_hello(self, message: Hello, sender: int, io: Io) -> None: ...

    assert simulate(Scenario(algorithm="mine", n=3, edges=((1, 2), (2, 3))), Shouter).messages == {"Hello": 4}
