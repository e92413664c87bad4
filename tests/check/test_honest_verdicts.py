"""Where the checker cannot know, it does not say that something holds."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from vez.check import Configuration, check
from vez.check.threads.interleavings import explore
from vez.core import Io, Message, Mutex, Property
from vez.core.assumptions import Assumption
from vez.errors import Misuse
from vez.properties import Status
from vez.sim.scenario import Scenario
from vez.threads import Lock, Operation, Program, acquire


class Ball(Message):
    """For ever."""


class Juggler(Mutex):
    """A ball that never rests, and a timer that lets everybody in: time would pass, though all is never quiet."""

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


class Intruder(Mutex):
    """Is in before it was asked."""

    name = "intruder"
    guarantees = (Property.EXCLUSION,)

    def on_start(self, io: Io) -> None:
        io.enter()

    def on_want(self, io: Io) -> None:
        pass

    def on_done(self, io: Io) -> None:
        pass


class Yes(Message):
    """You may."""


class Ranked(Mutex):
    """Asks everybody; smaller identifiers give way to larger ones, which the declaration denies."""

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


def test_a_rule_that_is_broken_at_the_start_is_told() -> None:
    report = check(Configuration(Scenario(algorithm="intruder", n=2), Intruder), ("exclusion",))
    assert report.bugs == tuple(f"process {n} called io.enter() but does not want in" for n in (1, 2))


def test_a_symmetry_that_is_not_there_is_named() -> None:
    with pytest.raises(Misuse, match="declares a symmetry that it does not have"):
        check(Configuration(Scenario(algorithm="ranked", n=3), Ranked), symmetry=True)


def test_nothing_is_claimed_of_an_end_that_never_comes() -> None:
    def stuck() -> Generator[Operation, Any, None]:
        yield acquire("lock")
        yield acquire("lock")

    program = Program({"lock": Lock()}, {"A": stuck}, claim="x", at_end=lambda memory: False)
    found = explore(program)
    assert not found.ended
    assert "claim" not in found.broken
