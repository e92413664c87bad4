"""The server of the model: a process that answers requests, tells watches, ends leases, and checks what clients leave.

Leases of live clients end `expiries` times, at any moment. The lease of a crashed client ends some time after the
crash. The failure detector takes the place of the server's clock, so this always happens.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from vez.core.io import Io
from vez.core.message import Message
from vez.core.process import Parameter, Process
from vez.errors import ProtocolBug
from vez.locks.models.recipes.labels import asked, replied
from vez.locks.models.recipes.rules import entitled, holders, is_better
from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import Answer, Changed, Refused
from vez.locks.recipes.etcd.operations import Delete, LeaseGrant, Put, Request, Txn, Watch
from vez.locks.recipes.etcd.session import SESSIONS
from vez.locks.recipes.etcd.shown import FORMAT, Member, Shown, decode, encode

SESSIONS_OF_A_CLIENT = 16
"""Lease numbers for each client: leases of process 2 have the numbers 32, 33 … The client chooses the number, so asking
twice makes one lease."""


class Ask(Message):
    """A client's request or watch."""

    request: Request | Watch
    lane: int
    """The client's recipe that asks; the reply goes to it."""
    number: int
    """Requests of that recipe that were given up before this one; a reply with a smaller number comes too late."""
    turn: int
    """The turn of the client to which the request belongs."""

    def in_words(self) -> str:
        return asked(self.request)


class Told(Message):
    """The reply to an `Ask`, or the events of a watch."""

    reply: Answer | Refused | Changed
    lane: int
    number: int
    first: int = 0
    """Not part of etcd: the create revision of the client's key if it was the first of its name, to judge entries."""

    def in_words(self) -> str:
        return replied(self.reply)


class Left(Message):
    """Not part of etcd: the client says that its turn is over, so that the model can check for keys left behind."""

    turn: int
    token: int = 0
    """Token of the grant that has ended; 0 if it was not granted."""
    knows: bool = False
    """True if the client knows that it had lost it."""


class Reborn(Message):
    """Not part of etcd: a client came back after a crash. Nobody renews the leases that it had."""

    lease: int
    """The first lease that the client may still use."""


class Following(msgspec.Struct, frozen=True, order=True):
    """A running watch. It ends with its first event, because recipes look again after each event."""

    client: int
    lane: int
    number: int
    watch: Watch


