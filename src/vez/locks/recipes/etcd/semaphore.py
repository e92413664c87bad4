"""The semaphore: the oldest `limit` keys hold.

The first waiter watches all keys, since any holder may leave. Every other waiter watches only the key just before its
own. A client that is granted while there are requests behind it writes its own key again, so that the waiter just
behind it looks: it may have taken this client for a waiter. So a release wakes two.
"""

from __future__ import annotations

from vez.locks.recipes.base import Answer, Call, Changed, Recipe, Refused, Removed, Wait, Withdrawn
from vez.locks.recipes.etcd.lock import LOOK_AGAIN, Seat, enlist, leave, look_all
from vez.locks.recipes.etcd.operations import Compare, Put, Txn, Watch, prefix_end
from vez.locks.recipes.etcd.session import AGAIN, Session
from vez.locks.recipes.etcd.shown import Member, OtherKind, OtherLimit, Shown, changed, encode, fits


def acquire_permit(session: Session, name: str, shown: Shown, *, wait: bool = True) -> Recipe[Seat | None]:
    """Take a place in the queue and wait until fewer than `limit` requests are before it."""
    seat: Seat | None = None
    try:
        seat, before = yield from enlist(session, name, encode(shown))
        while before is not None:
            queue, _, revision = yield from look_all(name)
            place = _place(seat, queue)
            ahead, behind = queue[:place], queue[place + 1 :]
            try:
                fits(ahead[-1].entry if ahead else None, "semaphore", shown.limit)
            except (OtherKind, OtherLimit):
                yield from leave(session, name, seat)
                raise
            if len(ahead) < shown.limit:
                if behind:
                    yield from _note(session, seat, shown)
                break
            if not wait:
                yield from leave(session, name, seat)
                return None
            if len(ahead) == shown.limit:
                yield from _until_one_leaves(name, ahead, revision)
            else:
                yield Wait(Watch(ahead[-1].entry.key, revision + 1), LOOK_AGAIN)
        return seat
    except Withdrawn:
        yield from leave(session, name, seat)
        raise


def _place(seat: Seat, queue: tuple[Member, ...]) -> int:
    """The number of requests before ours. Raises `Removed` if our own key is gone."""
    for place, one in enumerate(queue):
        if one.entry.create == seat.token:
            return place
    raise Removed("its key was removed")


def _until_one_leaves(name: str, ahead: tuple[Member, ...], revision: int) -> Recipe[None]:
    """Wait until one of the keys before ours is removed; arrivals behind us also show in this watch."""
    prefix, keys, start = f"{name}/", frozenset(one.entry.key for one in ahead), revision + 1
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
