"""Simulated runs within a row of the verification matrix break nothing that holds there, and are runs of the model."""

from __future__ import annotations

import pytest

from tests.worlds.crosscheck.cases import Case
from tests.worlds.crosscheck.protocols import Ledger
from tests.worlds.crosscheck.rows import BROKEN, HOLDS, Row, Sampled, judged, rows
from tests.worlds.crosscheck.sampling import runs
from tests.worlds.crosscheck.simulator_mutants import LEDGER, SIMULATOR_MUTANTS, UNEXPLORED
from tests.worlds.crosscheck.timed_mutants import Mutant

ROWS = {row.command: row for row in rows()}
EVERY = 20
"""Of so many rows one is sampled in `make test`, all of them in `make test-long`, and with many seeds in
`make crosscheck`."""
SEEDS = 150
"""Number of seeds that must notice a mutant."""


def sampled(row: Row, seeds: int) -> Sampled:
    found = Sampled(row)
    for seed in range(seeds):
        found.sample(seed)
        if found.violations:
            break
    return found


def ledger() -> Row:
    case = Case(Ledger, budget={"crashes_inside": 1, "recoveries": 1})
    return Row(LEDGER, LEDGER, case.configuration(), {})


@pytest.mark.parametrize(
    ("group", "seeds"),
    [(0, 2), *(pytest.param(group, 5, marks=[pytest.mark.long]) for group in range(EVERY))],
)
def test_no_run_breaks_what_holds(group: int, seeds: int) -> None:
    chosen = [sampled(row, seeds) for row in list(ROWS.values())[group::EVERY]]
    assert [(one.row.command, seed, words) for one in chosen for seed, words, _ in one.violations] == []
    broken = sum(len(one.row.names[BROKEN]) for one in chosen)
    assert sum(len(one.found) for one in chosen) > broken // 3, "the faults are too tame"
    assert sum(one.followed for one in chosen) > 3


def test_all_rows_are_sampled() -> None:
    """Each with a verdict, so that a row that is renamed or forgotten is noticed."""
    assert all(row.cells for row in ROWS.values())
    assert {row.algorithm.partition(":")[0] for row in ROWS.values()} >= {"table", "recipe", "bully", "lamport"}
    assert sum(len(row.names[HOLDS]) for row in ROWS.values()) > 700


@pytest.mark.parametrize("command", ["vez check coordinator", "vez check coordinator-lease --drift 0.1"])
def test_the_checker_still_says_what_the_page_says(command: str) -> None:
    assert judged(ROWS[command]).names == ROWS[command].names


def test_a_seed_decides_its_runs() -> None:
    row = ROWS["vez check bully --crashes 1 --recoveries 1"]
    first, second = (list(runs(row.configuration, "seed")) for _ in range(2))
    assert first == second
    assert len(first) > 3


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(mutant, marks=[pytest.mark.long] * (place % 6 > 0))
        for place, mutant in enumerate(SIMULATOR_MUTANTS)
    ],
    ids=lambda mutant: mutant.__name__,
)
def test_a_wrong_simulator_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ledger() if SIMULATOR_MUTANTS[mutant] == LEDGER else ROWS[SIMULATOR_MUTANTS[mutant]]
    assert not sampled(row, SEEDS // 20).violations
    mutant(monkeypatch)
    assert sampled(row, SEEDS).violations


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, marks=[pytest.mark.long] * (place > 0)) for place, mutant in enumerate(UNEXPLORED)],
    ids=lambda mutant: mutant.__name__,
)
def test_a_fault_that_is_not_explored_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ROWS[UNEXPLORED[mutant]]
    assert judged(row).names == row.names
    with monkeypatch.context() as patch:
        mutant(patch)
        wrong = judged(row)
    assert wrong.names != row.names
    assert sampled(wrong, SEEDS).violations
