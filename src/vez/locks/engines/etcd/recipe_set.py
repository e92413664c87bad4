"""The recipes of etcd as a `RecipeSet`, which the network engines run."""

from __future__ import annotations

import math
from collections.abc import Generator, Hashable
from typing import Any

import msgspec

from vez.errors import Misuse, article
from vez.locks.engines.base import Break, Contestant, Inspection, Kind, Leader, Request, Traits
from vez.locks.engines.etcd.address import Address
from vez.locks.engines.network.recipe_set import Granted, Me, Seen, Standing
from vez.locks.engines.wording import no_candidate, other_limit, stale_memo
from vez.locks.recipes import Answer, Call, Recipe, Wait
from vez.locks.recipes.etcd import breaking, election, lock, memo, semaphore, session
from vez.locks.recipes.etcd.operations import EVERYTHING, Entry, Get, Txn, prefix_end
from vez.locks.recipes.etcd.shown import FORMAT, Member, OtherKind, OtherLimit, Shown, encode, inside, member

SEMAPHORES = "vez/semaphores/"
OURS = "vez"
"""Prefix of the keys of vez itself. Names that begin with it are refused."""


class EtcdRecipeSet:
    """The recipes of etcd, for one cluster."""

    def __init__(self, address: Address, traits: Traits) -> None:
        self._address = address
        self.traits = traits

    @property
    def identity(self) -> Hashable:
        """Identifies the cluster and the namespace."""
        return "etcd", frozenset(self._address.endpoints), self._address.namespace

    def check(self, request: Request) -> None:
        """Raise `Misuse` for names that collide with the keys of vez itself."""
        if request.kind != "semaphore" and request.name.split("/")[0] == OURS:
            raise Misuse(f"the name {request.name!r} is not allowed on etcd", hint="keys below vez/ are those of vez")

    def lease_seconds(self, request: Request) -> float:
        """The lease in whole seconds. etcd extends leases that are too short, and reports it when the lease is
        created."""
        return self._address.lease_seconds if request.lease_ms is None else max(1, math.ceil(request.lease_ms / 1000))

    def key(self, request: Request) -> str:
        """The key prefix of a request. Locks and elections share it, as in the Go package of etcd."""
        return f"{_queue(request.name, request.kind)}/"

    # Sessions

    def open_session(self, number: int, seconds: float, me: Me) -> Recipe[Any]:
        """Open a session."""
        value = encode(Shown(FORMAT, "session", me.host, me.pid, since=me.at))
        return session.open_session(number, int(seconds), value)

    def keep(self, opened: Any, seconds: float) -> Recipe[str]:
        """Renew a session until it ends."""
        return session.keep(opened, int(seconds))

    def close_session(self, opened: Any) -> Recipe[None]:
        """End a session."""
        return session.close_session(opened)

    def unopened(self, number: int) -> Any:
        """A session that may or may not have been opened."""
        return session.Session(number, 0)

    # Turns

    def acquire(self, opened: Any, request: Request, me: Me, *, wait: bool) -> Recipe[Granted | None]:
        """Wait until granted."""
        shown = Shown(
            FORMAT, request.kind, me.host, me.pid, request.label, me.at, request.shared, request.limit, request.weight,
            request.grace_ms, stay=me.stay, lease=int(self.lease_seconds(request)),
        )  # fmt: skip
        name = _queue(request.name, request.kind)
        try:
            if request.kind == "semaphore":
                seat = yield from semaphore.acquire_permit(opened, name, shown, wait=wait)
            elif request.kind == "election":
                seat = yield from election.campaign(opened, name, shown, wait=wait)
            else:
                seat = yield from lock.acquire(opened, name, encode(shown), wait=wait, shared=request.shared)
        except OtherLimit as error:
            raise other_limit(request, error.args[0]) from None
        except OtherKind as error:
            raise Misuse(
                f"{request.name!r} is in use as {article(error.args[0])}, asked for as {article(request.kind)}",
                hint="on etcd a lock and an election of one name would share their keys: use two names",
            ) from None
        return None if seat is None else Granted(seat.token, seat)

    def leave(self, opened: Any, request: Request, granted: Granted | None) -> Recipe[str | None]:
        """Release. If the key is gone, the record of a forced release gives the reason."""
        seat = None if granted is None else granted.seat
        there = yield from lock.leave(opened, _queue(request.name, request.kind), seat)
        if there or granted is None:
            return None
        seen = yield from self.inspect(request.name, request.kind)
        return next((done.reason for done in seen.breaks if granted.token in done.tokens), "")

    def transfer(self, opened: Any, request: Request, granted: Granted, to: str, me: Me) -> Recipe[int]:
        """Make the candidate with this label leader."""
        try:
            return (yield from election.transfer(opened, request.name, granted.seat, to))
        except election.NoCandidate as error:
            raise no_candidate(request, to, error.args) from None
        except election.StrangerBetween:
            raise Misuse(
                f"{request.name!r} cannot be transferred to {to!r}: a candidate that is not of vez stands before it",
                hint="resign instead, and the next in line leads",
            ) from None

    # Looking

    def place(self, opened: Any, request: Request) -> Recipe[Standing | None]:
        """The position of a waiting request; None if it does not wait."""
        name = _queue(request.name, request.kind)
        queue, _, _ = yield from lock.look_all(name)
        holders = inside(request.kind, queue)
        waiting = [one for one in _in_order(request.kind, queue) if one not in holders]
        mine = lock.key_of(name, opened.lease)
        position = next((at for at, one in enumerate(waiting) if one.entry.key == mine), None)
        if position is None:
            return None
        first = _contestant(holders[0]) if holders else None
        return Standing(position + len(holders), first, _mean_stay(queue))

    def inspect(self, name: str, kind: Kind) -> Recipe[Inspection]:
        """Holders, queue and forced releases of a name."""
        records = breaking.record_prefix(kind, name)
        queue, (found,), _ = yield from lock.look_all(
            _queue(name, kind), Get(records, prefix_end(records), "oldest first")
        )
        queue = tuple(one for one in queue if one.shown is None or one.shown.kind == kind)
        breaks = tuple(done for done in map(_break, lock.members(records[:-1], found)) if done is not None)
        holders = inside(kind, queue)
        first = queue[0].shown if queue else None
        tokens = [one.entry.create for one in queue] + [token for done in breaks for token in done.tokens]
        return Inspection(
            name, kind, first.limit if first is not None else 1, tuple(map(_contestant, holders)),
            tuple(_contestant(one) for one in _in_order(kind, queue) if one not in holders), max(tokens, default=0),
            _mean_stay(queue), self._lease_of(holders), breaks,
        )  # fmt: skip

    def _lease_of(self, holders: tuple[Member, ...]) -> float:
        """The longest lease of the holders: the time for which the name can stay held. Our own lease, if no holder
        states one."""
        said = [one.shown.lease for one in holders if one.shown is not None and one.shown.lease > 0]
        return float(max(said, default=self._address.lease_seconds))

    def names(self, prefix: str, kind: Kind) -> Recipe[list[str]]:
        """All names that begin with the prefix and are in use, or have a memo or a record of a forced release."""
        if not _encodable(prefix):
            return []
        used = yield from _in_use(prefix, kind)
        records = breaking.record_prefix(kind, prefix)[:-1]
        entries = yield from _range(records)
        kept = {entry.key[len(records) - len(prefix) :].rpartition("/")[0] for entry in entries}
        noted = yield from _range(f"{memo.MEMOS}{kind}/{prefix}")
        return sorted(used | kept | {entry.key[len(memo.MEMOS) + len(kind) + 1 :] for entry in noted})

    def prune(self, prefix: str) -> Recipe[int]:
        """Remove the records of forced releases of idle names."""
        if not _encodable(prefix):
            return 0
        busy = frozenset[str]()
        kinds: tuple[Kind, ...] = ("lock", "election", "semaphore")
        for kind in kinds:
            used = yield from _in_use(prefix, kind)
            busy |= {f"{kind} {name}" for name in used}
        return (yield from breaking.forget_records(prefix, busy))

    def memo(self, name: str, kind: Kind) -> Recipe[str | None]:
        """The memo of a name, or None."""
        found = yield from memo.read(kind, name)
        return None if found is None else found.text

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind) -> Recipe[None]:
        """Replace the memo of a name; None removes it. Raises `StaleToken` if it was written with a higher token."""
        newest = yield from memo.write(kind, name, token, text)
        if newest is not None:
            raise stale_memo(name, token, newest)

    def break_lock(self, name: str, reason: str, kind: Kind, me: Me) -> Recipe[Break | None]:
        """Release by force, and record the reason. None if nobody holds it."""

        def record(tokens: tuple[int, ...]) -> str:
            return msgspec.json.encode(Break(name, tokens, reason, me.at, me.pid, me.host, kind)).decode()

        tokens = yield from breaking.break_by_force(_queue(name, kind), kind, name, me.number, record, reason)
        return Break(name, tokens, reason, me.at, me.pid, me.host, kind) if tokens else None

    def observe(self, name: str, seen: Seen | None) -> Recipe[Seen]:
        """The present leader, or after `seen` the next change."""
        leader, mark = yield from election.observe(name, None if seen is None else seen.mark, first=seen is None)
        return Seen(None if leader is None else _leader(leader), mark)


