"""Sweep: run the same scenario under many seeds, on all cores, with one verdict per property.

The result does not depend on the number of worker processes: each seed is judged alone, and results are merged in
the order of the seeds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from vez.catalogue.load import load_algorithm
from vez.errors import Misuse, ProtocolBug
from vez.judge.properties import Status
from vez.judge.properties.measure import Summary
from vez.study.report import report, unmet_expectations
from vez.study.workers import in_order_of_completion
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.setup import Setup

CHUNK = 25
"""Seeds per task: enough to outweigh the cost of a task, few enough for a smooth progress bar."""

Word = tuple[str, str, str, bool]
"""Property, status, evidence, promised."""


class Judged(msgspec.Struct, frozen=True):
    """The result of the run of one seed."""

    seed: int
    events: int
    by_kind: dict[str, int]
    words: list[Word]
    client_delay: Summary
    synchronization_delay: Summary
    leader: int | None
    missed: list[str]
    """The expectations of the scenario that the run did not meet."""


class Tally(msgspec.Struct):
    """One property over all seeds."""

    name: str
    promised: bool
    runs: int = 0
    broken: int = 0
    undecided: int = 0
    not_judged: int = 0
    seed: int | None = None
    """The first seed that breaks it."""
    evidence: str = ""

    @property
    def status(self) -> Status:
        """The verdict over all runs."""
        if self.broken:
            return Status.BROKEN
        if self.not_judged == self.runs:
            return Status.NOT_JUDGED
        return Status.UNDECIDED if self.undecided else Status.HOLDS_IN_RUNS

    @property
    def words(self) -> str:
        """The verdict in words, with the number of runs."""
        if self.status is Status.NOT_JUDGED:
            return "not judged"
        if self.broken:
            words = f"broken in {self.broken:,} of {self.runs:,} run{'s' if self.runs != 1 else ''}"
        else:
            judged = self.runs - self.undecided - self.not_judged
            words = f"holds in {judged:,} run{'s' if judged != 1 else ''}"
        words += f", undecided in {self.undecided:,}" if self.undecided else ""
        return words + (f", not judged in {self.not_judged:,}" if self.not_judged else "")


class Sweep(msgspec.Struct, kw_only=True):
    """The result of a sweep."""

    scenario: Scenario
    asked: int = 0
    """Number of requested runs."""
    runs: int = 0
    """Number of finished runs; fewer than requested if Ctrl-C ended the sweep."""
    seeds: tuple[tuple[int, int], ...] = ()
    """First and last seed of each contiguous range of seeds that were run. Workers may leave gaps before Ctrl-C."""
    events: int = 0
    by_kind: dict[str, int] = {}
    client_delay: Summary = Summary(0)
    synchronization_delay: Summary = Summary(0)
    leaders: dict[int | None, int] = {}
    """Elections: number of runs that ended with each leader; None if not all agreed on one."""
    tallies: list[Tally] = []
    missed: int = 0
    """Number of runs that did not meet the expectations of the scenario."""
    first_missed: tuple[int, list[str]] | None = None
    """The first such seed, and the expectations that it did not meet."""

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the sweep before all runs were made."""
        return self.runs < self.asked

    @property
    def messages(self) -> int:
        """Number of messages of all runs."""
        return sum(self.by_kind.values())

    @property
    def first_broken(self) -> Tally | None:
        """The broken property with the smallest seed; guaranteed properties first."""
        broken = [tally for tally in self.tallies if tally.broken]
        return min(broken, key=lambda tally: (not tally.promised, tally.seed), default=None)


def sweep(
    scenario: Scenario,
    runs: int,
    *,
    jobs: int | None = None,
    debug: bool = False,
    progress: Callable[[int, int], None] = lambda done, broken: None,
) -> Sweep:
    """Run seeds `scenario.seed` to `scenario.seed + runs - 1` and judge each."""
    if runs < 1:
        raise Misuse(f"--runs {runs}: expected at least 1")
    Setup(scenario, load_algorithm(scenario.algorithm))  # an invalid scenario is refused before any work starts
    seeds = range(scenario.seed, scenario.seed + runs)
    chunks = [seeds[start : start + CHUNK] for start in range(0, runs, CHUNK)]
    workers = min(jobs or os.cpu_count() or 1, len(chunks))
    encoded = msgspec.json.encode(scenario)
    results: dict[int, list[Judged]] = {}
    done = broken = 0
    tasks: list[tuple[Any, ...]] = [(encoded, chunk.start, chunk.stop, debug) for chunk in chunks]
    try:
        for judged in in_order_of_completion(judge_seeds, tasks, workers):
            results[judged[0].seed] = judged
            done += len(judged)
            broken += sum(any(word[1] == Status.BROKEN for word in one.words) for one in judged)
            progress(done, broken)
    except KeyboardInterrupt:
        if not results:
            raise
    return _merge(scenario, runs, [one for start in sorted(results) for one in results[start]])


