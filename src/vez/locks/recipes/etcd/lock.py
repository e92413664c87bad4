"""The lock, exclusive or shared: the oldest key holds, and every waiter watches the key just before its own."""

from __future__ import annotations

import msgspec

from vez.locks.recipes.base import Answer, Call, Failed, Recipe, Refused, Removed, SessionEnded, Wait, Withdrawn
from vez.locks.recipes.etcd.operations import (
    Compare,
    Delete,
    Entry,
    Found,
    Get,
    Put,
    Txn,
    TxnDone,
    Watch,
    prefix_end,
)
from vez.locks.recipes.etcd.session import AGAIN, Session
from vez.locks.recipes.etcd.shown import Member, OtherKind, fits, member

LOOK_AGAIN = 30.0
"""Seconds after which a waiter reads again without a notification: a watch can die without notice."""


NOT_NEXT = 0.05
"""Seconds by which a waiter may learn late that the key before its own has gone, if that key was not the first when it
was seen. Such a key usually becomes the first before it goes, and the watch is set by then. The delay has an effect
only if that request was withdrawn at that very moment, or shares the lock with those before it. Reading the key once
more in between would be useless nearly always, and would be one of the five requests of a turn."""


class Seat(msgspec.Struct, frozen=True):
    """A place in the queue of a name."""

    key: str
    token: int
    """Create revision of its key."""
    doubt: bool = False
    """True if a request for this place may still be on its way, so that leaving must fence it off."""


def key_of(name: str, lease: int) -> str:
    """The key of a request."""
    return f"{name}/{lease:x}"


