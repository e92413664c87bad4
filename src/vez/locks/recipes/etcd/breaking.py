"""Forced releases: record the release, tell the holders, then remove their keys."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vez.locks.recipes.base import Answer, Call, Failed, Recipe, Refused, Wait
from vez.locks.recipes.etcd.lock import look_all
from vez.locks.recipes.etcd.operations import Compare, Delete, Entry, Get, Put, Txn, prefix_end
from vez.locks.recipes.etcd.session import AGAIN, broken_prefix
from vez.locks.recipes.etcd.shown import Member, inside

BREAKS = "vez/breaks/"
REMEMBERED = 16
"""Number of forced releases of a name that are kept; older ones are removed."""
SLICE = 0.02
"""Seconds between two reads while a forced release waits for a holder to leave."""
HEAR = 1.0
"""Seconds that a holder without grace has to learn of its loss. A holder that has not learned of it by then is
suspended or disconnected, and its token is refused."""
AT_ONCE = 30
"""Largest number of holders in one transaction; etcd takes at most 128 operations."""


def record_prefix(kind: str, name: str) -> str:
    """Prefix of the keys of a name's records."""
    return f"{BREAKS}{kind}/{name}/"


class Pace(msgspec.Struct, frozen=True):
    """The pace of a forced release. The checker uses fewer looks, and fewer holders in one transaction."""

    slice_seconds: float = SLICE
    at_once: int = AT_ONCE


USUAL = Pace()


def break_by_force(
    queue_name: str,
    kind: str,
    name: str,
    number: int,
    record: Callable[[tuple[int, ...]], str],
    why: str,
    pace: Pace = USUAL,
) -> Recipe[tuple[int, ...]]:
    """Take a name from all its holders. Returns their tokens; empty if nobody holds it. `number` makes the key of the
    record unique."""
    records = record_prefix(kind, name)
    tried: tuple[Member, ...] = ()
    while True:
        queue, (old,), _ = yield from look_all(queue_name, Get(records, prefix_end(records), "oldest first"))
        held = inside(kind, queue)
        if tried and any(entry.key == f"{records}{number:x}" for entry in old):
            held = tried  # the reply was lost, but the transaction took effect
            break
        if not held:
            return ()
        note: tuple[Put | Delete, ...] = (Put(f"{records}{number:x}", record(_tokens(held))), *_forget(old))
        tried, first = held, held[: pace.at_once]
        words = tuple(word for one in first for word in _word(queue_name, one, number, why))
        if (yield from _until_done(Txn(_unchanged(first), (*note, *words)))):
            break
    for one in held[pace.at_once :]:  # one by one: if one has left in the meantime, the others are still told
        if word := _word(queue_name, one, number, why):
            yield from _until_done(Txn(_unchanged((one,)), word))
    yield from _give_time(queue_name, held, number, pace)
    for one in held:
        yield from _until_done(Txn(_unchanged((one,)), (Delete(one.entry.key),)))
    return _tokens(held)


def _tokens(held: tuple[Member, ...]) -> tuple[int, ...]:
    return tuple(one.entry.create for one in held)


def _forget(old: tuple[Entry, ...]) -> tuple[Delete, ...]:
    return tuple(Delete(entry.key) for entry in old[: max(0, len(old) - REMEMBERED + 1)][:AT_ONCE])


def _unchanged(held: tuple[Member, ...]) -> tuple[Compare, ...]:
    """Conditions: each of these holders still has the key that we saw."""
    return tuple(Compare(one.entry.key, "create", one.entry.create) for one in held)


def _word(queue_name: str, one: Member, number: int, why: str) -> tuple[Put, ...]:
    """The key that tells a client of vez that its holding was released by force; empty for clients of other programs.
    The key is removed with the holder's lease."""
    if one.shown is None or not one.entry.lease:
        return ()
    value = f"{queue_name}/ {one.entry.create} {why}"
    return (Put(f"{broken_prefix(one.entry.lease)}{number:x}", value, one.entry.lease),)


def _until_done(txn: Txn) -> Recipe[bool]:
    """Execute a transaction, and repeat it after a lost reply. True if the conditions held. Only for transactions that
    may be repeated."""
    while True:
        reply = yield Call(txn)
        if isinstance(reply, Answer):
            return bool(reply.value.succeeded)
        if isinstance(reply, Refused):  # the lease of a holder is gone
            return False
        yield Wait(seconds=AGAIN)


def _give_time(queue_name: str, held: tuple[Member, ...], number: int, pace: Pace) -> Recipe[None]:
    """Wait until the holders have left, at most for the longest grace among them and at least for `HEAR`.
    Without a grace, stop as soon as all have learned of it."""
    ours = [one for one in held if one.shown is not None and one.entry.lease]
    if not ours:
        return
    grace = max(one.shown.grace_ms for one in ours if one.shown is not None) / 1000
    words = tuple(Get(f"{broken_prefix(one.entry.lease)}{number:x}") for one in ours[: pace.at_once])
    creates = frozenset(one.entry.create for one in held)
    for _ in range(round(max(grace, HEAR) / pace.slice_seconds)):
        queue, unheard, _ = yield from look_all(queue_name, *words)
        if not any(one.entry.create in creates for one in queue):
            return
        if not grace and not any(unheard):
            return
        yield Wait(seconds=pace.slice_seconds)


def forget_records(name_prefix: str, busy: frozenset[str]) -> Recipe[int]:
    """Remove the records of idle names. Returns the number of names. `busy` are the queues in use."""
    reply = yield Call(Txn((), (Get(BREAKS, prefix_end(BREAKS)),)))
    if not isinstance(reply, Answer):
        raise Failed(reply.why)
    idle = tuple(
        (f"{kind} {name}", entry.key)
        for entry in reply.value.replies[0].entries
        for kind, _, rest in (entry.key[len(BREAKS) :].partition("/"),)
        for name, _, _ in (rest.rpartition("/"),)
        if name.startswith(name_prefix) and f"{kind} {name}" not in busy
    )
    for start in range(0, len(idle), AT_ONCE):
        yield from _until_done(Txn((), tuple(Delete(key) for _, key in idle[start : start + AT_ONCE])))
    return len({name for name, _ in idle})
