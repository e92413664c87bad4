"""Progress of a run: reports do not change the run, and an interrupted run keeps its trace."""

from __future__ import annotations

import signal

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS
from vez.core import Io, Process
from vez.core import trace as events
from vez.judge.properties import Status
from vez.study.report import report
from vez.worlds.sim import Progress, Run, Scenario, simulate
from vez.worlds.sim.limits import SLICE
from vez.worlds.sim.scenario import Network, Want, Workload

CROWD = Scenario(
    algorithm="ricart-agrawala", n=12, workload=Workload(requests=90, think_ms=1, inside_ms=2), until_ms=1e6
)


def turning(until_ms: float = 30_000) -> Scenario:
    """A token that goes round for long, while nobody wants it."""
    return Scenario(algorithm="token-ring", n=4, want=(Want(process=2, at_ms=2e6),), until_ms=until_ms)


def both(scenario: Scenario, *, record: bool) -> tuple[Run, Run, list[Progress]]:
    seen: list[Progress] = []
    algorithm = ALGORITHMS[scenario.algorithm]
    return (
        simulate(scenario, algorithm, record=record),
        simulate(scenario, algorithm, record=record, watch=seen.append),
        seen,
    )


@pytest.mark.parametrize("delay", ["constant(1)", "exponential(1)"])
@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("most", [1_000_000, 2 * SLICE, SLICE + 5000])
def test_a_watched_run_is_the_same_run(delay: str, record: bool, most: int) -> None:
    alone, watched, seen = both(CROWD.but(network=Network(delay=delay), max_events=most), record=record)
    assert watched == alone
    assert alone.steps > SLICE
    assert seen
    assert [progress.steps for progress in seen] == sorted({progress.steps for progress in seen})
    assert all(SLICE - 12 <= progress.steps <= alone.steps for progress in seen)
    assert seen[-1].at_ms <= alone.ended_at / 1000
    assert seen[-1].messages <= sum(alone.messages.values())


def test_a_short_run_reports_nothing() -> None:
    alone, watched, seen = both(turning(10), record=True)
    assert watched == alone
    assert not seen


def interrupt_at(step: int) -> Run:
    def watch(progress: Progress) -> None:
        if progress.steps >= step:
            raise KeyboardInterrupt

    return simulate(turning(1e6), ALGORITHMS["token-ring"], watch=watch)


def test_an_interrupted_run_keeps_its_trace() -> None:
    run, whole = interrupt_at(2 * SLICE), simulate(turning(), ALGORITHMS["token-ring"])
    assert run.end == trace_of(run).header.end == "interrupted"
    assert run.steps == 2 * SLICE
    log = trace_of(run).events
    assert log == trace_of(simulate(turning(1e6).but(max_events=2 * SLICE), ALGORITHMS["token-ring"])).events
    assert log[:1000] == trace_of(whole).events[:1000]
    assert run.ended_at == log[-1].at
    assert sum(run.messages.values()) == sum(isinstance(event, events.Sent) for event in log)
    found = {verdict.name: verdict.status for verdict in report(trace_of(run)).verdicts}
    assert found["exclusion"] is Status.HOLDS_IN_RUNS


class Interrupting(Process):
    def on_start(self, io: Io) -> None:
        signal.raise_signal(signal.SIGINT)


def test_a_run_that_nobody_watches_is_simply_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt):
        simulate(Scenario(algorithm="x"), Interrupting)
    assert simulate(Scenario(algorithm="x"), Interrupting, watch=print).end == "interrupted"
