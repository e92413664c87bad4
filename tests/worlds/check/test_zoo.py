"""Every mistake of the zoo is caught by the checker too, by a run no longer than the simulator's shrunk one."""

from __future__ import annotations

import pytest

from tests.exhibits import exhibits, shown_run
from vez.core.trace import (
    Asked,
    Crashed,
    Delivered,
    Fired,
    Left,
    Lost,
    Recovered,
    Suspected,
    Trace,
    Trusted,
    Wanted,
)
from vez.judge.validate import Answer, validate
from vez.study.exhibit import Exhibit
from vez.worlds.check import Budget, Configuration, Limits, check
from vez.worlds.sim.scenario import Elect, Network, Want

STEPS = (Asked, Crashed, Delivered, Fired, Left, Lost, Recovered, Suspected, Trusted, Wanted)

IN_ORDER = {"half-way"}
"""Specimens with six processes in a ring that all stand. They have too many orders, unless channels keep the order and
the search is reduced."""

SECOND_ATTEMPT = {"old-letter"}
"""Specimens whose timers may run out repeatedly. Two attempts, and two messages on a channel, are explored."""

SMALLER = {"untold": 3}
"""Specimens whose short run in the simulator contains processes that do nothing. With this number of processes, which
all want in, the search is smaller."""


def same_world(shown: Exhibit) -> Configuration:
    """The configuration of the simulator's short run: its participants, and its number of faults."""
    run, few = shown.short.scenario, SMALLER.get(shown.specimen.name)
    if few is not None:
        return Configuration(run.but(n=few, ids=(), want=(), message=(), choice=()), shown.specimen.algorithm)
    ids = shown.report.trace.header.ids
    clean = run.but(
        n=None,
        ids=ids,
        title="",
        crash=(),
        pause=(),
        suspect=(),
        message=(),
        choice=(),
        network=Network(fifo=run.network.fifo or shown.specimen.name in IN_ORDER or None),
        want=tuple(Want(process=want.process) for want in run.want),
        elect=tuple(Elect(process=elect.process) for elect in run.elect),
    )
    budget = Budget(
        crashes=len(run.crash),
        recoveries=sum(crash.recover_ms is not None for crash in run.crash),
        losses=sum(fate.lost for fate in run.message),
        duplicates=sum(bool(fate.copies) for fate in run.message),
    )
    retries = shown.specimen.name in SECOND_ATTEMPT
    return Configuration(
        clean,
        shown.specimen.algorithm,
        budget=budget,
        amnesia=not all(c.memory for c in run.crash),
        bounds={"number": 2} if retries else None,
        capacity=2 if retries else 0,
    )


def steps_of(trace: Trace) -> int:
    return sum(isinstance(event, STEPS) for event in trace)


@pytest.mark.parametrize("name", exhibits())
def test_the_checker_catches_it_by_a_run_no_longer(name: str) -> None:
    shown = shown_run(name)
    broken = str(shown.specimen.breaks)
    report = check(same_world(shown), (broken,), limits=Limits(2_000_000), first=True, reduce=name in IN_ORDER)
    assert report.broken == (broken,)
    example = report.counterexamples[broken]
    assert example.steps <= steps_of(shown.report.trace)
    assert validate(example.trace, shown.specimen.algorithm).answer is Answer.POSSIBLE
