"""Minimal: ask the checker whether fewer processes, requests or faults also break the property.

Shrinking removes as much as possible from one run, and ends at a run that may be far from the smallest: another order
of events might need fewer processes. The checker tries every order. It is asked about every configuration that is not
larger than the shrunk run, the smallest first: processes from the fewest up, then requests (each way to distribute them
among processes), then faults of the kinds that the run has. The first configuration that breaks the property is taken;
in all smaller ones the property holds.

A budget of faults is a limit, not a number that must be used, so a configuration that holds with all faults also holds
with fewer. The work is limited by a number of states, not by time, so that the answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import msgspec

from vez.core import overrides
from vez.core.assumptions import Assumption
from vez.core.process import Election, Mutex, Process
from vez.core.trace import Trace
from vez.errors import Misuse, VezError
from vez.judge.properties import Status
from vez.judge.properties.assumptions import broken_assumptions
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Elect, Network, Scenario, Want

if TYPE_CHECKING:
    from vez.worlds.check import Configuration, Counterexample

STATES = 200_000
"""Largest number of states explored in all questions together: a few seconds."""
QUESTIONS = 300
"""Largest number of configurations that are asked about; each takes some hundredths of a second at least."""
TIMES = (Assumption.KNOWN_BOUNDS, Assumption.BOUNDED_STAY)
"""Assumptions that the checker drops if the run did not keep them. Other faults are counted."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The checker's answer about smaller configurations."""

    minimal: bool
    """True if the property holds in every smaller configuration, as the checker has found."""
    words: str
    example: Any = None
    """The `Counterexample` of the smallest configuration that breaks the property, if one was found."""
    size: tuple[int, int, int] = (0, 0, 0)
    """Processes, requests and faults of that configuration."""


class Undecided(Exception):
    """The checker cannot decide; the text is the reason."""


def smallest(
    short: Scenario,
    trace: Trace,
    algorithm: type[Process],
    broken: str,
    *,
    numbered: bool = True,
    states: int = STATES,
) -> Answer:
    """Ask for the smallest configuration that breaks the property, up to the size of this run.

    `trace` is the run of `short`, a scenario with identifiers and requests written out. If its processes are just
    `numbered`, fewer of them are called 1, 2, …; otherwise their identifiers are kept.
    """
    try:
        return Questions(short, trace, algorithm, broken, numbered=numbered, states=states).answer()
    except Undecided as why:
        return Answer(minimal=False, words=f"not known to be minimal: {why}")
    except VezError as error:
        return Answer(minimal=False, words=f"not known to be minimal: {error.message}")


