"""The election, with the keys of Go's `concurrency.Election`: the oldest key leads, once its owner has noted that.

Weights count among clients of vez. The first in line that sees a better candidate (heavier, or as heavy and earlier)
removes the keys of vez before that candidate, its own included, in one transaction; their owners enter again behind.
Keys of other programs are never removed.
"""

from __future__ import annotations

from typing import Literal

from vez.locks.recipes.base import Answer, Call, Recipe, Refused, Removed, SessionEnded, Wait, Withdrawn
from vez.locks.recipes.etcd.lock import LOOK_AGAIN, Before, Seat, enlist, leave, look, look_all
from vez.locks.recipes.etcd.operations import Compare, Delete, Put, Txn, Watch, prefix_end
from vez.locks.recipes.etcd.session import AGAIN, Session
from vez.locks.recipes.etcd.shown import Member, OtherKind, Shown, changed, encode, fits, inside

AT_ONCE = 60
"""Most keys that one transaction removes; etcd takes at most 128 operations."""


class NoCandidate(Exception):
    """No candidate has this label; the arguments are the labels of the candidates."""


class StrangerBetween(Exception):
    """The key of another program is before the candidate. vez must not remove it."""


def campaign(session: Session, name: str, shown: Shown, *, wait: bool = True) -> Recipe[Seat | None]:
    """Stand until elected. None if `wait` is false and somebody leads."""
    seat: Seat | None
    doubt, arrived = False, 0
    try:
        while True:
            mine, seat = changed(shown, arrived=arrived), None  # until the reply, the key may exist or not
            seat, before = yield from enlist(session, name, encode(mine))
            doubt = doubt or seat.doubt
            seat, arrived = Seat(seat.key, seat.token, doubt), arrived or seat.token
            try:
                first = yield from _until_first(seat, name, before, wait)
            except OtherKind:
                yield from leave(session, name, seat)
                raise
            if first == "taken":
                yield from leave(session, name, seat)
                return None
            if first == "first" and (yield from _stand(session, name, seat, mine)):
                return seat
    except Withdrawn:
        yield from leave(session, name, seat)
        raise


def _until_first(seat: Seat, name: str, before: Before, wait: bool) -> Recipe[Literal["first", "taken", "removed"]]:
    """Wait until nobody is before us, or until a better candidate has removed our key."""
    while before is not None:
        entry, revision, late = before
        fits(entry, "election")
        if not wait:
            return "taken"
        if entry is not None:
            yield Wait(Watch(entry.key, revision + 1, late=late), LOOK_AGAIN)
        try:
            before = yield from look(seat, name)
        except Removed:
            return "removed"
    return "first"


def _stand(session: Session, name: str, seat: Seat, mine: Shown) -> Recipe[bool]:
    """Become leader as the first in line, or make way for a better candidate. False if we have to enter again."""
    queue, _, _ = yield from look_all(name)
    me = next((one for one in queue if one.entry.create == seat.token), None)
    if me is None:
        return False
    if me.shown is not None and me.shown.inside:
        return True  # the last leader has chosen us
    best = max((one for one in queue if one.shown is not None), key=merit, default=me)
    if merit(best) > merit(me):
        before = [one for one in queue if one.shown is not None and one.entry.create < best.entry.create]
        yield Call(_remove(before[:AT_ONCE], best))
        return False  # whatever the outcome: enter again, which finds our key if it is still there
    note = Txn(
        (Compare(seat.key, "create", seat.token),),
        (Put(seat.key, encode(changed(mine, inside=True)), session.lease),),
    )
    while True:
        reply = yield Call(note)
        if isinstance(reply, Answer):
            return bool(reply.value.succeeded)
        if isinstance(reply, Refused):
            raise SessionEnded(reply.why)
        yield Wait(seconds=AGAIN)


def merit(one: Member) -> tuple[int, int]:
    """The key by which a leader is chosen: the candidate with the largest one leads."""
    return (0 if one.shown is None else one.shown.weight), -one.arrived


def _remove(before: list[Member], chosen: Member, *also: Put) -> Txn:
    """A transaction that removes keys, if none of them has changed."""
    conditions = tuple(Compare(one.entry.key, "create", one.entry.create) for one in (*before, chosen))
    return Txn(conditions, (*(Delete(one.entry.key) for one in before), *also))


def transfer(session: Session, name: str, seat: Seat, to: str) -> Recipe[int]:
    """Make the candidate with this label leader. Returns its term. Raises `Removed` if we no longer lead."""
    term = yield from _hand_over(name, seat, to)
    if seat.doubt:  # the request for our key that had no reply may still arrive, and the key would be there again
        yield from leave(session, name, seat)
    return term


def _hand_over(name: str, seat: Seat, to: str) -> Recipe[int]:
    asked: int | None = None
    while True:
        queue, _, _ = yield from look_all(name)
        if all(one.entry.create != seat.token for one in queue):
            if asked is not None and any(one.entry.create == asked for one in inside("election", queue)):
                return asked  # the reply was lost, but the transaction took effect
            raise Removed("its key was removed")
        others = [one for one in queue if one.entry.create != seat.token]
        labels = [one.shown.label for one in others if one.shown is not None]
        chosen = next((one for one in others if one.shown is not None and one.shown.label == to), None)
        if chosen is None or chosen.shown is None:
            raise NoCandidate(*labels)
        before = [one for one in queue if one.entry.create < chosen.entry.create]
        if any(one.shown is None for one in before):
            raise StrangerBetween(to)
        if len(before) > AT_ONCE:  # the candidates between us enter again behind; we stay leader until then
            yield Call(_remove(before[1 : AT_ONCE + 1], chosen))
            continue
        value = encode(changed(chosen.shown, inside=True))
        reply = yield Call(_remove(before, chosen, Put(chosen.entry.key, value, chosen.entry.lease)))
        if isinstance(reply, Answer) and reply.value.succeeded:
            return chosen.entry.create
        if not isinstance(reply, Answer | Refused):
            asked = chosen.entry.create
            yield Wait(seconds=AGAIN)


Mark = tuple[str, int] | None
"""The leader's key and term; None if nobody leads."""


def observe(name: str, last: Mark, *, first: bool) -> Recipe[tuple[Member | None, Mark]]:
    """The current leader. Unless this is the first call, wait until the leader has changed since `last`."""
    prefix = f"{name}/"
    while True:
        queue, _, revision = yield from look_all(name)
        leader = next(iter(inside("election", queue)), None)
        mark = None if leader is None else (leader.entry.key, leader.entry.create)
        if first or mark != last:
            return leader, mark
        yield Wait(Watch(prefix, revision + 1, prefix_end(prefix)), LOOK_AGAIN)
