"""The checker, an explorer that shares no code with it, and the simulator agree; and a wrong checker would be noticed."""

from __future__ import annotations

import pytest

from tests.crosscheck.compare import JUDGED, Case, difference, drawn, fairness, opinions
from tests.crosscheck.mutants import MUTANTS, Mutant
from tests.crosscheck.protocols import FAIRNESS
from tests.crosscheck.simulated import violations
from vez.algorithms import ALGORITHMS
from vez.check import Budget, Configuration, check
from vez.core.process import Process
from vez.errors import VezError
from vez.sim.scenario import Scenario

CASES = 120
"""Random protocols in `make test`; `make crosscheck` compares thousands."""
PER_GROUP = 20


@pytest.mark.parametrize("first", range(0, CASES, PER_GROUP))
def test_the_checker_agrees_with_the_explorer(first: int) -> None:
    compared = 0
    for number in range(first, first + PER_GROUP):
        both = opinions(drawn(number).configuration())
        if both is not None:
            assert not difference(*both), (number, drawn(number), difference(*both))
            compared += 1
    assert compared > PER_GROUP // 4


@pytest.mark.parametrize("first", range(0, CASES, PER_GROUP))
def test_what_breaks_in_a_simulated_run_breaks_in_the_checker(first: int) -> None:
    for number in range(first, first + PER_GROUP):
        case = drawn(number)
        found = violations(case, 15)
        both = opinions(case.configuration()) if found else None
        if both is not None:
            assert found.keys() <= {str(name) for name in both[0].broken}, (number, case, found)


@pytest.mark.parametrize("first", range(0, CASES, PER_GROUP))
def test_reduction_changes_no_verdict(first: int) -> None:
    for number in range(first, first + PER_GROUP):
        case = drawn(number)
        names = [name for name in JUDGED[case.algorithm.role] if name in ("exclusion", "uniqueness")]
        both = opinions(case.configuration())
        try:
            reduced = check(case.configuration(), tuple(names), reduce=True) if both is not None else None
        except VezError:
            continue  # this configuration cannot be reduced, and says so
        if both is not None and reduced is not None:
            assert set(reduced.broken) == {name for name in both[0].broken if name in names}, (number, case)


@pytest.mark.parametrize("faults", [{}, {"crashes": 1}, {"losses": 1}, {"duplicates": 1}], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def test_the_catalogue_is_judged_alike(algorithm: type[Process], faults: dict[str, int]) -> None:
    scenario = Scenario(algorithm=algorithm.name, n=algorithm.smallest())
    both = opinions(Configuration(scenario, algorithm, budget=Budget(**faults), timeouts=True))
    assert both is None or not difference(*both), difference(*both)


@pytest.mark.parametrize("algorithm", FAIRNESS, ids=lambda algorithm: algorithm.name)
def test_whoever_goes_round_for_ever_starves(algorithm: type[Process]) -> None:
    both = opinions(fairness(algorithm).configuration())
    assert both is not None
    assert not difference(*both)
    assert "starvation_freedom" in both[0].broken


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_checker_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    cases = (*map(fairness, FAIRNESS), *map(drawn, range(CASES)))
    assert any(_notices(case) for case in cases), "no comparison noticed it"


def _notices(case: Case) -> bool:
    try:
        both = opinions(case.configuration(), 800)
    except (VezError, RuntimeError, KeyError):
        return True  # its own replay, or its own second pass, contradicts it
    return both is not None and both[1].states <= 800 and bool(difference(*both))