class Questions:
    """The questions about one run, and the states that are left for them."""

    def __init__(
        self,
        short: Scenario,
        trace: Trace,
        algorithm: type[Process],
        broken: str,
        *,
        numbered: bool,
        states: int,
    ) -> None:
        import vez.worlds.check  # here, because importing it takes as long as many runs
        from vez.worlds.check.liveness.lassos import LIVENESS

        self._checker = vez.worlds.check
        self._safety = broken not in LIVENESS
        self._short, self._algorithm, self._broken = short, algorithm, broken
        self._numbered = numbered and not short.initial and not short.edges
        self._left, self._asked, self._seen = states, 0, 0
        self._requests, self._faults = requests_of(short, trace), _faults_of(short)
        self._amnesia = any(crash.recover_ms is not None and not crash.memory for crash in short.crash)
        self._without = tuple(str(one) for one in broken_assumptions(trace) if one in TIMES)
        self._drift = 0.0
        # shrinking may leave the hub out, and another process that asks becomes the hub
        self._anybody = issubclass(algorithm, Mutex) and not {want.process for want in short.want} <= set(
            overrides.contenders(algorithm, short.ids)
        )
        self._absent: list[str] = []
        if any(partition.one_way for partition in short.partition):
            self._absent.append("one-way partition that is not named")
        if short.suspect and short.detector.kind == "none":
            self._absent.append("failure detector with heartbeats")

    def answer(self) -> Answer:
        """Ask first with bounds on time that only pauses and drift may break, if the run broke them by these; then ask
        without bounds."""
        return self._answer_in_time() or self._answer()

    def _answer_in_time(self) -> Answer | None:
        """The answer if only pauses and wrong clocks may break bounds on time; None if nothing is found."""
        short, off = self._short, max((abs(1 - one.rate) for one in self._short.drift), default=0.0)
        known = Assumption.KNOWN_BOUNDS in self._algorithm.assumes
        if not known or not (short.pause or short.drift) or off >= 1:
            return None
        before = self._without, self._faults
        self._without, self._faults, self._drift = (), {**self._faults, "pauses": len(short.pause)}, round(off, 6)
        try:
            return self._answer()
        except Undecided:
            (self._without, self._faults), self._drift = before, 0.0
            return None

    def _answer(self) -> Answer:
        """Ask about one number of processes and requests after the other, until one breaks the property."""
        for size in range(max(1, overrides.smallest(self._algorithm)), len(self._short.ids) + 1):
            for count in range(min(1, self._requests), self._requests + 1):  # without a request, nothing can be judged
                broken = [way for way in self._ways(size, count) if self._ask(*way, self._faults) is not None]
                if broken:
                    return self._with_fewest_faults(broken)
        if self._absent:
            raise Undecided(f"the checker has no {' and no '.join(self._absent)}; without, it holds{self._count()}")
        raise Undecided(f"the checker does not find it in configurations of this size{self._count()}")

    def _with_fewest_faults(self, ways: list[Way]) -> Answer:
        """The first of these configurations that breaks the property with as few faults as possible."""
        drifts = sorted({0.0, self._drift})
        for drift, faults, way in product(drifts, _fewer(self._faults), ways):
            self._drift = drift
            example = self._ask(*way, faults)
            if example is not None:
                size = self._configuration(*way, faults).words()
                words = f"minimal: {size}; with fewer processes, requests or faults it holds{self._count()}"
                counts = len(way[0]), len(way[1]), sum(faults.values()) + len(example.scenario.drift)
                return Answer(minimal=True, words=words, example=example, size=counts)
        raise Undecided("the checker does not find it again")  # pragma: no cover - with all faults it was found

    def _ask(self, ids: tuple[int, ...], asked: tuple[int, ...], faults: dict[str, int]) -> Counterexample | None:
        """The shortest run of this configuration that breaks the property; None if the property holds in it."""
        try:
            configuration = self._configuration(ids, asked, faults)
        except Misuse:  # the algorithm or its topology has no such number of processes
            return None
        if self._asked == QUESTIONS:
            raise Undecided(f"{QUESTIONS} smaller configurations hold, and more were not asked about")
        limits = self._checker.Limits(self._left)
        try:
            found = self._checker.check(
                configuration, (self._broken,), limits=limits, first=self._safety, no_return=False, workers=1
            )
        except Misuse:
            if _is_possible(configuration.scenario, self._algorithm):
                raise
            return None
        self._asked, self._seen, self._left = self._asked + 1, self._seen + found.states, self._left - found.states
        if found.verdicts[0].status is Status.BROKEN:
            return found.counterexamples[self._broken]
        if found.stopped:
            raise Undecided(f"{configuration.words()} was not explored to its end, the search stopped {found.stopped}")
        if found.verdicts[0].status is not Status.HOLDS or found.bugs:
            raise Undecided(f"{configuration.words()}: {'; '.join(found.bugs) or found.verdicts[0].evidence}")
        return None

    def _configuration(self, ids: tuple[int, ...], asked: tuple[int, ...], faults: dict[str, int]) -> Configuration:
        short = self._short
        scenario = Scenario(
            algorithm=short.algorithm,
            ids=ids,
            topology=short.topology,
            edges=short.edges,
            parameters=short.parameters,
            initial={key: fields for key, fields in short.initial.items() if int(key) in ids},
            network=Network(fifo=short.network.fifo),
            detector=short.detector,
            want=tuple(Want(process=one) for one in asked) if issubclass(self._algorithm, Mutex) else (),
            elect=tuple(Elect(process=one) for one in asked) if issubclass(self._algorithm, Election) else (),
        )
        return self._checker.Configuration(
            scenario,
            self._algorithm,
            requests=0,
            budget=self._checker.Budget(**faults),
            amnesia=self._amnesia,
            without=self._without,
            drift=self._drift,
        )

    def _ways(self, size: int, count: int) -> Iterator[Way]:
        """The processes that take part, and those that ask; a process is listed once for each of its requests."""
        for ids in self._groups(size):
            askable = ids
            if issubclass(self._algorithm, Mutex) and not self._anybody:
                askable = overrides.contenders(self._algorithm, ids)
            yield from ((ids, asked) for asked in combinations_with_replacement(askable, count))

    def _groups(self, size: int) -> Iterator[tuple[int, ...]]:
        """The identifiers of `size` processes."""
        ids = self._short.ids
        if self._numbered:
            yield tuple(range(1, size + 1))
        if not self._numbered or size == len(ids) != max(ids):
            yield from combinations(ids, size) if not self._short.edges else (ids,) * (size == len(ids))

    def _count(self) -> str:
        plural = "s" * (self._asked != 1)
        return f" ({self._asked:,} configuration{plural}, {self._seen:,} states)"


Way = tuple[tuple[int, ...], tuple[int, ...]]
"""The processes, and those that ask."""


def _is_possible(scenario: Scenario, algorithm: type[Process]) -> bool:
    """False if the simulator also refuses the scenario, because a parameter does not fit the number of processes."""
    try:
        simulate(scenario, algorithm)
    except Misuse:
        return False
    return True


def requests_of(short: Scenario, trace: Trace) -> int:
    """Number of requests or elections. If a scenario lists no election, every process starts one."""
    everybody = len(short.ids) if trace.header.role == "election" else 0
    return len(short.want) + (len(short.elect) or everybody)


def _faults_of(short: Scenario) -> dict[str, int]:
    """The number of faults of each kind in a scenario, for the kinds that the checker has."""
    return {
        "crashes": sum(crash.after_actions is None for crash in short.crash),
        "crashes_inside": sum(crash.after_actions is not None for crash in short.crash),
        "recoveries": sum(crash.recover_ms is not None for crash in short.crash),
        "losses": sum(fate.lost for fate in short.message),
        "duplicates": sum(len(fate.copies) for fate in short.message),
        "mistakes": len(short.suspect) if short.detector.kind == "perfect" else 0,
        "partitions": len(short.partition),
        "withdrawals": sum(want.withdraw_ms is not None for want in short.want),
    }


def _fewer(faults: dict[str, int]) -> list[dict[str, int]]:
    """All budgets up to this one, the smallest first."""
    counts = product(*(range(count + 1) for count in faults.values()))
    return [dict(zip(faults, count, strict=True)) for count in sorted(counts, key=lambda count: (sum(count), count))]
