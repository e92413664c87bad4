"""Simulated: runs of the simulator that stay within a case's budget of faults, so that the checker must know them.

With time, every delay, stay and request is within its range. In half of the runs all times are at ticks, including the
ends of the ranges, where several events happen at the same moment. In the other half they are anywhere in the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tests.worlds.crosscheck.cases import Case
from vez.core.assumptions import Assumption
from vez.judge.properties import Status, judge
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Drift, Elect, Fate, Network, Partition, Pause, Suspicion, Want

SAFETY = ("exclusion", "uniqueness")
TICK = 2.0
"""The tick in milliseconds; every duration of the timed protocols is a multiple of it."""
NO_TIME = 0.001
"""The shortest delay of the simulator, in milliseconds."""
Draw = Callable[[float, float], float]


def violations(case: Case, count: int) -> dict[str, Scenario]:
    """The safety properties that break in some of the runs, each with a run."""
    found: dict[str, Scenario] = {}
    for scenario in runs(case, count):
        trace = simulate(scenario, case.algorithm).trace
        assert trace is not None
        for verdict in judge(trace):
            if verdict.name in SAFETY and verdict.status is Status.BROKEN:
                found.setdefault(verdict.name, scenario)
    return found


def runs(case: Case, count: int) -> Iterator[Scenario]:
    """Scenarios with everything at random times, and never more faults than the budget has."""
    for number in range(count):
        yield _Run(case, Random(f"simulated/{case.parameters}/{number}"), number).scenario()


class _Run:
    """One run."""

    def __init__(self, case: Case, chance: Random, number: int) -> None:
        self.case, self.chance, self.number = case, chance, number
        self.ids = tuple(range(1, case.n + 1))
        keeps = {*case.algorithm.assumes} - {*case.without}
        self.timed = Assumption.KNOWN_BOUNDS in keeps
        process = case.algorithm(**case.parameters)
        self.delay = process.longest_delay_ms() or NO_TIME if self.timed else 6.0
        stay = process.longest_stay_ms() if hasattr(process, "longest_stay_ms") else None
        self.stay = stay if self.timed and stay and Assumption.BOUNDED_STAY in keeps else 8.0
        self.draw: Draw = self._on_a_tick if self.timed and number % 2 else chance.uniform

    def scenario(self) -> Scenario:
        """The complete scenario."""
        case, chance = self.case, self.chance
        mutex = case.algorithm.role == "mutex"
        delay = chance.choice((f"uniform(0, {self.delay})", f"constant({self.delay})"))
        return case.scenario.but(
            seed=self.number,
            until_ms=60,
            max_events=2_000,
            network=Network(fifo=case.fifo, delay=delay),
            detector=Detector(delay_ms=self.delay + 0.5 if self.timed else 2.0),
            crash=tuple(self._crashes()),
            message=tuple(self._fates()),
            suspect=tuple(self._suspicions()),
            partition=tuple(self._partitions()),
            pause=tuple(self._pauses()),
            drift=tuple(self._drifts()),
            want=tuple(self._wants()) if mutex else (),
            elect=() if mutex else tuple(self._elections()),
        )

    def _on_a_tick(self, low: float, high: float) -> float:
        """A multiple of the tick; the largest moment is as likely as any other."""
        return min(high, TICK * self.chance.randint(round(low / TICK), max(1, int(high // TICK))))

    def _crashes(self) -> Iterator[Crash]:
        inside = bool(self.case.budget.get("crashes_inside"))
        if inside or self.case.budget.get("crashes"):
            at = self.draw(0, 15)
            back = at + max(0.1, self.draw(0, 8)) if self.case.budget.get("recoveries") else None
            memory = not (self.case.amnesia and self.chance.random() < 0.5)
            yield Crash(
                process=self.chance.choice(self.ids),
                at_ms=at,
                recover_ms=back,
                memory=memory,
                after_actions=self.chance.randint(0, 2) if inside else None,
            )

    def _pauses(self) -> Iterator[Pause]:
        if self.case.budget.get("pauses"):
            yield Pause(process=self.chance.choice(self.ids), at_ms=self.draw(0, 15), for_ms=self.draw(0, 20))

    def _drifts(self) -> Iterator[Drift]:
        low, high = 1 - self.case.drift, 1 + self.case.drift
        for process in self.ids if self.case.drift else ():
            yield Drift(process=process, rate=self.chance.choice((low, 1.0, high, self.chance.uniform(low, high))))

    def _partitions(self) -> Iterator[Partition]:
        for _ in range(self.case.budget.get("partitions", 0)):
            at = self.draw(0, 15)
            until = self.chance.choice((None, at + max(0.1, self.draw(0, 15))))
            group = tuple(self.chance.sample(self.ids, self.chance.randint(1, len(self.ids) - 1)))
            one_way = tuple((one, other) for one in group for other in self.ids if other not in group)
            if self.chance.random() < 0.5:
                yield Partition(at_ms=at, until_ms=until, groups=(group,))
            else:
                yield Partition(at_ms=at, until_ms=until, one_way=one_way)

    def _fates(self) -> Iterator[Fate]:
        """One loss and one copy at most, and delays of the first messages."""
        channels = [(sender, to) for sender in self.ids for to in self.ids]
        crossing = [channel for channel in channels if channel[0] != channel[1]]
        lost, copied = ((*self.chance.choice(crossing), self.chance.randint(1, 2)) for _ in range(2))
        for sender, to in channels:
            for number in (1, 2, 3):
                name = (sender, to, number)
                is_lost = bool(self.case.budget.get("losses")) and name == lost
                is_copied = bool(self.case.budget.get("duplicates")) and name == copied and not is_lost
                yield Fate(
                    sender=sender,
                    to=to,
                    number=number,
                    lost=is_lost,
                    delay_ms=None if is_lost else self.draw(0, self.delay),
                    copies=(self.draw(0, self.delay),) if is_copied else (),
                )

    def _suspicions(self) -> Iterator[Suspicion]:
        if self.case.budget.get("mistakes"):
            process, peer = self.chance.sample(self.ids, 2)
            at = self.draw(0, 15)
            yield Suspicion(process=process, peer=peer, at_ms=at, until_ms=at + max(0.1, self.draw(0, 9)))

    def _wants(self) -> Iterator[Want]:
        withdraws = self.chance.choice(self.ids) if self.case.budget.get("withdrawals") else 0
        for process in self.ids:
            for turn in range(self.case.requests):
                at = self.draw(0, 12) + 20 * turn
                gives_up = process == withdraws and turn == 0
                yield Want(
                    process=process,
                    at_ms=at,
                    inside_ms=self.draw(0, self.stay),
                    withdraw_ms=at + self.draw(0, 8) if gives_up else None,
                    linger_ms=self.draw(0, self.stay) if gives_up else 0.0,
                )

    def _elections(self) -> Iterator[Elect]:
        for process in self.case.starters or self.ids:
            for _ in range(self.case.requests):
                yield Elect(process=process, at_ms=self.draw(0, 12))
