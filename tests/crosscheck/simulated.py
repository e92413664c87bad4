"""Simulated: runs of the simulator that stay within a case's budget of faults, so that the checker must know them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.crosscheck.compare import JUDGED, Case
from vez.check import Configuration
from vez.properties import Status, judge
from vez.sim import Scenario, simulate
from vez.sim.scenario import Crash, Elect, Fate, Network, Suspicion, Want

SAFETY = ("exclusion", "uniqueness")


def runs(case: Case, count: int) -> Iterator[Scenario]:
    """Scenarios with faults at random times, never more than the budget."""
    configuration = case.configuration()
    for number in range(count):
        yield _run(case, configuration, Random(f"simulated/{case.seed}/{number}"), number)


def violations(case: Case, count: int) -> dict[str, Scenario]:
    """The safety properties that break in some of the runs, each with a run."""
    found: dict[str, Scenario] = {}
    names = [name for name in JUDGED[case.algorithm.role] if name in SAFETY]
    for scenario in runs(case, count):
        trace = simulate(scenario, case.algorithm).trace
        assert trace is not None
        for verdict in judge(trace):
            if verdict.name in names and verdict.status is Status.BROKEN:
                found.setdefault(verdict.name, scenario)
    return found


def _run(case: Case, configuration: Configuration, chance: Random, number: int) -> Scenario:
    ids, budget = configuration.ids, case.budget
    crashes, fates, suspicions = [], [], []
    if budget.get("crashes"):
        at = chance.uniform(0, 15)
        back = at + chance.uniform(0.1, 8) if budget.get("recoveries") else None
        memory = not (case.amnesia and chance.random() < 0.5)
        crashes.append(Crash(process=chance.choice(ids), at_ms=at, recover_ms=back, memory=memory))
    sender, to = chance.sample(ids, 2)
    if budget.get("losses"):
        fates.append(Fate(sender=sender, to=to, number=chance.randint(1, 2), lost=True))
    elif budget.get("duplicates"):
        fates.append(Fate(sender=sender, to=to, number=chance.randint(1, 2), copies=(chance.uniform(1, 9),)))
    if budget.get("mistakes"):
        at = chance.uniform(0, 15)
        suspicions.append(Suspicion(process=sender, peer=to, at_ms=at, until_ms=at + chance.uniform(0.1, 9)))
    scenario = Scenario(
        algorithm=case.algorithm.name,
        n=case.n,
        edges=case.edges,
        parameters={"seed": case.seed},
        seed=number,
        until_ms=60,
        max_events=2_000,
        network=Network(fifo=case.fifo, delay="uniform(0.1, 6)"),
        crash=tuple(crashes),
        message=tuple(fates),
        suspect=tuple(suspicions),
    )
    if case.algorithm.role == "election":
        starts = [Elect(process=p, at_ms=chance.uniform(0, 12)) for p in ids for _ in range(case.requests)]
        return scenario.but(elect=tuple(starts))
    wants = [
        Want(process=process, at_ms=chance.uniform(0, 12) + 20 * turn, inside_ms=chance.uniform(0.5, 6))
        for process in ids
        for turn in range(case.requests)
    ]
    return scenario.but(want=tuple(wants))