class Server(Process):
    """The part of a process that only the server uses."""

    abstraction = (
        "process 1 is the server; revisions are counted for each name and each session, removals not (--set exact=true "
        "for one counter); a wait that is told nothing may end at once or never; one event ends a watch"
    )
    numbers: ClassVar[int] = 1 << 20
    """Requests are numbered modulo this, which is many more than are under way at once."""
    kind: ClassVar[str] = "lock"
    """The kind of the name (lock, semaphore, election), which decides who holds it."""
    history: ClassVar[bool] = False
    """True if recipes watch ranges of keys: removals are then counted and remembered."""
    lets_pass: ClassVar[bool] = False
    """True if a client may remove the keys of waiters, for a better one or to hand over."""

    exact: Parameter[bool] = False
    """True if revisions are those of etcd, one counter for all keys. Otherwise each name and session has its own."""
    expiries: Parameter[int] = 0
    """Number of times that a lease of a live client ends."""
    others: Parameter[tuple[str, ...]] = ()
    """Keys below the name that are there from the start. Each is removed at some time."""
    store: Store = Store()
    follows: tuple[Following, ...] = ()
    expired: int = 0
    suspected: tuple[int, ...] = ()
    deferred: tuple[tuple[int, Ask], ...] = ()
    """Requests for leases by clients that are suspected to be dead; granted if the client turns out to be alive."""
    newest: tuple[tuple[int, int], ...] = ()
    """The lease that each client uses. Older leases, which nobody renews, end at some time."""
    turns: tuple[tuple[int, int], ...] = ()
    """The latest turn of each client that has reached the server."""
    over: tuple[tuple[int, int], ...] = ()
    """The latest turn of each client that is over."""
    taken: tuple[int, ...] = ()
    """Tokens that were broken by force, where that can happen."""

    def on_start(self, io: Io) -> None:
        if io.me == io.hub:
            self.store = Store(exact=self.exact, history=self.history or self.exact)
            for key in self.others:
                self.store, _ = self.store.execute(Txn((), (Put(key, self._value_of_others()),)))
            if self.others:
                io.set_timer("other", 1)
            if self.expiries:
                io.set_timer("expiry", 1)

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if sender in self.suspected and isinstance(message.request, LeaseGrant):
            self.deferred = (*self.deferred, (sender, message))
            return
        self.turns = _raised(self.turns, sender, message.turn)
        if isinstance(message.request, Watch):
            self._follow(Following(sender, message.lane, message.number, message.request), io)
            return
        before, (after, reply) = self.store, self.store.execute(message.request)
        io.send(sender, Told(reply, message.lane, message.number, self._holds(before, after, sender)))
        self._refuse_removals(before, after, sender)
        self._refuse_to_make_way(before, after, message.request, sender)
        self._become(after, io)
        if isinstance(message.request, LeaseGrant):
            self._renews_only(sender, message.request.lease, io)

    def on_left(self, message: Left, sender: int, io: Io) -> None:
        self.over = _raised(self.over, sender, message.turn)
        if message.token in self.taken and not message.knows:
            raise ProtocolBug(f"untold: process {sender} has left and does not know that its turn was broken")
        self._refuse_orphans()

    def on_reborn(self, message: Reborn, sender: int, io: Io) -> None:
        self._renews_only(sender, message.lease, io)

    def on_timer_stale(self, io: Io) -> None:
        for lease in self._stale():
            self._become(self.store.without(lease), io)

    def on_timer_expiry(self, io: Io) -> None:
        lease = io.choose((None, *(lease for lease, _ in self.store.leases)))
        if lease is not None:
            self.expired += 1
            self._become(self.store.without(lease), io)
        if self.expired < self.expiries:
            io.set_timer("expiry", 1)

    def on_timer_other(self, io: Io) -> None:
        there = tuple(key for key in self.others if self.store.get(key) is not None)
        if there:
            self._become(self.store.execute(Txn((), (Delete(io.choose(there)),)))[0], io)
        if len(there) > 1:
            io.set_timer("other", 1)

    def on_suspect(self, peer: int, io: Io) -> None:
        if io.me != io.hub:
            return
        self.suspected = tuple(sorted((*self.suspected, peer)))
        for lease, _ in self.store.leases:
            if client_of(lease) == peer:
                self._become(self.store.without(lease), io)

    def on_trust(self, peer: int, io: Io) -> None:
        if io.me != io.hub:
            return
        self.suspected = tuple(one for one in self.suspected if one != peer)
        waiting = self.deferred
        self.deferred = tuple(one for one in waiting if one[0] != peer)
        for client, ask in waiting:
            if client == peer:
                self.on_ask(ask, client, io)

    def _value_of_others(self) -> str:
        """The value of the keys that are there from the start: that of a holder of the same semaphore; for other kinds
        that of another program, which has no semaphores like ours."""
        return encode(Shown(FORMAT, "semaphore", limit=self._limit())) if self.kind == "semaphore" else ""

    def _limit(self) -> int:
        """Number of permits, where there are any."""
        return 1

    def _renews_only(self, client: int, lease: int, io: Io) -> None:
        """Note the lease that the client renews. Its older leases end at some time."""
        self.newest = _raised(self.newest, client, lease)
        if self._stale():
            io.set_timer("stale", 1)

    def _stale(self) -> list[int]:
        newest = dict(self.newest)
        return [lease for lease, _ in self.store.leases if lease < newest.get(client_of(lease), 0)]

    def _holds(self, before: Store, after: Store, client: int) -> int:
        """The create revision of a client's key that holds, before or after its request; 0 if there is none."""
        for store in (after, before):
            holding = holders(self.kind, store.queue())
            if mine := [one.entry.create for one in holding if client_of(one.entry.lease) == client]:
                return mine[0]
        return 0

    def _follow(self, wish: Following, io: Io) -> None:
        others = tuple(one for one in self.follows if (one.client, one.lane) != (wish.client, wish.lane))
        ahead = [(one.number - wish.number) % self.numbers for one in self.follows if one not in others]
        newer = any(0 < count < self.numbers // 2 for count in ahead)
        if events := self.store.events(wish.watch):
            io.send(wish.client, Told(Changed(events), wish.lane, wish.number))
        elif not newer:  # else the client has already given up this request
            self.follows = tuple(sorted((*others, wish)))
            self._refuse_deaf_waiters()

    def _become(self, after: Store, io: Io) -> None:
        """Replace the store, and tell the watches."""
        before, self.store = self.store, after
        for one in self.follows:
            if events := after.changes(before, one.watch):
                io.send(one.client, Told(Changed(events), one.lane, one.number))
                self.follows = tuple(other for other in self.follows if other != one)
        self._refuse_orphans()
        self._refuse_deaf_waiters()

    def _refuse_removals(self, before: Store, after: Store, sender: int) -> None:
        """Raise if a client removed the key of another without being allowed to."""
        for one in before.queue():
            owner = client_of(one.entry.lease)
            gone = after.get(one.entry.key) is None
            if gone and owner != sender and not self._may_remove(one, before, after, sender):
                raise ProtocolBug(f"theft: process {sender} removed the key {one.entry.key} of process {owner}")

    def _may_remove(self, one: Member, before: Store, after: Store, sender: int) -> bool:
        """True if a client may remove this request of another: a waiter, in favour of a better candidate or of one that
        was chosen."""
        if not self.lets_pass or one.shown is None or one in holders(self.kind, before.queue()):
            return False
        return self._makes_way(one, after)

    def _makes_way(self, one: Member, after: Store) -> bool:
        """True if the first of the queue leads, or is a better candidate than this one, which is gone."""
        first = next(iter(after.queue()), None)
        return first is not None and (first in holders(self.kind, after.queue()) or is_better(first, one))

    def _refuse_to_make_way(self, before: Store, after: Store, request: Request, sender: int) -> None:
        """Raise if a client removed its own key in favour of a candidate that is not better."""
        if not self.lets_pass or not isinstance(request, Txn):
            return
        own = [one for one in before.queue() if client_of(one.entry.lease) == sender]
        gone = [one for one in own if after.get(one.entry.key) is None]
        keys = {one.entry.key for one in own}
        names_others = any(one.key not in keys and not one.key.startswith(SESSIONS) for one in request.conditions)
        if names_others and not all(self._makes_way(one, after) for one in gone):
            raise ProtocolBug(f"yielded: process {sender} made way for a candidate that is not better")

    def _refuse_deaf_waiters(self) -> None:
        """Raise if a client waits for a change although its turn has come: nobody owes it one."""
        turn = {one.entry.lease for one in entitled(self.kind, self.store.queue())}
        for one in self.follows:
            session = one.watch.key.startswith(SESSIONS)
            if not session and not self._owes_note(one) and any(client_of(lease) == one.client for lease in turn):
                raise ProtocolBug(f"unwoken: process {one.client} waits for {one.watch.key}, and its turn has come")

    def _owes_note(self, one: Following) -> bool:
        """True if the key that a waiter of a semaphore watches will be written by its owner, which is just granted."""
        watched = self.store.get(one.watch.key)
        if self.kind != "semaphore" or watched is None or not watched.lease:
            return False
        shown = decode(watched.value)
        return shown is not None and not shown.inside

    def _refuse_orphans(self) -> None:
        """Raise if a client whose turn is over has a key other than that of its session. Keys of leases that it lost
        are removed at some time."""
        over, turns, stale = dict(self.over), dict(self.turns), self._stale()
        for entry in self.store.entries:
            client = client_of(entry.lease)
            left = client in over and over[client] >= turns.get(client, 0)
            if left and not entry.key.startswith(SESSIONS) and entry.lease not in stale:
                raise ProtocolBug(f"orphan: the key {entry.key} is there although process {client} has left")


def _raised(counts: tuple[tuple[int, int], ...], client: int, count: int) -> tuple[tuple[int, int], ...]:
    """The counts of the clients, where the count of one client is raised if `count` is larger."""
    known = dict(counts)
    return tuple(sorted({**known, client: max(count, known.get(client, 0))}.items()))


def client_of(lease: int) -> int:
    """The client that chose the number of a lease."""
    return lease // SESSIONS_OF_A_CLIENT
