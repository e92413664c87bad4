"""The checker, an explorer that shares no code with it, and the simulator agree; and a wrong checker would be noticed."""

from __future__ import annotations

import pytest

from tests.worlds.crosscheck.cases import KINDS, Case, unasked, untimed
from tests.worlds.crosscheck.compare import difference, differences, opinions, rules_of
from tests.worlds.crosscheck.explained import EXPLAINED, SPINNING, Explained
from tests.worlds.crosscheck.explorer import Explorer, TooLarge
from tests.worlds.crosscheck.mutants import MUTANTS
from tests.worlds.crosscheck.protocols import FAIRNESS, Blinking, Hail, Impatient, Ledger
from tests.worlds.crosscheck.semantics import Semantics
from tests.worlds.crosscheck.timed_mutants import Mutant
from vez.catalogue.algorithms import ALGORITHMS
from vez.core.process import Process
from vez.errors import VezError
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Choice, Network, Scenario, Want

CASES = {"untimed": 80, "timed": 60, "symmetric": 40, "unasked": 40}
"""Random protocols of each kind: the first group is compared in `make test`, all in `make test-long`, and thousands in
`make crosscheck`."""
INSIDE = Case(Ledger, budget={"crashes_inside": 1, "recoveries": 1})
"""Durable fields differ at every moment inside its handlers."""
CUT = Case(Ledger, budget={"partitions": 1})
"""Its behaviour depends on the arrival of its messages."""
OVERLAPPING = Case(Hail, budget={"partitions": 2})
"""Both directions are cut, by two partitions, and heal one after the other."""
PAUSED = Case(Impatient, budget={"pauses": 1})
"""A lease that runs out on a paused holder."""
WRITTEN = {
    "untimed": [*map(Case, FAIRNESS), INSIDE, CUT, OVERLAPPING, Case(Blinking, budget={"withdrawals": 1})],
    "timed": [PAUSED, *(verdict.case for verdict in EXPLAINED)],
    "symmetric": [],
    "unasked": [],
}
"""Cases that random protocols hardly ever reach."""
PER_GROUP = 20
RUNS = 15
"""Number of simulated runs of each case."""
MOST = 1_000
"""Largest number of states of the protocols that are compared here."""
FEW = 800
"""Largest number of states of the protocols that must notice a mutant."""


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        pytest.param(kind, first, marks=[pytest.mark.long] * (first > 0))
        for kind, count in CASES.items()
        for first in range(0, count, PER_GROUP)
    ],
)
def test_the_worlds_agree(kind: str, first: int) -> None:
    compared = 0
    for number in range(first, first + PER_GROUP):
        case = KINDS[kind](number)
        found = differences(case, RUNS, MOST)
        assert not found, (number, case, found)
        compared += found is not None
    assert compared > PER_GROUP // 4


@pytest.mark.parametrize(
    "faults",
    [{}, *(pytest.param({fault: 1}, marks=pytest.mark.long) for fault in ("crashes", "losses", "duplicates"))],
    ids=str,
)
@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def test_the_catalogue_is_judged_alike(algorithm: type[Process], faults: dict[str, int]) -> None:
    scenario = Scenario(algorithm=algorithm.name, n=algorithm.smallest())
    configuration = Configuration(scenario, algorithm, budget=Budget(**faults), timeouts=True)
    both = opinions(configuration, MOST, timeouts=True)
    assert both is None or not difference(both), difference(both)


@pytest.mark.parametrize(
    "verdict", EXPLAINED, ids=lambda verdict: f"{verdict.case.algorithm.name}{verdict.case.parameters}"
)
def test_only_time_explains_the_verdict(verdict: Explained) -> None:
    assert not differences(verdict.case, RUNS)
    both = opinions(verdict.case.configuration())
    assert both is not None
    assert {*verdict.broken} <= {*both.report.broken}
    statuses = {str(one.name): one.status for one in both.report.verdicts}
    assert all(statuses[name] is Status.HOLDS for name in verdict.holds)
    undecided = [name for name, status in statuses.items() if status is Status.UNDECIDED]
    assert bool(undecided) == (not verdict.broken and not verdict.holds)