def judge_seeds(encoded: bytes, start: int, stop: int, debug: bool) -> list[Judged]:
    """Run one task; called in a worker process or in this one."""
    scenario = msgspec.json.decode(encoded, type=Scenario)
    algorithm = load_algorithm(scenario.algorithm)
    return list(_judge(scenario, algorithm, range(start, stop), debug))


def _judge(scenario: Scenario, algorithm: Any, seeds: Iterable[int], debug: bool) -> Iterator[Judged]:
    for seed in seeds:
        try:
            run = simulate(scenario.but(seed=seed), algorithm, debug=debug)
        except ProtocolBug as error:
            error.args = (f"seed {seed}: {error.message}",)
            raise
        if run.trace is None:  # pragma: no cover - a run is recorded unless told otherwise
            continue
        found = report(run.trace)
        words = [(verdict.name, str(verdict.status), verdict.evidence, verdict.promised) for verdict in found.verdicts]
        cost = found.measurements
        yield Judged(
            seed=seed,
            events=len(run.trace.events),
            by_kind=cost.by_kind,
            words=words,
            client_delay=cost.client_delay,
            synchronization_delay=cost.synchronization_delay,
            leader=found.leader,
            missed=unmet_expectations(scenario.expect, found),
        )


def _merge(scenario: Scenario, asked: int, judged: list[Judged]) -> Sweep:
    kinds: Counter[str] = Counter()
    for one in judged:
        kinds.update(one.by_kind)
    leaders = Counter(one.leader for one in judged)
    missed = [one for one in judged if one.missed]
    return Sweep(
        scenario=scenario,
        asked=asked,
        runs=len(judged),
        seeds=_rows([one.seed for one in judged]),
        events=sum(one.events for one in judged),
        by_kind=dict(sorted(kinds.items())),
        client_delay=_pool(one.client_delay for one in judged),
        synchronization_delay=_pool(one.synchronization_delay for one in judged),
        leaders={leader: leaders[leader] for leader in sorted(leaders, key=lambda one: (one is None, one or 0))},
        tallies=_tallies(judged),
        missed=len(missed),
        first_missed=(missed[0].seed, missed[0].missed) if missed else None,
    )


def _rows(seeds: list[int]) -> tuple[tuple[int, int], ...]:
    """Ascending seeds as contiguous ranges: (first, last)."""
    rows: list[tuple[int, int]] = []
    for seed in seeds:
        if rows and rows[-1][1] == seed - 1:
            rows[-1] = (rows[-1][0], seed)
        else:
            rows.append((seed, seed))
    return tuple(rows)


def _tallies(judged: Iterable[Judged]) -> list[Tally]:
    tallies: dict[str, Tally] = {}
    for one in judged:
        for name, status, evidence, promised in one.words:
            tally = tallies.setdefault(name, Tally(name, promised))
            tally.runs += 1
            tally.undecided += status == Status.UNDECIDED
            tally.not_judged += status == Status.NOT_JUDGED
            if status == Status.BROKEN:
                tally.broken += 1
                if tally.seed is None:
                    tally.seed, tally.evidence = one.seed, evidence
            elif not tally.broken and not tally.evidence:
                tally.evidence = evidence
    return list(tallies.values())


def _pool(summaries: Iterable[Summary]) -> Summary:
    """Merge summaries into one over all their values."""
    told = [one for one in summaries if one.count]
    count = sum(one.count for one in told)
    if not count:
        return Summary(0)
    mean = sum((one.mean or 0) * one.count for one in told) / count
    least, most = min(one.least or 0 for one in told), max(one.most or 0 for one in told)
    return Summary(count, round(mean, 6), least, most)
