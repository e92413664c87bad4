"""Forced releases, observers and transfers on etcd, checked against the model: exact numbers of states."""

from __future__ import annotations

from typing import Any

import pytest

from tests.locks.models.recipes.checks import checked, marks
from tests.locks.models.recipes.test_other_recipes import words
from vez.judge.properties.verdict import Status
from vez.locks.models.recipes import find_recipe
from vez.locks.models.recipes.breaking import record
from vez.locks.models.recipes.positions import Paused, Positions, Returned
from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import Answer, Call, Elapsed
from vez.locks.recipes.etcd.breaking import HEAR, Pace, break_by_force, forget_records
from vez.locks.recipes.etcd.operations import Delete, LeaseGrant, Put, Txn
from vez.locks.recipes.etcd.session import SESSIONS
from vez.locks.recipes.etcd.shown import FORMAT, Shown, encode

WORLDS: list[tuple[str, dict[str, Any], int]] = [
    ("break", {"n": 3, "requests": 2}, 808),
    ("break", {"n": 3, "keeps": True}, 2_521),
    ("break", {"n": 3, "doubts": 1}, 37_935),
    ("break", {"n": 3, "keeps": True, "expiries": 1}, 42_893),
    ("break", {"n": 4}, 6_413),
    ("break", {"n": 4, "withdrawals": 1}, 43_481),
    ("break", {"n": 4, "expiries": 1}, 64_025),
    ("break", {"n": 4, "crashes": 1}, 209_125),
    ("break-permits", {"n": 4, "limit": 2, "at_once": 1}, 11_760),
    ("observe", {}, 432),
    ("observe", {"crashes": 1}, 5_072),
    ("observe", {"doubts": 1}, 47_080),
    ("observe", {"keeps": True, "expiries": 1}, 94_192),
    ("observe", {"keeps": True, "breaks": True}, 112_788),
    ("transfer", {"impatient": True}, 11_600),
    ("transfer", {"weights": (0, 5)}, 1_966),
    ("transfer", {"expiries": 1}, 18_676),
    ("transfer", {"crashes": 1}, 18_640),
    ("transfer", {"doubts": 1}, 825_366),
    ("transfer", {"n": 4}, 185_808),
]


@pytest.mark.parametrize(
    ("recipe", "options", "states"), [pytest.param(*world, marks=marks(world[-1])) for world in WORLDS], ids=words
)
def test_all_promises_hold_in_every_state(recipe: str, options: dict[str, Any], states: int) -> None:
    name = f"recipe:etcd-{recipe}"
    report = checked(name, properties=tuple(map(str, find_recipe(name).guarantees)), **options)
    assert not report.stopped
    assert {verdict.status for verdict in report.verdicts} == {Status.HOLDS}
    assert report.states == states


@pytest.mark.parametrize("options", [{}, {"weights": (0, 5)}], ids=str)
def test_an_observer_of_two_candidates_never_shows_an_earlier_term(options: dict[str, Any]) -> None:
    """A waiting candidate names nobody, so `agreement` is not judged here."""
    report = checked("recipe:etcd-observe", 4, properties=("uniqueness", "no_exceptions"), **options)
    assert not report.stopped
    assert not report.broken


LEASES = (32, 48, 64)


def queue_of_three() -> Store:
    """Three permits, each of a session of its own."""
    store = Store()
    for lease in LEASES:
        store, _ = store.execute(LeaseGrant(lease, 9))
        value = encode(Shown(FORMAT, "semaphore", limit=3))
        store, _ = store.execute(Txn((), (Put(f"x/{lease:x}", value, lease),)))
    return store


def test_every_holder_hears_of_a_break_although_one_of_them_leaves() -> None:
    """Holders beyond the first transaction are told one by one: one that has left must not keep others from it."""
    store, steps, told = queue_of_three(), 0, set[str]()
    positions = Positions()
    outcome = positions.begin(break_by_force, "x", "semaphore", "x", 7, record, "why", Pace(HEAR, 1))
    while isinstance(outcome, Paused):
        reply: object = Elapsed()
        if isinstance(outcome.step, Call):
            steps += 1
            if steps == 3:  # the first was told; the second leaves before it is told
                store, _ = store.execute(Txn((), (Delete("x/30"),)))
            store, reply = store.execute(outcome.step.request)
            told |= {entry.key for entry in store.entries if entry.key.startswith(SESSIONS)}
        outcome = positions.send(outcome.position, reply)
    assert isinstance(outcome, Returned)
    assert len(outcome.value) == 3
    assert told == {f"{SESSIONS}20/broken/7", f"{SESSIONS}40/broken/7"}
    assert not store.queue()


def test_records_are_forgotten_with_immutable_locals() -> None:
    """The recipe is not part of a model, so its rules are checked here: `Positions` refuses mutable values."""
    store = Store()
    for number in range(40):
        store, _ = store.execute(Txn((), (Put(f"vez/breaks/lock/a/{number:x}", ""), Put("vez/breaks/lock/b/1", ""))))
    positions = Positions()
    outcome = positions.begin(forget_records, "", frozenset({"lock b"}))
    while isinstance(outcome, Paused):
        assert isinstance(outcome.step, Call)
        store, reply = store.execute(outcome.step.request)
        assert isinstance(reply, Answer)
        outcome = positions.send(outcome.position, reply)
    assert outcome == (1,)
    assert [entry.key for entry in store.entries] == ["vez/breaks/lock/b/1"]
