"""The checker does not say that a property holds if it cannot know."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import pytest

from vez.catalogue.algorithms import find
from vez.core import Election, Io, Message, Mutex, Property
from vez.core.assumptions import Assumption
from vez.errors import Misuse, NotDeterministic
from vez.judge.properties import Status
from vez.threads import Lock, Operation, Program, acquire, read, write
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.check.threads.interleavings import explore
from vez.worlds.sim.scenario import Scenario


class Ball(Message):
    """For ever."""


class Juggler(Mutex):
    """A ball that never rests, and a timer that lets everybody in. Time would pass, although the network is never
    quiet."""

    name = "juggler"
    assumes = (Assumption.RELIABLE, Assumption.KNOWN_BOUNDS)
    guarantees = (Property.EXCLUSION, Property.DEADLOCK_FREEDOM)

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(2, Ball())

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        io.send(sender, Ball())

    def on_want(self, io: Io) -> None:
        io.set_timer("go", 5)

    def on_timer_go(self, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


class Yes(Message):
    """You may."""


class Ranked(Mutex):
    """Asks everybody. Smaller identifiers give way to larger ones, which contradicts the declared symmetry."""

    name = "ranked"
    guarantees = (Property.EXCLUSION, Property.DEADLOCK_FREEDOM)
    symmetry = "full"
    identifier_fields = ("awaited", "deferred")
    inside: bool = False
    awaited: frozenset[int] = frozenset()
    deferred: frozenset[int] = frozenset()

    def on_want(self, io: Io) -> None:
        self.awaited = frozenset(io.peers)
        io.broadcast(Ball())

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        if self.inside or (self.awaited and sender > io.me):
            self.deferred |= {sender}
        else:
            io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        self.awaited -= {sender}
        if not self.awaited:
            self.inside = True
            io.enter()

    def on_done(self, io: Io) -> None:
        self.inside = False
        for process in sorted(self.deferred):
            io.send(process, Yes())
        self.deferred = frozenset()


def test_messages_that_never_stop_while_a_timer_runs_leave_everything_undecided() -> None:
    chosen = Configuration(Scenario(algorithm="juggler", n=2), Juggler)
    report = check(chosen)
    assert {verdict.status for verdict in report.verdicts} == {Status.UNDECIDED}
    assert "--timeouts" in report.verdicts[0].evidence
    report = check(Configuration(Scenario(algorithm="juggler", n=2), Juggler, timeouts=True))
    assert {str(v.name): v.status for v in report.verdicts}["exclusion"] is Status.BROKEN


def test_a_symmetry_that_is_not_there_is_named() -> None:
    with pytest.raises(Misuse, match="declares a symmetry that it does not have"):
        check(Configuration(Scenario(algorithm="ranked", n=3), Ranked), symmetry=True)


def test_a_recovery_that_picks_the_smallest_peer_is_not_symmetric() -> None:
    naimi_trehel = find("naimi-trehel")
    scenario = Scenario(algorithm="naimi-trehel", n=3)
    assert not check(Configuration(scenario, naimi_trehel), ("exclusion",), symmetry=True).broken
    recovering = Configuration(scenario, naimi_trehel, budget=Budget(crashes=1, recoveries=1))
    with pytest.raises(Misuse, match=r"on_recover of process . does another thing when renamed"):
        check(recovering, ("exclusion",), symmetry=True)


class FirstAsked(Mutex):
    """The hub answers only the largest of those that have asked, which contradicts the declared symmetry; nothing else
    shows it."""

    name = "first-asked"
    symmetry = "full"
    identifier_fields = ("asked",)
    asked: int = 0

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ball())

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        if sender > self.asked:
            self.asked = sender
            io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


def test_a_false_symmetry_is_refused_even_where_no_run_shows_it() -> None:
    with pytest.raises(Misuse, match="on_ball of process 1 does another thing when renamed"):
        check(Configuration(Scenario(algorithm="first-asked", n=3), FirstAsked), ("exclusion",), symmetry=True)


_calls = 0


class Counting(Mutex):
    """Reads a counter of the module: its third call and those after it get in."""

    name = "counting"
    asked: bool = False

    def on_want(self, io: Io) -> None:
        global _calls
        _calls += 1
        self.asked = True
        if _calls > 3:
            io.enter()

    def on_done(self, io: Io) -> None:
        self.asked = False


class Gambling(Mutex):
    """Draws a random number."""

    name = "gambling"
    drawn: int = 0

    def on_want(self, io: Io) -> None:
        self.drawn = random.randrange(1_000_000)
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


@pytest.mark.parametrize("algorithm", [Counting, Gambling])
@pytest.mark.parametrize("property", ["exclusion", "request_order"])
def test_a_handler_that_reads_more_than_its_state_is_named(algorithm: type[Mutex], property: str) -> None:
    global _calls
    _calls = 0
    with pytest.raises(NotDeterministic, match=f"{algorithm.__name__}.on_want of process"):
        check(Configuration(Scenario(algorithm=algorithm.name, n=2), algorithm), (property,))


class Numbered(Message):
    """A number that may be a truth value."""

    value: int | bool | tuple[int | bool, ...] = 0


class Flipping(Mutex):
    """Sends and stores 1 in its first calls and True later, which are equal values."""

    name = "flipping"
    kept: tuple[int | bool, ...] = ()

    def on_want(self, io: Io) -> None:
        global _calls
        _calls += 1
        io.broadcast(Numbered(True if _calls > 3 else 1))

    def on_numbered(self, message: Numbered, sender: int, io: Io) -> None:
        pass

    def on_done(self, io: Io) -> None:
        pass


class FlippingInside(Flipping):
    """As `Flipping`, but inside a tuple of a message and of a field."""

    name = "flipping-inside"

    def on_want(self, io: Io) -> None:
        global _calls
        _calls += 1
        self.kept = (True if _calls > 3 else 1,)
        io.broadcast(Numbered(self.kept))


@pytest.mark.parametrize("algorithm", [Flipping, FlippingInside])
def test_a_handler_that_changes_only_the_type_of_a_value_is_named(algorithm: type[Mutex]) -> None:
    global _calls
    _calls = 0
    with pytest.raises(NotDeterministic, match=f"{algorithm.__name__}.on_want of process"):
        check(Configuration(Scenario(algorithm=algorithm.name, n=2), algorithm), ("exclusion",))


def test_nothing_is_claimed_of_an_end_that_never_comes() -> None:
    def stuck() -> Generator[Operation, Any, None]:
        yield acquire("lock")
        yield acquire("lock")

    program = Program({"lock": Lock()}, {"A": stuck}, claim="x", at_end=lambda memory: False)
    found = explore(program)
    assert not found.ended
    assert "claim" not in found.broken


class Deaf(Mutex):
    """Nobody ever gets in, and one of its handlers is never called."""

    name = "deaf"
    guarantees = (Property.EXCLUSION,)

    def on_want(self, io: Io) -> None:
        io.broadcast(Ball())

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        pass

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.enter()

    def on_timer_bell(self, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


def test_what_was_not_exercised_is_said() -> None:
    report = check(Configuration(Scenario(algorithm="deaf", n=2), Deaf), ("exclusion", "starvation_freedom"))
    assert report.never_ran == ("on_timer_bell", "on_yes")
    exclusion, starvation = report.verdicts
    assert "nobody ever got in: this says nothing" in exclusion.evidence
    assert starvation.status is Status.BROKEN
    slow = Scenario(algorithm="coordinator", n=2, parameters={"grant_ms": 1})  # so that its timer runs too
    complete = check(Configuration(slow, find("coordinator")))
    assert complete.never_ran == ()
    assert all("says nothing" not in verdict.evidence for verdict in complete.verdicts)


def test_a_promise_that_is_judged_only_on_request_is_named() -> None:
    scenario = Scenario(algorithm="token-ring", n=3)
    assert check(Configuration(scenario, find("token-ring"))).on_request == ("bounded_waiting",)
    assert check(Configuration(scenario, find("token-ring")), ("exclusion",)).on_request == ()
    assert check(Configuration(scenario.but(algorithm="raymond"), find("raymond"))).on_request == ()


TURNS = [0]


def _by_chance() -> Generator[Operation, Any, None]:
    if random.random() < 0.5:
        yield write("a", 1)
    yield read("a")


def _by_a_global() -> Generator[Operation, Any, None]:
    TURNS[0] += 1
    yield write("a", TURNS[0] % 2)


@pytest.mark.parametrize("body", [_by_chance, _by_a_global])
def test_a_thread_that_reads_more_than_its_results_is_refused(body: Any) -> None:
    program = Program({"a": 0}, {"T1": body, "T2": body}, claim="a is 1", at_end=lambda memory: memory["a"] == 1)
    with pytest.raises(NotDeterministic, match=r"thread T\d, given the same results, wanted to (write|read|end)"):
        explore(program)


def test_tokens_that_nobody_gives_fence_nothing_off() -> None:
    evidence = {}
    for name in ("token-ring", "coordinator-lease"):
        report = check(Configuration(Scenario(algorithm=name, n=2), find(name)), ("fenced_exclusion",))
        evidence[name] = report.verdicts[0].evidence
    assert "no stay carries a token: this says nothing" in evidence["token-ring"]
    assert "says nothing" not in evidence["coordinator-lease"]


class Brief(Election):
    """Leads only within its handler."""

    name = "brief"

    def on_elect(self, io: Io) -> None:
        io.elected(io.me)
        io.elected(None)


def test_a_reign_that_ends_within_a_handler_was_a_reign() -> None:
    report = check(Configuration(Scenario(algorithm="brief", n=2), Brief), ("uniqueness",))
    assert "says nothing" not in report.verdicts[0].evidence


def test_fairness_names_only_steps_that_there_are() -> None:
    """Nobody crashes, so the detector of `bully` has nothing to report."""
    scenario, bully = Scenario(algorithm="bully", n=2), find("bully")
    reports = [check(Configuration(scenario, bully, budget=Budget(crashes=n)), ("termination",)) for n in (0, 1)]
    assert ["the detector reports crashes" in map(str, report.fairness) for report in reports] == [False, True]
    assert all("the detector reports recoveries" not in map(str, report.fairness) for report in reports)
