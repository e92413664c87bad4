"""The recipe of etcd's lock, checked against a model of the server: every interleaving, with exact numbers of states."""

from __future__ import annotations

from typing import Any

import pytest

from tests.locks.models.recipes.checks import checked, configuration, marks
from tests.worlds.check import naive
from vez.core.assumptions import Property
from vez.judge.properties.verdict import Status
from vez.locks.models.recipes import find_recipe
from vez.worlds.check.model.semantics import Model

LOCK = "recipe:etcd-lock"
WORLDS: list[tuple[dict[str, Any], int]] = [
    ({}, 222),
    ({"requests": 2}, 2_452),
    ({"n": 4}, 6_428),
    ({"doubts": 1}, 69_137),
    ({"doubts": 1, "pooled": False}, 133_149),
    ({"expiries": 2}, 8_718),
    ({"withdrawals": 2}, 2_890),
    ({"requests": 2, "withdrawals": 1}, 91_154),
    ({"n": 4, "withdrawals": 1}, 94_882),
    ({"crashes": 1}, 2_830),
    ({"crashes": 1, "recoveries": 1}, 12_566),
    ({"expiries": 1, "withdrawals": 1}, 13_024),
    ({"expiries": 1, "crashes": 1}, 22_730),
    ({"keeps": True}, 8_105),
    ({"n": 4, "expiries": 1}, 101_162),
    ({"n": 4, "crashes": 1}, 249_548),
]


def words(world: tuple[dict[str, Any], int]) -> str:
    return " ".join(f"{name}={value}" for name, value in world[0].items()) or "nothing goes wrong"


@pytest.mark.parametrize("world", [pytest.param(world, marks=marks(world[-1])) for world in WORLDS], ids=words)
def test_all_promises_hold_in_every_state(world: tuple[dict[str, Any], int]) -> None:
    options, states = world
    report = checked(LOCK, **options)
    assert not report.stopped
    statuses = {verdict.name: verdict.status for verdict in report.verdicts}
    may_overlap = "expiries" in options
    assert statuses.pop(Property.EXCLUSION) is (Status.BROKEN if may_overlap else Status.HOLDS)
    assert set(statuses.values()) == {Status.HOLDS}
    assert set(statuses) == {str(name) for name in find_recipe(LOCK).guarantees}
    assert report.states == states


def test_the_packed_search_agrees_with_the_naive_one() -> None:
    recipe = find_recipe(LOCK)
    report = checked(LOCK, expiries=1, properties=("exclusion",))
    found = naive.explore(Model(configuration(recipe, expiries=1)))
    assert (report.states, report.transitions, report.depth) == (found.states, found.transitions, found.depth)
    assert report.counterexamples["exclusion"].steps == found.first_two_inside


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"expiries": 1}, {"withdrawals": 1}, {"crashes": 1}, {"doubts": 1}], ids=str)
def test_revisions_of_etcd_give_the_same_verdicts(options: dict[str, Any]) -> None:
    """The abstraction of the model changes the number of states, and nothing that is judged."""
    apart, exact = (checked(LOCK, exact=exact, **options) for exact in (False, True))
    assert [(one.name, one.status) for one in apart.verdicts] == [(one.name, one.status) for one in exact.verdicts]
    assert {name: run.steps for name, run in apart.counterexamples.items()} == {
        name: run.steps for name, run in exact.counterexamples.items()
    }
    assert apart.states < exact.states


def test_every_handler_of_the_model_is_used_by_some_world() -> None:
    worlds: tuple[dict[str, Any], ...] = (
        {"doubts": 1}, {"expiries": 1}, {"withdrawals": 1}, {"crashes": 1, "recoveries": 1},
        {"n": 2, "doubts": 1, "keeps": True}, {"n": 2, "others": ("lock/1",)},
    )  # fmt: skip
    unused = [set(checked(LOCK, **options).never_ran) for options in worlds]
    assert not set.intersection(*unused)
