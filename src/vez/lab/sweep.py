"""Sweep: the same scenario under many seeds, on all cores, with one verdict per property.

The result does not depend on how many processes share the work: seeds are judged one by one and merged in
the order of the seeds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import msgspec

from vez.errors import Misuse
from vez.lab.load import load_algorithm
from vez.properties import Status, judge
from vez.sim import Scenario, simulate

CHUNK = 25
"""Seeds per task: enough to pay for the trip to another process, few enough for a smooth progress bar."""

Word = tuple[str, str, str, bool]
Judged = tuple[int, int, list[Word]]
"""A seed, its number of messages, and (property, status, evidence, promised) for each property."""


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
        """The verdict in words, with the numbers that it rests on."""
        if self.broken:
            return f"broken in {self.broken:,} of {self.runs:,} runs"
        if self.status is Status.NOT_JUDGED:
            return "not judged"
        judged = self.runs - self.undecided - self.not_judged
        rest = f", undecided in {self.undecided:,}" if self.undecided else ""
        return f"holds in {judged:,} run{'s' if judged != 1 else ''}{rest}"


class Sweep(msgspec.Struct):
    """The result of a sweep."""

    scenario: Scenario
    runs: int
    messages: int
    tallies: list[Tally]

    @property
    def first_broken(self) -> Tally | None:
        """The broken property with the smallest seed; a promised one before the others."""
        broken = [tally for tally in self.tallies if tally.broken]
        return min(broken, key=lambda tally: (not tally.promised, tally.seed), default=None)


def sweep(
    scenario: Scenario,
    runs: int,
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, broken: None,
) -> Sweep:
    """Run seeds `scenario.seed` to `scenario.seed + runs - 1` and judge each."""
    if runs < 1:
        raise Misuse(f"--runs {runs}: expected at least 1")
    load_algorithm(scenario.algorithm)  # an unknown name is told before any work starts
    seeds = range(scenario.seed, scenario.seed + runs)
    chunks = [seeds[start : start + CHUNK] for start in range(0, runs, CHUNK)]
    workers = min(jobs or os.cpu_count() or 1, len(chunks))
    results: dict[int, list[Judged]] = {}
    done = broken = 0
    for start, judged in _judged(scenario, chunks, workers):
        results[start] = judged
        done += len(judged)
        broken += sum(any(word[1] == Status.BROKEN for word in words) for _, _, words in judged)
        progress(done, broken)
    ordered = [one for start in sorted(results) for one in results[start]]
    return _merge(scenario, ordered)


def _judged(scenario: Scenario, chunks: list[range], workers: int) -> Iterator[tuple[int, list[Judged]]]:
    encoded = msgspec.json.encode(scenario)
    if workers <= 1:
        for chunk in chunks:
            yield chunk.start, judge_seeds(encoded, chunk.start, chunk.stop)
        return
    # spawn: a fork of a process that shows a progress bar would copy its threads' locks
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            tasks = {pool.submit(judge_seeds, encoded, chunk.start, chunk.stop): chunk.start for chunk in chunks}
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        finally:
            pool.shutdown(cancel_futures=True)


def judge_seeds(encoded: bytes, start: int, stop: int) -> list[Judged]:
    """The work of one task, in whichever process."""
    scenario = msgspec.json.decode(encoded, type=Scenario)
    algorithm = load_algorithm(scenario.algorithm)
    found: list[Judged] = []
    for seed in range(start, stop):
        run = simulate(scenario.but(seed=seed), algorithm)
        verdicts = judge(run.trace) if run.trace is not None else ()
        words = [(verdict.name, str(verdict.status), verdict.evidence, verdict.promised) for verdict in verdicts]
        found.append((seed, sum(run.messages.values()), words))
    return found


def _merge(scenario: Scenario, judged: Iterable[Judged]) -> Sweep:
    tallies: dict[str, Tally] = {}
    runs = messages = 0
    for seed, count, words in judged:
        runs += 1
        messages += count
        for name, status, evidence, promised in words:
            tally = tallies.setdefault(name, Tally(name, promised))
            tally.runs += 1
            tally.undecided += status == Status.UNDECIDED
            tally.not_judged += status == Status.NOT_JUDGED
            if status == Status.BROKEN:
                tally.broken += 1
                if tally.seed is None:
                    tally.seed, tally.evidence = seed, evidence
            elif not tally.broken and not tally.evidence:
                tally.evidence = evidence
    return Sweep(scenario, runs, messages, list(tallies.values()))