def test_a_loop_of_choices_that_takes_no_time_may_take_some() -> None:
    """The reason why time that may stop makes a verdict *undecided*, although a choice could let time pass."""
    wants = (Want(process=1, at_ms=0, inside_ms=4), Want(process=2, at_ms=0, inside_ms=4))
    on_and_on = tuple(Choice(process=1, number=number, index=1) for number in range(1, 3000))
    stop = Choice(process=1, number=3000, index=0)
    scenario = SPINNING.scenario.but(want=wants, choice=(*on_and_on, stop), network=Network(delay=0.001))
    trace = simulate(scenario, SPINNING.algorithm).trace
    assert trace is not None
    assert judge(trace, only=["exclusion"])[0].status is Status.BROKEN


@pytest.mark.parametrize("case", [INSIDE, CUT, OVERLAPPING, PAUSED], ids=lambda case: str(case.budget))
def test_a_fault_is_explored_alike(case: Case) -> None:
    both = opinions(case.configuration())
    assert both is not None
    assert not difference(both)


@pytest.mark.parametrize("faults", [{}, {"crashes": 1}, {"losses": 1}, {"duplicates": 1}], ids=str)
@pytest.mark.parametrize("name", ["coordinator-lease", "bully", "bully-stable"])
def test_time_in_the_catalogue_is_judged_alike(name: str, faults: dict[str, int]) -> None:
    algorithm = ALGORITHMS[name]
    scenario = Scenario(algorithm=name, n=algorithm.smallest())
    both = opinions(Configuration(scenario, algorithm, budget=Budget(**faults)))
    assert both is not None
    assert both.opinion.tick
    assert not difference(both), difference(both)


@pytest.mark.parametrize("name", ["bully", "bully-stable", "chang-roberts", "luis"])
def test_an_election_that_nobody_was_asked_to_start_is_judged_alike(name: str) -> None:
    both = opinions(Case(ALGORITHMS[name], fifo=False, starters=(1,), budget={"crashes": 1}).configuration())
    assert both is not None
    assert not difference(both), difference(both)
    assert "termination" not in both.report.broken


def test_acts_without_being_asked_decide_only_where_all_starters_may_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise one of those that are asked lives, and is asked."""
    crashless = [case._replace(budget={"mistakes": 1}) for case in map(unasked, range(20))]
    cases = [case for case in (*map(untimed, range(30)), *crashless) if case.algorithm.role == "election"]
    found = [(case, broken) for case in cases if (broken := _broken(case, 150)) is not None]
    assert len(found) > 10
    monkeypatch.setattr(Semantics, "remembers", True)
    for case, broken in found:
        assert _broken(case, MOST) == broken, case


def _broken(case: Case, most: int) -> set[str] | None:
    """What the explorer finds broken; None if the case has too many states."""
    try:
        return {*Explorer(rules_of(case.configuration()), most).opinion().broken}
    except TooLarge:
        return None


@pytest.mark.parametrize("drift", [0.2, 0.5])
@pytest.mark.parametrize("name", ["coordinator-lease", "bully"])
def test_drift_in_the_catalogue_is_judged_alike(name: str, drift: float) -> None:
    case = Case(ALGORITHMS[name], n=ALGORITHMS[name].smallest(), fifo=False, drift=drift)
    both = opinions(case.configuration())
    assert both is not None
    assert not difference(both), difference(both)


@pytest.mark.parametrize("algorithm", FAIRNESS, ids=lambda algorithm: algorithm.name)
def test_whoever_goes_round_for_ever_starves(algorithm: type[Process]) -> None:
    both = opinions(Case(algorithm).configuration())
    assert both is not None
    assert not difference(both)
    assert "starvation_freedom" in both.report.broken


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_checker_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    kind = MUTANTS[mutant]
    assert any(map(_notices, [*WRITTEN[kind], *map(KINDS[kind], range(CASES[kind]))])), "no comparison noticed it"


def _notices(case: Case) -> bool:
    try:
        return bool(differences(case, 0, FEW))
    except (VezError, RuntimeError, KeyError):
        return True  # its own replay, or its own second pass, contradicts it
