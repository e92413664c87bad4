"""Handlers that break a rule: each is reported with the shortest run to it, and the table is always printed."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from vez.catalogue.load import load_algorithm
from vez.core import Assumption, Durable, Io, Message, Mutex, Process, Property
from vez.core.drawn_view import View
from vez.errors import BadDeclaration, HandlerFailed, Misuse
from vez.judge.properties import Status
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Scenario


class Ask(Message):
    """May I?"""


class Yes(Message):
    """You may."""


class Base(Mutex):
    """Everybody asks the hub, which says yes to all."""

    guarantees = (Property.EXCLUSION,)
    symmetry = "full"
    heard: int = 0

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        self.heard += 1
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


class Speechless(Base):
    """Raises in `status` after it has received a message."""

    def status(self) -> str:
        return "a"[self.heard]


class Blind(Base):
    """Raises in `view` after it has received a message."""

    def view(self) -> View | None:
        assert not self.heard
        return None


class Mumbling(Base):
    """Returns a number as its status."""

    def status(self) -> str:
        return self.heard or ""  # type: ignore[return-value]


class Twice(Base):
    """Gets in twice for one request."""

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.enter()
        io.enter()


class Hasty(Base):
    """Asks twice: the second answer lets it in although it does not want in, or is in."""

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ask())
        io.send(io.hub, Ask())


class Intruder(Base):
    """Enters before it was asked."""

    def on_start(self, io: Io) -> None:
        io.enter()


class Given(Base):
    """A handler that raises KeyboardInterrupt."""

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        raise KeyboardInterrupt


class Pressed(Base):
    """The user presses Ctrl-C while its handler runs."""

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        signal.raise_signal(signal.SIGINT)


class InOrder(Process):
    """Raises if the second message arrives without the first one, which only a partition can take away."""

    name = "in-order"
    assumes = (Assumption.FIFO,)
    heard: bool = False

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(2, Ask())
            io.send(2, Yes())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        self.heard = True

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        assert self.heard


class Beginner(Process):
    """In `on_start`, stores a field and then sends to all."""

    begun: Durable[int] = 0

    def on_start(self, io: Io) -> None:
        self.begun = 1
        io.broadcast(Ask())
        self.begun = 2

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        pass

    def on_recover(self, io: Io) -> None:
        assert self.begun != 1


def checked(algorithm: type[Process], n: int = 2, properties: tuple[str, ...] = (), **more: Any) -> Report:
    budget = Budget(**{name: more.pop(name) for name in list(more) if name in Budget.__struct_fields__})
    options = {name: more.pop(name) for name in ("symmetry", "reduce") if name in more}
    scenario = Scenario(algorithm=algorithm.__name__, n=n)
    return check(Configuration(scenario, algorithm, budget=budget, **more), properties, **options)


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (Speechless, "Speechless.status raised IndexError"),
        (Blind, "Blind.view raised AssertionError"),
        (Mumbling, "status() of process 1 gave 1, expected text"),
        (Twice, "process 1 called io.enter() but is inside already"),
        (Hasty, "process 1 called io.enter() but is inside already"),
        (Given, "Given.on_ask raised KeyboardInterrupt"),
    ],
)
def test_what_ends_a_simulation_is_found_by_the_shortest_run(algorithm: type[Base], words: str) -> None:
    report = checked(algorithm)
    assert report.verdicts[0].name == "no_exceptions"
    assert report.verdicts[0].status is Status.BROKEN
    assert words in report.verdicts[0].evidence
    example = report.counterexamples["no_exceptions"]
    assert example.steps == {Given: 2, Hasty: 5}.get(algorithm, 3)
    assert example.trace.header.end == "raised"
    assert {verdict.name for verdict in report.verdicts} >= {"exclusion", "starvation_freedom"}


def test_ctrl_c_is_told_from_a_handler_that_raises_it() -> None:
    assert checked(Pressed).stopped == "by Ctrl-C"
    scenario = Scenario(algorithm="pressed", n=2)
    assert simulate(scenario, Pressed, watch=print).end == "interrupted"
    with pytest.raises(HandlerFailed, match=r"Given\.on_ask raised KeyboardInterrupt"):
        simulate(scenario, Given, watch=print)


@pytest.mark.parametrize("options", [{}, {"symmetry": True}])
def test_where_faults_can_explain_an_entry_the_search_goes_on_and_the_run_is_shown(options: dict[str, Any]) -> None:
    report = checked(Base, crashes=1, recoveries=1, **options)
    assert not report.stopped
    assert report.bugs == tuple(f"process {n} called io.enter() but does not want in" for n in (1, 2))
    example = report.counterexamples["bug"]
    kinds = [step.kind for step in example.path.steps]
    assert sorted(kinds) == ["crash", "deliver", "deliver", "recover", "want"]
    assert example.words[-1].endswith("called io.enter() but does not want in")
    assert "was let in, but does not want in" in str(example.trace.events)
    assert "exclusion" in report.broken


def test_a_run_without_a_fault_is_shown_where_faults_are_possible() -> None:
    report = checked(Twice, crashes=1)
    assert report.counterexamples["bug"].steps == 3
    assert report.counterexamples["exclusion"].steps == 6


def test_a_rule_that_is_broken_at_the_start_is_told() -> None:
    report = checked(Intruder)
    assert report.counterexamples["no_exceptions"].steps == 0
    excused = checked(Intruder, losses=1)
    assert excused.bugs == tuple(f"process {n} called io.enter() but does not want in" for n in (1, 2))
    assert excused.counterexamples["bug"].steps == 0


def test_a_handler_that_only_a_cut_channel_would_call_is_not_called() -> None:
    report = checked(InOrder, partitions=1)
    kinds = [step.kind for step in report.counterexamples["no_exceptions"].path.steps]
    assert kinds == ["cut", "sever", "heal", "deliver"]


def test_a_crash_inside_on_start_is_part_of_the_run() -> None:
    example = checked(Beginner, crashes_inside=1, recoveries=1).counterexamples["no_exceptions"]
    assert example.start == ("process 2 crashes inside on_start, after action 1: it has stored durable fields",)
    assert [step.kind for step in example.path.steps] == ["recover"]


def test_handlers_of_recoveries_and_withdrawals_that_never_ran_are_named() -> None:
    class Retracting(Base):
        def on_recover(self, io: Io) -> None:
            pass

        def on_withdraw(self, io: Io) -> None:
            pass

    assert checked(Retracting).never_ran == ("on_recover", "on_withdraw")
    assert checked(Retracting, crashes=1, recoveries=1, withdrawals=1).never_ran == ()


def test_the_end_of_pauses_is_among_what_is_fair() -> None:
    class Timed(Base):
        assumes = (Assumption.RELIABLE, Assumption.KNOWN_BOUNDS)

        def longest_delay_ms(self) -> float:
            return 2.0

    assert "pauses end" in map(str, checked(Timed, pauses=1).fairness)


@pytest.mark.parametrize("bound", [-1, 0.5, True, "2"])
def test_a_bound_of_bypasses_that_is_no_number_of_bypasses_is_refused(bound: Any) -> None:
    class Bounded(Base):
        @classmethod
        def bypass_bound(cls, n: int) -> int:
            return bound  # type: ignore[no-any-return]

    with pytest.raises(BadDeclaration, match=r"Bounded: bypass_bound\(2\) is"):
        checked(Bounded, properties=("bounded_waiting",))
    with pytest.raises(BadDeclaration, match=r"Promised: bypass_bound\(2\) is"):

        class Promised(Bounded):
            guarantees = (Property.BOUNDED_WAITING,)


def test_a_class_without_a_name_is_named_by_its_class() -> None:
    with pytest.raises(Misuse, match=r"^Base does not assume fifo"):
        checked(Base, without=("fifo",))
    with pytest.raises(Misuse, match=r"^Twice cannot be reduced by symmetry: .* repeat it in the class"):
        checked(Twice, symmetry=True)


def test_a_class_that_is_refused_does_not_keep_another_from_being_checked(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(
        "from vez.core import Io, Process\n"
        "class Good(Process):\n    def on_start(self, io: Io) -> None: ...\n"
        "class Bad(Process):\n    guarantees = ('exclusion',)\n"
        "class Child(Bad):\n    guarantees = ()\n"
    )
    assert load_algorithm(f"{file}:Good").__name__ == "Good"
    for name in ("Bad", "Child"):
        with pytest.raises(BadDeclaration, match="Bad: guarantees names 'exclusion'"):
            load_algorithm(f"{file}:{name}")
