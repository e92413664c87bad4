"""Recipes with one plausible mistake each. The checker must find every one; `recipe:etcd-lock` has none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.core.assumptions import Property
from vez.core.io import Io
from vez.locks.models.recipes.client import KEEPER
from vez.locks.models.recipes.etcd_lock import EtcdLock
from vez.locks.recipes.base import Answer, Call, Recipe, Wait, Withdrawn
from vez.locks.recipes.etcd.lock import Before, Seat, enlist, key_of, leave, look
from vez.locks.recipes.etcd.operations import Delete, Get, KeepAlive, LeaseGrant, Txn, TxnDone, Watch, prefix_end
from vez.locks.recipes.etcd.session import AGAIN, Session

Look = Callable[[Seat, str], Recipe[Before]]
Leave = Callable[[Session, str, Seat | None], Recipe[bool]]


def _acquire(session: Session, name: str, look: Look, leave: Leave, *, late: bool = False) -> Recipe[Seat]:
    """The steps of the correct recipe, with parts that may be wrong."""
    seat: Seat | None = None
    try:
        seat, before = yield from enlist(session, name, "")
        while before is not None:
            if before[0] is not None:
                yield Wait(Watch(before[0].key, 0 if late else before[1] + 1))
            before = yield from look(seat, name)
        return seat
    except Withdrawn:
        yield from leave(session, name, seat)
        raise


def _answer(txn: Txn) -> Recipe[TxnDone]:
    """Repeat the call until there is an answer."""
    while True:
        reply = yield Call(txn)
        if isinstance(reply, Answer):
            done: TxnDone = reply.value
            return done
        yield Wait(seconds=AGAIN)


def _found(done: TxnDone) -> Before:
    entries: tuple[Any, ...] = getattr(done.replies[0], "entries", ())
    return (entries[0], done.revision, 0.0) if entries else None


def _before(name: str, seat: Seat) -> Txn:
    """Read the keys before ours, without reading our own key."""
    return Txn((), (Get(f"{name}/", prefix_end(f"{name}/"), "newest first", 1, seat.token),))


def _leave_by_name(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    done = yield from _answer(Txn((), (Get(f"{name}/", prefix_end(f"{name}/"), "oldest first", 1),)))
    held = _found(done)
    if held is not None and held[0] is not None:
        yield from _answer(Txn((), (Delete(held[0].key),)))
    return True


class ByName(EtcdLock):
    """Release removes the key that holds the name, whoever wrote it."""

    name = "recipe:etcd-lock-by-name"
    wrong = "a release frees the name and not its own key: after an expiry or a lost reply it is somebody else's"
    found_with = "--set expiries=1"
    leave_recipe = _leave_by_name


def _remove_any(session: Session, name: str) -> Recipe[bool]:
    yield from _answer(Txn((), (Delete(key_of(name, session.lease)),)))
    return True


def _leave_any_version(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    doubtful = seat is None or seat.doubt
    return (yield from leave(session, name, seat)) if doubtful else (yield from _remove_any(session, name))


class AnyVersion(EtcdLock):
    """Release removes the own key without comparing its create revision."""

    name = "recipe:etcd-lock-any-version"
    wrong = "a removal that comes late takes away the key of the session's next turn"
    found_with = "--requests 2 --set doubts=1 --first"
    guarantees = (*EtcdLock.guarantees, Property.EXCLUSION)  # as long as no lease ends, the right recipe keeps it
    leave_recipe = _leave_any_version


def _leave_at_first_try(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    yield Call(Txn((), (Delete(key_of(name, session.lease)),)))
    return True


class TakenForDone(EtcdLock):
    """A release without a reply is taken for done."""

    name = "recipe:etcd-lock-taken-for-done"
    wrong = "a removal without a reply may never have arrived: the key stays"
    found_with = "--set doubts=1"
    leave_recipe = _leave_at_first_try


def _leave_a_seat(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    return (yield from leave(session, name, seat)) if seat is not None else False


def _acquire_taken_for_not_done(session: Session, name: str, value: str) -> Recipe[Seat]:
    return (yield from _acquire(session, name, look, _leave_a_seat))


class TakenForNotDone(EtcdLock):
    """A waiter that gives up before the reply to its request takes the request for not done."""

    name = "recipe:etcd-lock-taken-for-not-done"
    wrong = "a request without a reply may have taken effect: its key stays"
    found_with = "--withdrawals 1"
    acquire_recipe = _acquire_taken_for_not_done


def _guess(seat: Seat, name: str) -> Recipe[Before]:
    reply = yield Call(_before(name, seat))
    return _found(reply.value) if isinstance(reply, Answer) else None


def _acquire_taken_for_granted(session: Session, name: str, value: str) -> Recipe[Seat]:
    return (yield from _acquire(session, name, _guess, leave))


class TakenForGranted(EtcdLock):
    """A look without a reply is taken for one that found nobody."""

    name = "recipe:etcd-lock-taken-for-granted"
    wrong = "no reply says nothing about who is before us"
    found_with = "--set doubts=1"
    acquire_recipe = _acquire_taken_for_granted


def _acquire_watching_late(session: Session, name: str, value: str) -> Recipe[Seat]:
    return (yield from _acquire(session, name, look, leave, late=True))


class LateWatch(EtcdLock):
    """The watch begins when it reaches the server, not at the revision of the look."""

    name = "recipe:etcd-lock-late-watch"
    wrong = "what happens between the look and the watch is told to nobody: the waiter waits for ever"
    acquire_recipe = _acquire_watching_late


def _look_before(seat: Seat, name: str) -> Recipe[Before]:
    done = yield from _answer(_before(name, seat))
    return _found(done)


def _acquire_without_recheck(session: Session, name: str, value: str) -> Recipe[Seat]:
    return (yield from _acquire(session, name, _look_before, leave))


class NoRecheck(EtcdLock):
    """A waiter looks who is before it, and not whether its own key is still there."""

    name = "recipe:etcd-lock-no-recheck"
    wrong = "the lease may have ended during the wait: nobody is before a key that is gone, and it holds nothing"
    found_with = "--set expiries=1"
    acquire_recipe = _acquire_without_recheck


def _leave_unfenced(session: Session, name: str, seat: Seat | None) -> Recipe[bool]:
    if seat is not None:
        return (yield from leave(session, name, seat))
    return (yield from _remove_any(session, name))


def _acquire_unfenced(session: Session, name: str, value: str) -> Recipe[Seat]:
    return (yield from _acquire(session, name, look, _leave_unfenced))


class NoFence(EtcdLock):
    """A waiter that gives up removes its key, and does not change the fence of its session."""

    name = "recipe:etcd-lock-no-fence"
    wrong = "the request for the key may still be under way: it arrives after the removal, and the key stays"
    found_with = "--withdrawals 1"
    acquire_recipe = _acquire_unfenced


def _keep_for_ever(session: Session, seconds: int) -> Recipe[str]:
    while True:
        reply = yield Call(KeepAlive(session.lease))
        if isinstance(reply, Answer) and not reply.value.seconds:
            yield Call(LeaseGrant(session.lease, seconds))
        yield Wait(Watch(session.key, session.fence + 1), seconds / 3)


class OutlivingRenewer(EtcdLock):
    """The renewal goes on when the session was closed, and makes the lease anew."""

    name = "recipe:etcd-lock-outliving-renewer"
    wrong = "nobody stops the renewal at the release, and it takes the end of the lease for an accident"
    found_with = "--set keeps=true --set pooled=false"
    keep_recipe = _keep_for_ever

    def _stop(self, lane: int, io: Io) -> None:
        if lane != KEEPER:
            super()._stop(lane, io)


WRONG = (
    ByName, AnyVersion, TakenForDone, TakenForNotDone, TakenForGranted, LateWatch, NoRecheck, NoFence, OutlivingRenewer
)  # fmt: skip
