"""The semaphore: the oldest `limit` keys hold.

The first waiter watches all keys, since any holder may leave. Every other waiter watches only the key just before its
own. A waiter that is granted writes its own key again, so that the waiter behind it looks. So a release wakes two.
"""

from __future__ import annotations

from vez.locks.recipes.base import Answer, Call, Changed, Recipe, Refused, Removed, Wait, Withdrawn
from vez.locks.recipes.etcd.lock import LOOK_AGAIN, Seat, enlist, leave, members, seen
from vez.locks.recipes.etcd.operations import Compare, Entry, Put, Txn, Watch, prefix_end
from vez.locks.recipes.etcd.session import AGAIN, Session
from vez.locks.recipes.etcd.shown import OtherKind, OtherLimit, Shown, changed, encode, fits


def acquire_permit(session: Session, name: str, shown: Shown, *, wait: bool = True) -> Recipe[Seat | None]:
    """Take a place in the queue and wait until fewer than `limit` requests are before it."""
    seat: Seat | None = None
    waited = False
    try:
        seat, before = yield from enlist(session, name, encode(shown))
        while before is not None:
            ahead, revision = yield from _ahead(seat, name)
            try:
                fits(ahead[-1] if ahead else None, "semaphore", shown.limit)
            except (OtherKind, OtherLimit):
                yield from leave(session, name, seat)
                raise
            if len(ahead) < shown.limit:
                break
            if not wait:
                yield from leave(session, name, seat)
                return None
            waited = True
            if len(ahead) == shown.limit:
                yield from _until_one_leaves(name, ahead, revision)
            else:
                yield Wait(Watch(ahead[-1].key, revision + 1), LOOK_AGAIN)
        if waited:
            yield from _note(session, seat, shown)
        return seat
    except Withdrawn:
        yield from leave(session, name, seat)
        raise


def _ahead(seat: Seat, name: str) -> Recipe[tuple[tuple[Entry, ...], int]]:
    """The keys before ours, oldest first, and the revision at which they were seen."""
    entries, revision = yield from seen(seat, name, "oldest first")
    return members(name, entries), revision


def _until_one_leaves(name: str, ahead: tuple[Entry, ...], revision: int) -> Recipe[None]:
    """Wait until one of the keys before ours is removed; arrivals behind us also show in this watch."""
    prefix, keys, start = f"{name}/", frozenset(entry.key for entry in ahead), revision + 1
    while True:
        event = yield Wait(Watch(prefix, start, prefix_end(prefix)), LOOK_AGAIN)
        if not isinstance(event, Changed):
            return
        for change in event.events:
            if change.entry is None and change.key in keys:
                return
            start = max(start, change.revision + 1)


def _note(session: Session, seat: Seat, shown: Shown) -> Recipe[None]:
    """Write our key again, so that the waiter behind us looks."""
    value = encode(changed(shown, inside=True))
    note = Txn((Compare(seat.key, "create", seat.token),), (Put(seat.key, value, session.lease),))
    while True:
        reply = yield Call(note)
        if isinstance(reply, Answer) and reply.value.succeeded:
            return
        if isinstance(reply, Answer | Refused):
            raise Removed("its key was removed")
        yield Wait(seconds=AGAIN)
