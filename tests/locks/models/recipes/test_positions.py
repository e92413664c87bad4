"""Positions: the state of a generator as a text."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from vez.errors import ProtocolBug
from vez.locks.models.recipes.positions import WITHDRAWAL, Paused, Positions, Raised, Returned, name_of, signature
from vez.locks.recipes.base import (
    Answer,
    Call,
    Changed,
    Elapsed,
    Proved,
    Recipe,
    Refused,
    Unknown,
    Unwatched,
    Wait,
    Withdrawn,
)
from vez.locks.recipes.etcd.lock import Seat, acquire, leave
from vez.locks.recipes.etcd.operations import Entry, Event, Found, Get, LeaseFor, Txn, TxnDone, Written
from vez.locks.recipes.etcd.session import Session, close_session, keep, open_session


def ask(number: int) -> Recipe[int]:
    reply = yield Call(number)
    return int(reply.value)


def add(limit: int) -> Recipe[int]:
    """Adds the values that it is sent, until the limit is reached."""
    total = 0
    try:
        while total < limit:
            more = yield from ask(total)
            total += more
            del more
    except Withdrawn:
        yield Call("undo")
        raise
    return total


def paused(outcome: Any) -> Paused:
    assert isinstance(outcome, Paused)
    return outcome


def test_the_same_state_has_the_same_name_whatever_led_there() -> None:
    positions = Positions()
    start = paused(positions.begin(add, 5))
    two = paused(positions.send(start.position, Answer(2)))
    one = paused(positions.send(start.position, Answer(1)))
    assert paused(positions.send(one.position, Answer(1))) == two != one
    assert two.step == Call(2)
    assert positions.send(two.position, Answer(3)) == Returned(5)


def test_a_position_can_be_left_in_two_ways() -> None:
    """A generator can continue once; a position can continue any number of times."""
    positions = Positions()
    start = paused(positions.begin(add, 2))
    assert positions.send(start.position, Answer(7)) == Returned(7)
    undone = paused(positions.send(start.position, WITHDRAWAL))
    assert undone.step == Call("undo")
    ended = positions.send(undone.position, Answer(None))
    assert isinstance(ended, Raised)
    assert isinstance(ended.error, Withdrawn)
    assert positions.send(start.position, Answer(8)) == Returned(8)


def each(numbers: tuple[int, ...]) -> Recipe[None]:
    for _ in numbers:
        yield Call("next")


def test_the_rest_of_a_loop_belongs_to_the_state() -> None:
    """It is on the stack, not in a local variable: equal elements must not merge two states."""
    positions = Positions()
    first = paused(positions.begin(each, (1, 1)))
    second = paused(positions.send(first.position, Answer(None)))
    assert first.position != second.position
    assert positions.send(second.position, Answer(None)) == Returned(None)


def collect() -> Recipe[None]:
    heard: list[Any] = []
    while True:
        heard.append((yield Call("more")))


def test_a_local_that_can_change_in_place_is_refused() -> None:
    with pytest.raises(ProtocolBug, match=r"recipe collect keeps .*, which can change in place"):
        Positions().begin(collect)


calls = 0


def counting() -> Recipe[None]:
    global calls
    calls += 1
    mine = calls
    yield Call("first")
    yield Call(mine)


def test_a_recipe_that_depends_on_more_than_its_replies_is_refused() -> None:
    positions = Positions()
    start = paused(positions.begin(counting))
    with pytest.raises(ProtocolBug, match="came to another state"):
        positions.send(start.position, Answer(None))


REPLIES = (
    Answer(LeaseFor(0)), Answer(LeaseFor(9)), Refused("no"), Unknown(), WITHDRAWAL,
    Answer(TxnDone(True, (Written(1), Found((Entry("lock/20", "", 2, 2, 32), Entry("lock/1", "", 1, 1, 1)))), 2)),
    Answer(TxnDone(False, (Found((Entry("lock/20", "", 2, 2, 32),)), Found((Entry("s", "", 1, 4, 32),))), 4)),
    Answer(TxnDone(False, (Found(), Found((Entry("s", "", 1, 4, 32),))), 4)),
    Answer(TxnDone(False, (Found((Entry("s", "", 1, 4, 32),)),), 4)),
    Answer(TxnDone(True, (Found((Entry("lock/1", "", 1, 1, 1),)),), 3)), Answer(TxnDone(True, (Found(),), 3)),
    Elapsed(), Unwatched(), Changed((Event("vez/sessions/20", 5),)), None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "arguments"),
    [
        (open_session, (32, 9, "")), (keep, (Session(32, 1), 9)), (close_session, (Session(32, 1),)),
        (acquire, (Session(32, 1), "lock", "")), (leave, (Session(32, 1), "lock", None)),
        (leave, (Session(32, 1), "lock", Seat("lock/20", 2))),
    ],
    ids=["open", "keep", "close", "acquire", "leave in doubt", "leave"],
)  # fmt: skip
def test_every_way_to_a_position_goes_on_alike(recipe: Any, arguments: tuple[Any, ...]) -> None:
    """Values that are left out of a name must not matter: all replies to four generators of each name are compared."""
    ways: dict[str, list[tuple[Any, ...]]] = {}
    frontier: list[tuple[Any, ...]] = [()]
    while frontier:
        replies = frontier.pop(0)
        outcome = after(recipe, arguments, replies)
        if not isinstance(outcome, Paused):
            continue
        known = ways.setdefault(outcome.position, [])
        if len(known) < 4 and len(replies) < 9:
            known.append(replies)
            frontier += [(*replies, reply) for reply in REPLIES if possible(outcome.step, reply)]
    compared = 0
    for first, *others in (known for known in ways.values() if known):
        step = paused(after(recipe, arguments, first)).step
        for reply in REPLIES:
            if possible(step, reply):
                results = [told(after(recipe, arguments, (*way, reply))) for way in (first, *others)]
                assert len(set(results)) == 1
                compared += len(others)
    assert compared


def possible(step: Any, reply: Any) -> bool:
    """True if a pump could send this reply to the step, as far as its form goes."""
    if reply == WITHDRAWAL:
        return True
    if isinstance(step, Proved):
        return reply is None
    if isinstance(step, Wait):
        return isinstance(reply, Elapsed | Unwatched | Changed) and (step.watch is not None or reply == Elapsed())
    if isinstance(reply, Answer) and isinstance(step.request, Txn):
        kinds = [Found if isinstance(one, Get) else Written for one in step.request.then]
        kinds = kinds if getattr(reply.value, "succeeded", True) else [Found for _ in step.request.otherwise]
        return isinstance(reply.value, TxnDone) and [type(one) for one in reply.value.replies] == kinds
    if isinstance(reply, Answer):
        return isinstance(reply.value, LeaseFor)
    return isinstance(reply, Refused | Unknown)


def after(recipe: Any, arguments: tuple[Any, ...], replies: tuple[Any, ...]) -> Any:
    """The result of these replies, one after the other, on a new generator."""
    generator = recipe(*arguments)
    try:
        step = next(generator)
        for reply in replies:
            step = generator.throw(Withdrawn()) if reply == WITHDRAWAL else generator.send(reply)
    except StopIteration as end:
        return Returned(end.value)
    except Exception as error:
        return Raised(error)
    return Paused(name_of(signature(generator)), step)


def told(outcome: Any) -> Any:
    return (type(outcome.error), str(outcome.error)) if isinstance(outcome, Raised) else outcome


@pytest.mark.parametrize("seed", ["1", "2"])
def test_names_do_not_depend_on_the_hash_seed(seed: str) -> None:
    program = (
        "from vez.locks.models.recipes.positions import Positions\n"
        "from vez.locks.recipes.etcd.lock import acquire\n"
        "from vez.locks.recipes.etcd.session import Session\n"
        "print(Positions().begin(acquire, Session(32, 1), 'lock', 'value').position)\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": one},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for one in ("0", seed)
    }
    assert len(found) == 1
    assert found.pop().startswith("acquire.enlist#")
