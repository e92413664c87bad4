"""A handler that breaks the rules of core fails loudly, in the run where it does."""

from __future__ import annotations

import itertools
import re
import sys
from typing import Any

import pytest

from vez.core import Election, Graph, Io, Message, Mutex, Process, Ring, Star
from vez.errors import HandlerFailed, MutableField, NotDeterministic, ProtocolBug, UnhandledMessage
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.faults import Faults
from vez.worlds.sim.scenario import Network


class Hello(Message):
    number: int = 0


def run(algorithm: type[Process], *, debug: bool = False, record: bool = True, **parts: Any) -> None:
    simulate(Scenario(algorithm="mine", n=3, **parts), algorithm, debug=debug, record=record)


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


class Weighing(Process):
    def on_start(self, io: Io) -> None:
        io.set_timer("tick", float("nan"))

    def on_timer_tick(self, io: Io) -> None: ...


class Manifold(Process):
    def on_start(self, io: Io) -> None:
        io.send([1], Hello())  # type: ignore[arg-type]


class Terse(Process):
    def status(self) -> str:
        return 3  # type: ignore[return-value]


class Remarking(Process):
    def on_start(self, io: Io) -> None:
        io.note(3)  # type: ignore[arg-type]


class Electing(Election):
    def on_elect(self, io: Io) -> None:
        io.elected("x")  # type: ignore[arg-type]


class Absent(Election):
    def on_elect(self, io: Io) -> None:
        io.elected(99)


class Termed(Election):
    def on_elect(self, io: Io) -> None:
        io.elected(io.me, "first")  # type: ignore[arg-type]


class Backing(Process):
    topology = Ring

    def on_start(self, io: Io) -> None:
        io.send(io.left, Hello())


class Unfilled(Process):
    size: int


class Chooser(Process):
    def on_start(self, io: Io) -> None:
        io.choose(())


@pytest.mark.parametrize(
    ("algorithm", "complaint"),
    [
        (NoTimer, "no on_timer_lease"), (Backwards, "in the past"), (Nobody, "does not exist"), (Spoke, "no channel"),
        (Stringly, "not a Message"), (Eager, "inside already"), (Chooser, "no options"),
        (Weighing, r"'tick' to nan ms, expected 0 to 1e\+12"), (Manifold, r"to \[1\], which does not exist"),
        (Terse, r"status\(\) of process 1 gave 3, expected text"), (Remarking, "called io.note 3, expected text"),
        (Electing, r"called io.elected\('x', 0\)"), (Absent, r"io.elected\(99, 0\)"), (Termed, "'first'"),
        (Backing, "to the right only"), (Unfilled, "field 'size' has no default"),
    ],
)  # fmt: skip
def test_other_broken_rules(algorithm: type[Process], complaint: str) -> None:
    with pytest.raises(ProtocolBug, match=complaint):
        run(algorithm)


class Zeroth(Process):
    def on_start(self, io: Io) -> None:
        io.send(0, Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None: ...


@pytest.mark.parametrize("record", [True, False])
def test_a_message_to_nobody(record: bool) -> None:
    with pytest.raises(ProtocolBug, match="does not exist"):
        run(Zeroth, record=record)


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("delay", ["constant(1)", "uniform(0.5, 1.5)"])
def test_an_entry_that_nobody_asked_for(record: bool, delay: str) -> None:
    with pytest.raises(ProtocolBug, match=r"called io.enter\(\) but is inside already"):
        run(Eager, record=record, network=Network(delay=delay))


class Entering(Election):
    def on_elect(self, io: Io) -> None:
        io.enter()


def test_an_election_that_enters_is_told_what_an_election_calls() -> None:
    with pytest.raises(ProtocolBug, match=r"called io.enter\(\)") as found:
        run(Entering)
    assert "an Election calls io.elected" in found.value.hint


class Dividing(Process):
    count: int = 0

    def on_start(self, io: Io) -> None:
        io.send(io.right, Hello(io.me))

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        self._divide(message.number)

    def _divide(self, number: int) -> None:
        self.count = 1 // (number - 1)


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("record", [True, False])
def test_a_handler_that_raises_is_named_with_its_line(record: bool, debug: bool) -> None:
    line = Dividing._divide.__code__.co_firstlineno + 1
    place = rf"test_protocol_bugs.py:{line}: Dividing.on_hello"
    what = "raised ZeroDivisionError: integer division or modulo by zero"
    with pytest.raises(HandlerFailed, match=rf"{place} {what} \(process 2, at 1 ms\)") as caught:
        run(Dividing, record=record, debug=debug)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def _fails(body: str) -> type[Process]:
    scope: dict[str, object] = {"Hello": Hello, "sys": sys}
    exec(f"def on_start(self, io):\n    {body}", scope)  # noqa: S102 - one handler a line
    return type("Failing", (Process,), {"on_start": scope["on_start"]})


@pytest.mark.parametrize(
    ("body", "what", "hint"),
    [
        ("{}[3]", "KeyError: 3", "VEZ_DEBUG"),
        ("assert io.me > 5", r"AssertionError \(process 1", "VEZ_DEBUG"),
        ("on_start(self, io)", "RecursionError: maximum recursion", "VEZ_DEBUG"),
        ("io.send(2, Hello(1, 2, 3))", "TypeError: .*positional", "VEZ_DEBUG"),
        ("io.sendd(2, Hello())", "AttributeError: io has no 'sendd'", r"did you mean io\.send\?"),
        ("self.cout = 3", "AttributeError: no field 'cout'", "declare it in Failing, for example `cout: int = 0`"),
        ("self.cout += 3", "AttributeError: no field 'cout'", "declare it in Failing, for example `cout: int = 0`"),
        ("sys.exit(3)", "SystemExit: 3", "VEZ_DEBUG"),
    ],
)
@pytest.mark.parametrize("record", [True, False])
def test_whatever_a_handler_raises(record: bool, body: str, what: str, hint: str) -> None:
    with pytest.raises(HandlerFailed, match=f"on_start raised {what}") as caught:
        run(_fails(body), record=record)
    assert re.search(hint, caught.value.hint)


def test_status_may_fail_too() -> None:
    class Moody(Process):
        def status(self) -> str:
            raise ValueError("not today")

    with pytest.raises(HandlerFailed, match=r"Moody.status raised ValueError: not today \(process 1, at 0 ms\)"):
        run(Moody)


def test_a_bug_of_the_simulator_is_not_blamed_on_the_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faults, "plan", lambda self: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        run(Dividing)


def test_what_is_not_unicode_cannot_be_written_down() -> None:
    class Garbling(Process):
        def on_start(self, io: Io) -> None:
            io.note("\ud800")

    trace = simulate(Scenario(algorithm="mine", n=2), Garbling).trace
    assert trace is not None
    with pytest.raises(ProtocolBug, match="cannot be written down"):
        trace.to_bytes()


def test_io_has_no_back_doors() -> None:
    class Curious(Process):
        def on_start(self, io: Io) -> None:
            io.clock()  # type: ignore[attr-defined]

    with pytest.raises(HandlerFailed, match="io has no 'clock'"):
        run(Curious)


def test_a_graph_knows_its_channels() -> None:
    class Shouter(Process):
        topology = Graph

        def on_start(self, io: Io) -> None:
            for neighbour in io.neighbours:
                io.send(neighbour, Hello(io.me))

        def on_hello(self, message: Hello, sender: int, io: Io) -> None: ...

    assert simulate(Scenario(algorithm="mine", n=3, edges=((1, 2), (2, 3))), Shouter).messages == {"Hello": 4}