def _queue(name: str, kind: str) -> str:
    return SEMAPHORES + name if kind == "semaphore" else name


def _in_order(kind: str, queue: tuple[Member, ...]) -> tuple[Member, ...]:
    if kind != "election":
        return queue
    return tuple(sorted(queue, key=lambda one: (-(one.shown.weight if one.shown else 0), one.arrived)))


def _mean_stay(queue: tuple[Member, ...]) -> float | None:
    """The mean stay, from the values that the clients in the queue have published; None if none has."""
    seen = [one.shown.stay for one in queue if one.shown is not None and one.shown.stay > 0]
    return sum(seen) / len(seen) if seen else None


def _contestant(one: Member) -> Contestant:
    shown = one.shown or Shown(label="not of vez")
    return Contestant(one.entry.create, shown.pid, shown.host, shown.since, shown.shared, shown.label, shown.weight)


def _leader(one: Member) -> Leader:
    shown = one.shown or Shown(label=one.entry.value)
    return Leader(one.entry.create, shown.pid, shown.host, shown.label, shown.since)


def _break(entry: Entry) -> Break | None:
    try:
        return msgspec.json.decode(entry.value, type=Break)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_turn(entry: Entry, kind: Kind) -> bool:
    """True for a key that is a request of this kind. Keys of other programs are recognised by the
    last part of their name, which is their lease."""
    name, _, last = entry.key.rpartition("/")
    if not entry.lease or last != f"{entry.lease:x}" or (kind != "semaphore" and name.split("/")[0] == OURS):
        return False
    shown = member(entry).shown
    return shown is None or shown.kind == kind


def _in_use(prefix: str, kind: Kind) -> Generator[Any, Any, frozenset[str]]:
    """All names that begin with the prefix and that somebody holds or waits for."""
    start = SEMAPHORES if kind == "semaphore" else ""
    entries = yield from _range(start + prefix)
    return frozenset(entry.key[len(start) :].rpartition("/")[0] for entry in entries if _is_turn(entry, kind))


def _encodable(prefix: str) -> bool:
    """False if the prefix contains a surrogate: no name begins with one."""
    return not any("\ud800" <= character <= "\udfff" for character in prefix)


def _range(prefix: str) -> Generator[Any, Any, tuple[Entry, ...]]:
    """All keys with a prefix."""
    wanted = Get(prefix, prefix_end(prefix)) if prefix else Get("", EVERYTHING)
    while True:
        reply = yield Call(Txn((), (wanted,)))
        if isinstance(reply, Answer):
            found: tuple[Entry, ...] = reply.value.replies[0].entries
            return found
        yield Wait(seconds=session.AGAIN)
