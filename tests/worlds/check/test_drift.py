"""Drift: a timer runs out somewhat before or after the requested time, if time is modelled."""

from __future__ import annotations

import pytest

from vez.catalogue.algorithms import find
from vez.core import Assumption, Election, Io, Message, Process
from vez.errors import Misuse
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.check.model.clock import Clock, Countdown
from vez.worlds.check.model.semantics import Model
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import dumps, loads


class Won(Message):
    """Process 1 leads."""


class Race(Election):
    """Process 1 leads after 4 ms and announces it at once. Process 2 leads after 6 ms, unless it has received that."""

    name = "race"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES, Assumption.KNOWN_BOUNDS)
    lost: bool = False

    def on_start(self, io: Io) -> None:
        io.set_timer("race", 4.0 if io.me == 1 else 6.0)

    def on_elect(self, io: Io) -> None:
        pass

    def on_timer_race(self, io: Io) -> None:
        if not self.lost:
            io.elected(io.me, 1)
            io.broadcast(Won())

    def on_won(self, message: Won, sender: int, io: Io) -> None:
        self.lost = True
        io.elected(sender, 1)


def asked(algorithm: type[Process], n: int, drift: float, **more: bool) -> Configuration:
    return Configuration(Scenario(algorithm=algorithm.name, n=n), algorithm, drift=drift, **more)  # type: ignore[arg-type]


def judged(algorithm: type[Process], n: int, drift: float, name: str) -> Report:
    return check(asked(algorithm, n, drift), (name,))


def test_a_lease_that_runs_out_early_breaks_exclusion() -> None:
    """A grant that takes 2 ms and a stay of 6 ms leave 2 of 10 ms; at equality both may be inside at one moment."""
    lease = find("coordinator-lease")
    assert not judged(lease, 3, 0.19, "exclusion").broken
    report = judged(lease, 3, 0.2, "exclusion")
    assert report.broken == ("exclusion",)
    assert "timers off by up to 20 %" in report.configuration
    assert not judged(lease, 3, 0.5, "fenced_exclusion").broken


@pytest.mark.parametrize(("drift", "broken"), [(0.19, False), (0.2, True)])
def test_one_clock_is_slow_and_the_other_fast(drift: float, broken: bool) -> None:
    """4.8 ms are the latest moment of one timer and the earliest one of the other."""
    assert bool(judged(Race, 2, drift, "uniqueness").broken) == broken


@pytest.mark.parametrize(("drift", "broken"), [(0.25, False), (0.5, True)])
def test_an_answer_comes_after_a_timer_that_runs_out_early(drift: float, broken: bool) -> None:
    """An answer takes up to 4 ms. The timer waits 6."""
    assert bool(judged(find("bully"), 2, drift, "uniqueness").broken) == broken


@pytest.mark.parametrize(
    ("algorithm", "n", "name"),
    [(find("coordinator-lease"), 3, "exclusion"), (Race, 2, "uniqueness"), (find("bully"), 2, "uniqueness")],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_replay_says_whose_clock_was_off(algorithm: type[Process], n: int, name: str) -> None:
    scenario = judged(algorithm, n, 0.5, name).counterexamples[name].scenario
    trace = simulate(loads(dumps(scenario)), algorithm).trace
    assert trace is not None
    assert judge(trace, only=[name])[0].status is Status.BROKEN
    assert trace.header.drifting
    assert {0.5 <= drift.rate <= 1.5 for drift in scenario.drift} == {True}


def test_a_timer_may_fire_from_its_earliest_to_its_latest_moment() -> None:
    configuration = asked(Race, 2, 0.5)
    check(configuration, ("uniqueness",))  # finds the tick
    assert configuration.clock.tick_us == 1000
    model, can_fire, ticks = Model(configuration), [], 0
    state = model.initial()[0]
    while True:
        steps = {(step.kind, step.process): step for step in model.steps(state)}
        can_fire += [ticks] * (("fire", 0) in steps)
        if ("advance", -1) not in steps:
            break
        state, ticks = steps["advance", -1].state, ticks + 1
    assert can_fire == [2, 3, 4, 5, 6]


def test_bounds_are_rounded_outward_to_microseconds() -> None:
    assert Clock(drift=0.1).timer(10_000) == Countdown(9_000, 11_000)
    assert Clock(drift=0.1).timer(15) == Countdown(13, 17)
    assert Clock(drift=0.1).timer(0) == Countdown(0, 0)
    assert Clock().timer(15) == Countdown(15, 15)


def test_fairness_is_named_as_it_is_with_drift() -> None:
    report = judged(Race, 2, 0.1, "termination")
    assert "timers that may have run out fire unless they are set anew" in map(str, report.fairness)
    assert not report.broken


def test_drift_adds_nothing_where_there_is_no_time() -> None:
    with pytest.raises(Misuse, match="run out at any moment anyway"):
        asked(find("coordinator-lease"), 3, 0.1, timeouts=True)
    with pytest.raises(Misuse, match="sets no timers"):
        asked(find("ricart-agrawala"), 3, 0.1)
    with pytest.raises(Misuse, match="found 1"):
        asked(find("bully"), 3, 1.0)


class Tired(Process):
    """Every process sets two timers; process 1 must hear from process 2 before its second one."""

    name = "tired"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES, Assumption.KNOWN_BOUNDS)
    early: bool = False

    def on_start(self, io: Io) -> None:
        io.set_timer("first", 4.0)

    def on_timer_first(self, io: Io) -> None:
        io.set_timer("second", 6.0)
        if io.me == 2:
            io.send(1, Won())

    def on_won(self, message: Won, sender: int, io: Io) -> None:
        self.early = True

    def on_timer_second(self, io: Io) -> None:
        """6 ms after the first one, in which the message arrives if no clock is off."""
        assert io.me != 1 or self.early


def test_only_the_clocks_that_the_run_needs_are_off_and_by_no_more() -> None:
    report = check(asked(Tired, 3, 0.9), ("no_exceptions",))
    assert report.broken == ("no_exceptions",)
    scenario = report.counterexamples["no_exceptions"].scenario
    assert scenario.drift
    assert 3 not in {drift.process for drift in scenario.drift}, "its clock changes nothing"
    lease = judged(find("coordinator-lease"), 3, 0.5, "exclusion").counterexamples["exclusion"].scenario
    off = [(drift.process, drift.rate) for drift in lease.drift]
    assert off == [(1, 0.79)], "with 0.8 one leaves at the moment at which the other enters"


def test_no_clock_is_off_in_a_run_that_fails_anyway() -> None:
    lease = find("coordinator-lease")
    right = Configuration(Scenario(algorithm=lease.name, n=3), lease, budget=Budget(pauses=1))
    assert check(right, ("exclusion",)).broken, "a pause is enough"
    off = Configuration(Scenario(algorithm=lease.name, n=3), lease, budget=Budget(pauses=1), drift=0.1)
    scenario = check(off, ("exclusion",)).counterexamples["exclusion"].scenario
    assert scenario.pause
    assert not scenario.drift
