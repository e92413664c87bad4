"""Every mistake of the zoo is caught by the checker too, by a run no longer than the simulator's shrunk one."""

from __future__ import annotations

import pytest

from tests.exhibits import shown_run
from vez.check import Budget, Configuration, Limits, check
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
from vez.sim.scenario import Elect, Network, Want
from vez.study.exhibit import Exhibit
from vez.validate import Answer, validate
from vez.zoo import ZOO

STEPS = (Asked, Crashed, Delivered, Fired, Left, Lost, Recovered, Suspected, Trusted, Wanted)

IN_ORDER = {"half-way"}
"""Six processes in a ring that all stand: too many orders, unless channels keep theirs and reduction leaves most out."""

SECOND_ATTEMPT = {"old-letter"}
"""Timers may run out at any moment, again and again: two attempts, and two messages on a channel, are followed."""

SMALLER = {"untold": 3}
"""The simulator's short run has bystanders; with so many processes, all of which want in, it is settled sooner."""


def same_world(shown: Exhibit) -> Configuration:
    """Who took part in the simulator's short run, and as many faults as it had."""
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


LONG = {"any-release", "cake-and-eat-it", "forgotten-vote", "half-way", "untold"}
"""The smallest runs of these are looked for among many."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in ZOO])
def test_the_checker_catches_it_by_a_run_no_longer(name: str) -> None:
    shown = shown_run(name)
    broken = str(shown.specimen.breaks)
    report = check(same_world(shown), (broken,), limits=Limits(2_000_000), first=True, reduce=name in IN_ORDER)
    assert report.broken == (broken,)
    example = report.counterexamples[broken]
    assert example.steps <= steps_of(shown.report.trace)
    assert validate(example.trace, shown.specimen.algorithm).answer is Answer.POSSIBLE
