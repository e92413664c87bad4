"""`bully` with a comparable merit for each process, ties by identifier, and a set of eligible candidates."""

from __future__ import annotations

import pytest

from tests.runs import Elections, Unkept, trace_of
from vez.catalogue.algorithms import find
from vez.core.trace import Elected, Header, Trace
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.sim import Scenario
from vez.worlds.sim.scenario import Crash, Elect

MEMORY = {"merits": [[1, 64], [2, 16], [3, 64], [4, 8]]}


def leader_of(run: object) -> set[int]:
    return {leader for leader, _ in run.leaders.values()}  # type: ignore[attr-defined]


def test_the_most_memory_leads_and_ties_go_to_the_larger_identifier(elect: Elections, unkept: Unkept) -> None:
    run = elect("bully", n=4, parameters=MEMORY)
    assert not unkept(run)
    assert leader_of(run) == {3}
    assert trace_of(run).header.candidates == (4, 2, 1, 3)


@pytest.mark.parametrize(("dead", "left"), [((3,), 1), ((3, 1), 2), ((3, 1, 2), 4)])
def test_the_next_by_merit_follows(elect: Elections, unkept: Unkept, dead: tuple[int, ...], left: int) -> None:
    deaths = tuple(Crash(process=process, at_ms=50.0 * turn) for turn, process in enumerate(dead, 1))
    run = elect("bully", n=4, parameters=MEMORY, crash=deaths)
    assert not unkept(run)
    assert leader_of(run) == {left}


def test_only_the_eligible_lead(elect: Elections, unkept: Unkept) -> None:
    run = elect("bully", n=5, parameters={"eligible": [2, 3]}, elect=(Elect(process=5),))
    assert not unkept(run)
    assert leader_of(run) == {3}


def test_without_a_live_candidate_nobody_leads_and_that_is_not_blamed(elect: Elections) -> None:
    run = elect("bully", n=3, parameters={"eligible": [2]}, crash=(Crash(process=2, at_ms=40),))
    assert not run.leaders
    found = {verdict.name: verdict.evidence for verdict in judge(trace_of(run))}
    assert found["termination"] == found["agreement"] == "nobody who may lead is alive"


def test_the_judge_knows_the_best_and_the_eligible() -> None:
    header = Header(2, "x", "election", (1, 2, 3), "complete", best_wins=True, candidates=(3, 1))
    named = {leader: Trace(header, tuple(Elected(1, process, leader) for process in (1, 2, 3))) for leader in (1, 2, 3)}
    words = {leader: judge(trace, only=["validity"])[0] for leader, trace in named.items()}
    assert words[1].status is Status.HOLDS_IN_RUNS
    assert words[2].evidence == "process 2 is named leader and may not lead"
    assert words[3].evidence == "process 3 leads although process 1 is alive"


@pytest.mark.parametrize("parameters", [{"merits": [[1, 9], [2, 9]]}, {"eligible": [1, 2]}])
def test_every_moment_of_a_crash(parameters: dict[str, object]) -> None:
    scenario = Scenario(algorithm="bully", n=3, parameters=parameters)
    report = check(Configuration(scenario, find("bully"), budget=Budget(crashes=1), victims=(2,)))
    assert not report.broken
    assert not report.undecided
