"""More recipes with one mistake each, beside those of `vez.locks.models.recipes.wrong`: the checker must find them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.locks.models.recipes.breaking import EtcdBreak
from vez.locks.models.recipes.etcd_lock import EtcdLock
from vez.locks.models.recipes.observing import EtcdObserve
from vez.locks.models.recipes.others import EtcdOffice
from vez.locks.models.recipes.transferring import EtcdTransfer
from vez.locks.recipes.base import Answer, Call, Changed, Proved, Recipe, Removed, Unwatched, Wait
from vez.locks.recipes.etcd.breaking import Pace, break_by_force, record_prefix
from vez.locks.recipes.etcd.election import Mark, NoCandidate
from vez.locks.recipes.etcd.lock import Seat, enlist, key_of, leave, look, look_all
from vez.locks.recipes.etcd.operations import Compare, Delete, Get, KeepAlive, Put, Txn, Watch, prefix_end
from vez.locks.recipes.etcd.session import AGAIN, Session, broken_prefix
from vez.locks.recipes.etcd.shown import Shown, changed, encode, inside

Record = Callable[[tuple[int, ...]], str]


def answer(txn: Txn) -> Recipe[Any]:
    """Ask until there is an answer."""
    while True:
        reply = yield Call(txn)
        if isinstance(reply, Answer):
            return reply.value
        yield Wait(seconds=AGAIN)


# Locks


def _token_of_the_header(session: Session, name: str, value: str) -> Recipe[Seat]:
    """Takes the revision of the reply for its token, also when its key was there already."""
    key = key_of(name, session.lease)
    txn = Txn((Compare(key, "create", 0),), (Put(key, value, session.lease),), (Get(key),))
    done = yield from answer(txn)
    seat = Seat(key, done.revision, True)
    while True:
        entries = (yield from answer(Txn((), (Get(f"{name}/", prefix_end(f"{name}/"), "oldest first", 1),)))).replies[0]
        if not entries.entries or entries.entries[0].key == key:
            return seat
        yield Wait(Watch(entries.entries[0].key, done.revision + 1))


def _event_seen(session: Session, name: str, value: str) -> Recipe[Seat]:
    """Takes a watch that ended, because its history was compacted, for the event that it waits for."""
    seat, before = yield from enlist(session, name, value)
    while before is not None:
        if before[0] is not None:
            event = yield Wait(Watch(before[0].key, before[1] + 1))
            if isinstance(event, Changed | Unwatched):
                return seat
        before = yield from look(seat, name)
    return seat


def _leave_by_prefix(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    yield from answer(Txn((), (Delete(f"{name}/", prefix_end(f"{name}/")),)))
    return True


def _watch_the_first(session: Session, name: str, value: str) -> Recipe[Seat]:
    """Watches the oldest key, and takes the end of that key for its own turn."""
    seat, before = yield from enlist(session, name, value)
    while before is not None:
        done = yield from answer(Txn((), (Get(f"{name}/", prefix_end(f"{name}/"), "oldest first", 1),)))
        first = done.replies[0].entries[0]
        if first.key == seat.key or isinstance((yield Wait(Watch(first.key, done.revision + 1))), Changed):
            break
    return seat


def _new_key_after_doubt(session: Session, name: str, value: str) -> Recipe[Seat]:
    """Asks again under another key when its request had no reply."""
    number = 0
    while True:
        key = key_of(name, session.lease) + str(number)
        reply = yield Call(Txn((), (Put(key, value, session.lease), Get(key))))
        if isinstance(reply, Answer):
            seat = Seat(key, reply.value.replies[1].entries[0].create)
            break
        number += 1
    while (before := (yield from look(seat, name))) is not None:
        assert before[0] is not None
        yield Wait(Watch(before[0].key, before[1] + 1))
    return seat


def _leave_without_undoing(session: Session, name: str, value: str) -> Recipe[Seat]:
    """A waiter that gives up leaves without undoing its request."""
    seat, before = yield from enlist(session, name, value)
    while before is not None:
        if before[0] is not None:
            yield Wait(Watch(before[0].key, before[1] + 1))
        before = yield from look(seat, name)
    return seat


def _keep_whatever_it_hears(session: Session, seconds: int) -> Recipe[str]:
    """Takes a renewal of a lease that is gone for proof."""
    while True:
        reply = yield Call(KeepAlive(session.lease))
        if isinstance(reply, Answer):
            yield Proved(seconds)
        yield Wait(Watch(session.key, session.fence + 1), seconds / 3)


# Elections


def _campaign(session: Session, name: str, shown: Shown, *, by_mod: bool = False) -> Recipe[Seat]:
    """Stands without a look at weights, and notes that it leads without comparing its key."""
    seat, before = yield from enlist(session, name, encode(shown))
    while before is not None:
        done = yield from answer(Txn((), (Get(f"{name}/", prefix_end(f"{name}/"), "oldest first"),)))
        ahead = [one for one in done.replies[0].entries if (one.mod if by_mod else one.create) < seat.token]
        if not ahead:
            break
        yield Wait(Watch(ahead[-1].key, done.revision + 1))
    own = (Compare(seat.key, "create", seat.token),) if by_mod else ()
    yield from answer(Txn(own, (Put(seat.key, encode(changed(shown, inside=True)), session.lease),)))
    return seat


def _campaign_by_mod(session: Session, name: str, shown: Shown) -> Recipe[Seat]:
    return (yield from _campaign(session, name, shown, by_mod=True))


def _leave_by_label(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    """Removes the newest key with the same value as its own."""
    queue, _, _ = yield from look_all(name)
    same = next((one for one in reversed(queue) if one.shown is not None and not one.shown.label), None)
    if same is not None:
        yield from answer(Txn((), (Delete(same.entry.key),)))
    return True


# Forced releases


def _break(
    queue_name: str,
    kind: str,
    name: str,
    number: int,
    record: Record,
    *,
    compare: bool = True,
    noted: bool = True,
    patient: bool = True,
    told: bool = True,
) -> Recipe[tuple[int, ...]]:
    queue, _, _ = yield from look_all(queue_name)
    held = inside(kind, queue)
    tokens = tuple(one.entry.create for one in held)
    words = tuple(
        Put(f"{broken_prefix(one.entry.lease)}{number:x}", f"{queue_name}/ {one.entry.create} why", one.entry.lease)
        for one in held
    )
    if noted and held:
        note = Put(f"{record_prefix(kind, name)}{number:x}", record(tokens))
        yield from answer(Txn((), (note, *words) if told else (note,)))
    for one in held:
        own = (Compare(one.entry.key, "create", one.entry.create),) if compare else ()
        remove = Txn(own, (Delete(one.entry.key),))
        yield from answer(remove) if patient else _once(remove)
    return tokens


def _once(txn: Txn) -> Recipe[None]:
    yield Call(txn)


def _break_any_version(queue_name: str, kind: str, name: str, number: int, record: Record, *_: Any) -> Any:
    return _break(queue_name, kind, name, number, record, compare=False)


def _break_unrecorded(queue_name: str, kind: str, name: str, number: int, record: Record, *_: Any) -> Any:
    return _break(queue_name, kind, name, number, record, noted=False)


def _break_at_first_try(queue_name: str, kind: str, name: str, number: int, record: Record, *_: Any) -> Any:
    return _break(queue_name, kind, name, number, record, patient=False)


def _break_untold(queue_name: str, kind: str, name: str, number: int, record: Record, *_: Any) -> Any:
    return _break(queue_name, kind, name, number, record, told=False)


def _break_the_queue(
    queue_name: str, kind: str, name: str, number: int, record: Record, why: str, pace: Pace
) -> Recipe[tuple[int, ...]]:
    tokens = yield from break_by_force(queue_name, kind, name, number, record, why, pace)
    if tokens:
        yield from answer(Txn((), (Delete(f"{queue_name}/", prefix_end(f"{queue_name}/")),)))
    return tokens


def _leave_silently(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    """Reports that it has removed its key, whoever did."""
    yield from leave(session, name, seat)
    return True


# Observers


def _observe_late(name: str, last: Mark, first: bool) -> Recipe[tuple[Any, Mark]]:
    """The watch begins when it reaches the server."""
    while True:
        queue, _, _ = yield from look_all(name)
        leader = next(iter(inside("election", queue)), None)
        mark = None if leader is None else (leader.entry.key, leader.entry.create)
        if first or mark != last:
            return leader, mark
        yield Wait(Watch(f"{name}/", 0, prefix_end(f"{name}/")))


def _observe_the_leader(name: str, last: Mark, first: bool) -> Recipe[tuple[Any, Mark]]:
    """Watches only the key of the leader; without one, nothing."""
    while True:
        queue, _, revision = yield from look_all(name)
        leader = next(iter(inside("election", queue)), None)
        mark = None if leader is None else (leader.entry.key, leader.entry.create)
        if first or mark != last:
            return leader, mark
        yield Wait(Watch(f"{name}/none" if last is None else last[0], revision + 1))


def _observe_events(name: str, last: Mark, first: bool) -> Recipe[tuple[Any, Mark]]:
    """Believes events, from the beginning of history on: the owner of every written key leads."""
    while True:
        yield from look_all(name)
        event = yield Wait(Watch(f"{name}/", 1, prefix_end(f"{name}/")))
        for change in event.events if isinstance(event, Changed) else ():
            mark = None if change.entry is None else (change.key, change.entry.create)
            if mark != last:
                return change.entry, mark


# Transfers


def _transfer(
    name: str, seat: Seat, to: str, *, patient: bool = True, apart: bool = False, once: bool = False
) -> Recipe[int]:
    while True:
        queue, _, _ = yield from look_all(name)
        if all(one.entry.create != seat.token for one in queue):
            raise Removed("its key was removed")
        chosen = next((one for one in queue if one.shown is not None and one.shown.label == to), None)
        if chosen is None or chosen.shown is None:
            raise NoCandidate
        conditions = tuple(
            Compare(one.entry.key, "create", one.entry.create) for one in queue[: queue.index(chosen) + 1]
        )
        put = Put(chosen.entry.key, encode(changed(chosen.shown, inside=True)), chosen.entry.lease)
        if apart:
            yield from answer(Txn((), (Delete(seat.key),)))
            yield Call(Txn(conditions[1:], (put,)))
            raise NoCandidate
        before = tuple(Delete(one.entry.key) for one in queue[: queue.index(chosen)])
        reply = yield Call(Txn(conditions, (*before, put)))
        if (isinstance(reply, Answer) and reply.value.succeeded) or not patient:
            return chosen.entry.create
        if once and not isinstance(reply, Answer):
            raise NoCandidate


def _transfer_taken_for_done(session: Session, name: str, seat: Seat, to: str) -> Recipe[int]:
    return (yield from _transfer(name, seat, to, patient=False))


def _transfer_taken_for_not_done(session: Session, name: str, seat: Seat, to: str) -> Recipe[int]:
    return (yield from _transfer(name, seat, to, once=True))


def _transfer_unfenced(session: Session, name: str, seat: Seat, to: str) -> Recipe[int]:
    """A request for its own key that is still on its way writes the key again."""
    return (yield from _transfer(name, seat, to))


def _transfer_in_two_steps(session: Session, name: str, seat: Seat, to: str) -> Recipe[int]:
    return (yield from _transfer(name, seat, to, apart=True))


def wrong(model: type[Any], **recipes: Any) -> type[Any]:
    """A model whose recipes are replaced."""
    made: type[Any] = type("Wrong", (model,), {"__module__": __name__, "name": "recipe:wrong", **recipes})
    return made


WRONG: dict[str, type[Any]] = {
    "the revision of the reply is the token": wrong(EtcdLock, acquire_recipe=_token_of_the_header),
    "a watch that ended is an event": wrong(EtcdLock, acquire_recipe=_event_seen),
    "a release removes the whole queue": wrong(EtcdLock, leave_recipe=_leave_by_prefix),
    "everybody waits for the first": wrong(EtcdLock, acquire_recipe=_watch_the_first),
    "a request without a reply is made under another key": wrong(EtcdLock, acquire_recipe=_new_key_after_doubt),
    "a waiter that gives up undoes nothing": wrong(EtcdLock, acquire_recipe=_leave_without_undoing),
    "the order is that of mod revisions": wrong(EtcdOffice, acquire_recipe=_campaign_by_mod),
    "a leader notes it without comparing": wrong(EtcdObserve, acquire_recipe=_campaign),
    "a leader resigns by its label": wrong(EtcdOffice, leave_recipe=_leave_by_label),
    "a break removes any version": wrong(EtcdBreak, break_recipe=_break_any_version),
    "a break is not recorded": wrong(EtcdBreak, break_recipe=_break_unrecorded),
    "a break without a reply is done": wrong(EtcdBreak, break_recipe=_break_at_first_try),
    "a break removes the waiters too": wrong(EtcdBreak, break_recipe=_break_the_queue),
    "a broken holder does not say that its key is gone": wrong(EtcdBreak, leave_recipe=_leave_silently),
    "a broken leader is not told": wrong(EtcdObserve, break_recipe=_break_untold),
    "a renewal of a lease that is gone is a proof": wrong(EtcdObserve, keep_recipe=_keep_whatever_it_hears),
    "an observer watches from now on": wrong(EtcdObserve, observe_recipe=_observe_late),
    "an observer watches the leader alone": wrong(EtcdObserve, observe_recipe=_observe_the_leader),
    "an observer believes events": wrong(EtcdObserve, observe_recipe=_observe_events),
    "a transfer without a reply is done": wrong(EtcdTransfer, transfer_recipe=_transfer_taken_for_done),
    "a transfer without a reply is not done": wrong(EtcdTransfer, transfer_recipe=_transfer_taken_for_not_done),
    "a transfer fences nothing": wrong(EtcdTransfer, transfer_recipe=_transfer_unfenced),
    "a transfer has two steps": wrong(EtcdTransfer, transfer_recipe=_transfer_in_two_steps),
}
