"""Values of the recipes: keys and their order, what other programs write, who holds and who is chosen."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any, TypeVar, cast

import pytest

from vez.locks.models.recipes.rules import holders, is_better
from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import Answer, Failed, Proved, Recipe
from vez.locks.recipes.etcd import memo
from vez.locks.recipes.etcd.breaking import AT_ONCE, BREAKS, HEAR, REMEMBERED, SLICE, USUAL, Pace, record_prefix
from vez.locks.recipes.etcd.election import AT_ONCE as REMOVED_AT_ONCE
from vez.locks.recipes.etcd.election import campaign, merit, transfer
from vez.locks.recipes.etcd.lock import LOOK_AGAIN, NOT_NEXT, Seat, key_of
from vez.locks.recipes.etcd.memo import MEMOS, Memo
from vez.locks.recipes.etcd.operations import (
    EVERYTHING,
    Delete,
    Entry,
    Found,
    Get,
    LeaseFor,
    Put,
    Txn,
    TxnDone,
    Written,
    prefix_end,
)
from vez.locks.recipes.etcd.session import AGAIN, RENEWALS, SESSIONS, Session, broken_prefix, open_session, session_key
from vez.locks.recipes.etcd.shown import (
    FORMAT,
    Member,
    OtherKind,
    OtherLimit,
    Shown,
    changed,
    decode,
    encode,
    fits,
    inside,
    member,
)

T = TypeVar("T")
MOST_OPERATIONS = 128
"""Operations that etcd takes in one transaction (`--max-txn-ops`)."""


@pytest.mark.parametrize(
    "prefix", ["a", "lock/", "é", "\ud7ff", "a\U0010ffff", "\U0010ffff", "a\ue000", "\x00", "z\x7f"]
)
def test_the_end_of_a_prefix_is_the_first_key_after_all_that_have_it(prefix: str) -> None:
    end = prefix_end(prefix)
    characters = ["", "\x00", "a", "/", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
    keys = [prefix + "".join(rest) for rest in product(characters, repeat=2)]
    assert end == EVERYTHING or all(key.encode() < end.encode() for key in keys)
    assert end == EVERYTHING or (end.encode() > prefix.encode() and not end.startswith(prefix))
    others = [chr(code) for code in random.Random(1).sample(range(0xD7FF), 2000)] + ["\ue000", "b", "a\ue001", "b\x00"]
    for key in others:
        inside_range = prefix.encode() <= key.encode() and (end == EVERYTHING or key.encode() < end.encode())
        assert inside_range == (key.startswith(prefix) or (end == EVERYTHING and key.encode() >= prefix.encode()))


def test_keys_and_prefixes_are_those_that_other_versions_know() -> None:
    assert key_of("x", 0x2A) == "x/2a"
    assert session_key(0x2A) == "vez/sessions/2a"
    assert broken_prefix(0x2A) == "vez/sessions/2a/broken/"
    assert record_prefix("lock", "x") == "vez/breaks/lock/x/"
    assert (SESSIONS, BREAKS, MEMOS, FORMAT, EVERYTHING) == ("vez/sessions/", "vez/breaks/", "vez/memos/", 1, "\0")
    assert prefix_end("") == prefix_end("\U0010ffff") == EVERYTHING


def test_no_transaction_has_more_operations_than_etcd_takes() -> None:
    """A break compares each holder, writes a record, forgets `AT_ONCE` old ones, and tells each holder. A removal
    compares each candidate and the chosen one, and removes each; etcd counts each list apart."""
    assert 1 + AT_ONCE + AT_ONCE <= MOST_OPERATIONS
    assert REMOVED_AT_ONCE + 1 <= MOST_OPERATIONS


def test_times_are_in_their_order() -> None:
    """A call is repeated before a waiter looks again by itself; a renewal may fail once; a holder can hear in time."""
    assert 0 < AGAIN <= NOT_NEXT < SLICE * 5 < HEAR < LOOK_AGAIN
    assert RENEWALS >= 3
    assert REMEMBERED >= 1
    assert Pace(SLICE, AT_ONCE) == USUAL


def test_what_other_programs_write_is_not_taken_for_ours() -> None:
    values = [
        "",
        "text",
        "1",
        "[]",
        "null",
        '{"kind":"lock"}',
        '{"vez":0}',
        '{"vez":"1"}',
        '{"vez":1,"pid":"x"}',
        "\ud800",
    ]
    deep = '{"a":' * 100_000
    assert [decode(value) for value in (*values, deep)] == [None] * (len(values) + 1)
    assert [run(memo.read("lock", "x"), value) for value in (*values, deep)] == [
        Memo(0, one) for one in (*values, deep)
    ]
    shown = Shown(1, "lock", "host", 7, "label", 1.5, True, 3, 4, 5, 6, 7.5, True, 8)
    assert decode(encode(shown)) == shown
    assert json.loads(encode(Shown(1, "lock"))) == {"vez": 1, "kind": "lock"}
    assert changed(shown, limit=9, label="") == Shown(1, "lock", "host", 7, "", 1.5, True, 9, 4, 5, 6, 7.5, True, 8)


def run(recipe: Recipe[T], value: str) -> T:
    """The result of a recipe that reads one key."""
    next(recipe)
    try:
        recipe.send(Answer(TxnDone(False, (Found((Entry("key", value, 1, 1, 0),)),), 1)))
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("it asks for more")


def test_a_reply_that_contradicts_itself_is_refused() -> None:
    """The key of the session is there, as the condition says, and it is not, as the read says."""
    recipe = open_session(0x20, 9, "me")
    next(recipe)
    assert recipe.send(Answer(LeaseFor(9))) == Proved(9)
    recipe.send(None)
    with pytest.raises(Failed, match="exists, and that it does not"):
        recipe.send(Answer(TxnDone(False, (Found(()),), 1)))


def crowded(count: int) -> Store:
    """A leader with the key x/20, and behind it so many candidates, of which the last is heavier."""
    store = Store(exact=True)
    for number in range(count + 1):
        shown = Shown(1, "election", label=str(number), weight=5 * (number == count))
        store = store.execute(Txn((), (Put("x/20" if not number else f"x/{number + 100}", encode(shown)),)))[0]
    return store


@pytest.mark.parametrize("count", [REMOVED_AT_ONCE - 1, REMOVED_AT_ONCE, REMOVED_AT_ONCE + 3, 2 * REMOVED_AT_ONCE + 3])
def test_a_leader_hands_over_past_a_crowd_in_steps_that_etcd_takes(count: int) -> None:
    """Those between go first, `AT_ONCE` of them at a time, and the leader leads until the last step."""
    store, recipe, sizes = crowded(count), transfer(Session(0x20, 1), "x", Seat("x/20", 1), str(count)), list[int]()
    step: Any = next(recipe)
    term = 0
    while not term:
        store, reply = store.execute(step.request)
        deletes = [one.key for one in step.request.then if isinstance(one, Delete)]
        assert len(step.request.conditions) == len(deletes) + bool(deletes)
        sizes += [len(deletes)] if deletes else []
        assert len(sizes) <= count
        try:
            step = recipe.send(reply)
        except StopIteration as end:
            term = end.value
    assert term == count + 1
    assert [one.entry.key for one in store.queue()] == [f"x/{count + 100}"]
    assert sum(sizes) == count
    assert sizes[:-1] == [REMOVED_AT_ONCE] * (len(sizes) - 1)
    assert sizes[-1] <= REMOVED_AT_ONCE


def test_a_candidate_makes_way_in_steps_that_etcd_takes() -> None:
    recipe = campaign(Session(0x20, 1), "x", Shown(1, "election"))
    next(recipe)
    store = crowded(REMOVED_AT_ONCE + 3)
    recipe.send(Answer(TxnDone(True, (Written(), Found((Entry("x/20", "", 1, 1, 0),))), 1)))
    step: Any = recipe.send(store.execute(Txn((), (Get("x/", prefix_end("x/"), "oldest first"),)))[1])
    assert len(step.request.then) == REMOVED_AT_ONCE == len(step.request.conditions) - 1


def entry(create: int, shown: Shown | None) -> Entry:
    return Entry(f"x/{create}", "" if shown is None else encode(shown), create, 100 - create, 0)


def members(*found: Shown | None) -> tuple[Member, ...]:
    return tuple(member(entry(create, shown)) for create, shown in enumerate(found, 1))


def test_a_request_of_another_kind_or_limit_is_refused() -> None:
    fits(None, "lock")
    fits(entry(1, None), "semaphore", 2)
    fits(entry(1, Shown(1, "lock", limit=7)), "lock", 2)
    fits(entry(1, Shown(1, "lock")), "lock")
    fits(entry(1, Shown(1, "semaphore")), "semaphore")
    fits(entry(1, Shown(1, "semaphore", limit=2)), "semaphore", 2)
    with pytest.raises(OtherKind, match="lock"):
        fits(entry(1, Shown(1, "lock")), "semaphore", 1)
    with pytest.raises(OtherLimit, match="3"):
        fits(entry(1, Shown(1, "semaphore", limit=3)), "semaphore", 2)


REQUESTS: dict[str, tuple[Shown | None, ...]] = {
    "lock": (None, Shown(1, "lock"), Shown(1, "lock", shared=True)),
    "semaphore": (None, Shown(1, "semaphore"), Shown(1, "semaphore", limit=2), Shown(1, "semaphore", limit=3)),
    "election": (None, Shown(1, "election"), Shown(1, "election", inside=True), Shown(1, "election", weight=2)),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_holders_are_those_of_a_second_definition(kind: str) -> None:
    for length in range(5):
        for found in product(REQUESTS[kind], repeat=length):
            queue = members(*found)
            assert inside(kind, queue) == holders(kind, queue)


def test_the_leader_is_chosen_as_a_second_definition_says() -> None:
    found = [
        None,
        *(Shown(1, "election", weight=weight, arrived=arrived) for weight in (0, 2) for arrived in (0, 1, 9)),
    ]
    for one, other in product(members(*found, *found), repeat=2):
        assert (merit(one) > merit(other)) == is_better(one, other)
