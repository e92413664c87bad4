"""The turn table beside a naive specification: random commands, the same answers."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.locks.table.against import Against
from tests.locks.table.mutants import MUTANTS


@pytest.mark.parametrize("examples", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_the_table_is_as_the_specification_says(examples: int) -> None:
    run_state_machine_as_test(Against, settings=settings(max_examples=examples, stateful_step_count=40, deadline=None))


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_differs_from_the_specification(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name].make(monkeypatch)
    quick = settings(
        max_examples=1500, stateful_step_count=30, deadline=None, derandomize=True, database=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Against, settings=quick)