def members(name: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The keys that are requests for this name. Keys of the name `NAME/more` have the same prefix."""
    start = len(name) + 1
    return tuple(entry for entry in entries if "/" not in entry.key[start:])


def acquire(session: Session, name: str, value: str, *, wait: bool = True, shared: bool = False) -> Recipe[Seat | None]:
    """Take a place in the queue and wait until nobody is before it (for a shared lock: nobody with an exclusive one).
    None if `wait` is false and it is not free."""
    seat: Seat | None = None
    try:
        seat, before = yield from enlist(session, name, value)
        if shared and before is not None:
            before = yield from look(seat, name, shared=True)
        while before is not None:
            entry, revision, late = before
            try:
                fits(entry, "lock")
            except OtherKind:
                yield from leave(session, name, seat)
                raise
            if not wait:
                yield from leave(session, name, seat)
                return None
            if entry is not None:
                yield Wait(Watch(entry.key, revision + 1, late=late), LOOK_AGAIN)
            before = yield from look(seat, name, shared=shared)
        return seat
    except Withdrawn:
        yield from leave(session, name, seat)
        raise


Before = tuple[Entry | None, int, float] | None
"""None if nobody is before us. Else the key just before ours (None if that must be looked up), the revision at which it
was seen, and the seconds by which we may learn late that it has gone."""


def enlist(session: Session, name: str, value: str) -> Recipe[tuple[Seat, Before]]:
    """Write the key. Repeated after a lost reply: if an earlier attempt took effect, the key is there and is ours."""
    key, fence, doubt = key_of(name, session.lease), session.fence, False
    prefix = f"{name}/"
    while True:
        conditions = (Compare(key, "create", 0), Compare(session.key, "mod", fence))
        newest = Get(prefix, prefix_end(prefix), "newest first", 3)
        reply = yield Call(Txn(conditions, (Put(key, value, session.lease), newest), (Get(key), Get(session.key))))
        if isinstance(reply, Refused):
            raise SessionEnded(reply.why)
        if not isinstance(reply, Answer):
            doubt = True
            yield Wait(seconds=AGAIN)
            continue
        done: TxnDone = reply.value
        if done.succeeded:
            return Seat(key, done.revision, doubt), _just_before(name, done)
        mine, shown = (_found(reply) for reply in done.replies)
        if not shown:
            raise SessionEnded("its lease is gone")
        if mine:
            return Seat(key, mine[0].create, doubt), (None, done.revision, 0.0)
        fence = shown[0].mod  # another request of this session has changed it


def _just_before(name: str, done: TxnDone) -> Before:
    """The key before the one that was just written."""
    others = _found(done.replies[1])[1:]
    if not others:
        return None
    before = members(name, others)
    return before[0] if before else None, done.revision, NOT_NEXT if len(before) > 1 else 0.0


def look(seat: Seat, name: str, *, shared: bool = False) -> Recipe[Before]:
    """The key before ours, read together with our own key, because a key that is gone holds nothing. For a shared lock
    only exclusive requests count."""
    limit = 0 if shared else 1
    while True:
        entries, revision = yield from _seen(seat, name, limit)
        if not entries:
            return None
        found = tuple(one for one in members(name, entries) if not shared or not member(one).shared)
        if found:
            return found[0], revision, 0.0
        if not limit:
            return None
        limit = 0  # a key of another name is just before ours: look at all


def _seen(seat: Seat, name: str, limit: int) -> Recipe[tuple[tuple[Entry, ...], int]]:
    """The keys before ours, at most `limit` (0: all), and the revision at which they were seen. Raises `Removed` if our
    own key was gone at that moment. One read shows both: of the keys that are not younger than ours, ours is the
    newest."""
    prefix = f"{name}/"
    asked = Get(prefix, prefix_end(prefix), "newest first", limit and limit + 1, seat.token + 1)
    while True:
        reply = yield Call(Txn((), (asked,)))
        if isinstance(reply, Refused):
            raise Failed(reply.why)
        if isinstance(reply, Answer):
            done: TxnDone = reply.value
            entries = _found(done.replies[0])
            before = tuple(one for one in entries if one.create < seat.token)
            if len(before) == len(entries):
                raise Removed("its key was removed")
            return before, done.revision
        yield Wait(seconds=AGAIN)


def look_all(name: str, *also: Get) -> Recipe[tuple[tuple[Member, ...], tuple[tuple[Entry, ...], ...], int]]:
    """The whole queue of a name, oldest first; the results of `also`; and the revision at which all were seen."""
    prefix = f"{name}/"
    while True:
        reply = yield Call(Txn((), (Get(prefix, prefix_end(prefix), "oldest first"), *also)))
        if isinstance(reply, Answer):
            done: TxnDone = reply.value
            queue, *others = (_found(one) for one in done.replies)
            return tuple(member(one) for one in members(name, queue)), tuple(others), done.revision
        if isinstance(reply, Refused):
            raise Failed(reply.why)
        yield Wait(seconds=AGAIN)


def leave(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    """Remove the key. False if it was gone already. Without a seat it is not known whether the key was written, or will
    be. After a lost reply it is not known who has removed a missing key; it then counts as removed by us."""
    if seat is not None and not seat.doubt:
        return (yield from _remove(Txn((Compare(seat.key, "create", seat.token),), (Delete(seat.key),))))
    key, fence, unsure = key_of(name, session.lease), session.fence, False
    while True:
        reply = yield Call(
            Txn(
                (Compare(session.key, "mod", fence),),
                (Delete(key), Put(session.key, session.value, session.lease)),
                (Get(session.key),),
            )
        )
        if isinstance(reply, Refused):
            _, (shown,), _ = yield from look_all(name, Get(session.key))
            if shown:
                raise Failed(reply.why)
            return False  # the lease is gone, and the key with it
        if isinstance(reply, Answer):
            done: TxnDone = reply.value
            if done.succeeded:
                return unsure or bool(getattr(done.replies[0], "removed", 0))
            shown = _found(done.replies[0])
            if not shown:
                return False
            fence = shown[0].mod
        else:
            unsure = True
            yield Wait(seconds=AGAIN)


def _remove(txn: Txn) -> Recipe[bool]:
    unsure = False
    while True:
        reply = yield Call(txn)
        if isinstance(reply, Answer):
            return unsure or bool(reply.value.succeeded)
        if isinstance(reply, Refused):
            raise Failed(reply.why)
        unsure = True
        yield Wait(seconds=AGAIN)


def _found(reply: object) -> tuple[Entry, ...]:
    assert isinstance(reply, Found), "a Get was asked for"
    return reply.entries
