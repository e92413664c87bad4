"""Shared locks, semaphores and elections on etcd, checked against the model: exact numbers of states."""

from __future__ import annotations

from typing import Any

import pytest

from tests.locks.models.recipes.checks import checked, marks
from vez.judge.properties.verdict import Status
from vez.locks.models.recipes import find_recipe

WORLDS: list[tuple[str, dict[str, Any], int]] = [
    ("shared", {}, 222),
    ("shared", {"readers": (2,), "doubts": 1}, 75_265),
    ("shared", {"n": 4}, 8_726),
    ("shared", {"n": 4, "withdrawals": 1}, 103_850),
    ("semaphore", {"doubts": 1}, 86_585),
    ("semaphore", {"expiries": 1}, 2_194),
    ("semaphore", {"withdrawals": 1}, 1_692),
    ("semaphore", {"crashes": 1}, 3_116),
    ("semaphore", {"n": 4}, 11_502),
    ("semaphore", {"n": 4, "limit": 2, "withdrawals": 1}, 250_080),
    ("office", {}, 510),
    ("office", {"weights": (0, 5), "withdrawals": 1}, 8_883),
    ("office", {"weights": (0, 5), "expiries": 1}, 10_487),
    ("office", {"weights": (0, 5), "crashes": 1}, 10_604),
    ("office", {"weights": (0, 5), "requests": 2}, 25_774),
    ("office", {"n": 4, "weights": (0, 5, 9)}, 106_303),
    ("election", {}, 420),
    ("election", {"weights": (0, 5), "crashes": 1}, 10_200),
    ("election", {"weights": (0, 5), "expiries": 1}, 9_794),
    ("election", {"weights": (0, 5), "doubts": 1}, 298_816),
]


def words(value: object) -> str:
    return " ".join(f"{name}={value}" for name, value in value.items()) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(
    ("recipe", "options", "states"), [pytest.param(*world, marks=marks(world[-1])) for world in WORLDS], ids=words
)
def test_all_promises_hold_in_every_state(recipe: str, options: dict[str, Any], states: int) -> None:
    name = f"recipe:etcd-{recipe}"
    report = checked(name, **options)
    assert not report.stopped
    statuses = {verdict.name: verdict.status for verdict in report.verdicts}
    assert {statuses[str(promise)] for promise in find_recipe(name).guarantees} == {Status.HOLDS}
    assert report.states == states
