"""The model of an etcd server as a value: keys, leases, revisions, and the effect of each operation on them.

Revisions are abstracted, unless `exact` asks for etcd's own. etcd has one counter for all keys and every write moves
it, so one queue would appear with many different numbers. Here each name and each session has a counter of its own, and
removals do not move it. Recipes compare revisions within a name, or those of one session's key, so they cannot see the
difference. A watch that begins at a revision is told if its key is gone or was written since; no history is kept for
it.
"""

from __future__ import annotations

import msgspec

from vez.locks.recipes.base import Answer, Refused
from vez.locks.recipes.etcd.operations import (
    Compare,
    Delete,
    Entry,
    Event,
    Found,
    Get,
    KeepAlive,
    LeaseFor,
    LeaseGrant,
    Put,
    Request,
    Revoke,
    Txn,
    TxnDone,
    Watch,
    Written,
)
from vez.locks.recipes.etcd.session import SESSIONS
from vez.locks.recipes.etcd.shown import Member, member

Operation = Put | Delete | Get
OURS = "vez/"
"""Prefix of the keys that are not requests: those of sessions, and the records of forced releases."""
NO_LEASE = "requested lease not found"


class Store(msgspec.Struct, frozen=True):
    """The state of the server: its keys, in order, its leases, and the counters of revisions."""

    entries: tuple[Entry, ...] = ()
    leases: tuple[tuple[int, int], ...] = ()
    """Number of each lease, and the requested seconds."""
    revisions: tuple[tuple[str, int], ...] = ()
    """The counters: the prefix of the keys that share a counter, and its value."""
    exact: bool = False
    """True if all keys share one counter."""
    history: bool = False
    """True if removals move the counter and are remembered."""
    removals: tuple[tuple[str, int], ...] = ()
    """The latest removal of each key, if removals are remembered."""

    def execute(self, request: Request) -> tuple[Store, Answer | Refused]:
        """The store after a request, and the reply."""
        match request:
            case Txn():
                return self._transact(request)
            case LeaseGrant(lease, seconds):
                if self.lives(lease):
                    return self, Refused("lease already exists")
                leases = tuple(sorted((*self.leases, (lease, seconds))))
                return msgspec.structs.replace(self, leases=leases), Answer(LeaseFor(seconds))
            case KeepAlive(lease):
                return self, Answer(LeaseFor(dict(self.leases).get(lease, 0)))
            case Revoke(lease):
                return (self.without(lease), Answer(None)) if self.lives(lease) else (self, Refused(NO_LEASE))

    def lives(self, lease: int) -> bool:
        """True if the lease exists."""
        return lease in dict(self.leases)

    def without(self, lease: int) -> Store:
        """The store after a lease has ended, without its keys."""
        store = self
        for entry in self.entries:
            if entry.lease == lease:
                store = store._write(Delete(entry.key))[0]
        leases = tuple(one for one in store.leases if one[0] != lease)
        return msgspec.structs.replace(store, leases=leases)

    def events(self, watch: Watch) -> tuple[Event, ...]:
        """The events that a watch gets when it begins: the changes from its first revision on."""
        if not watch.start:
            return ()
        revision = self.revision(watch.key)
        found = [
            Event(entry.key, entry.mod, entry)
            for entry in self._range(watch.key, watch.end)
            if entry.mod >= watch.start
        ]
        if self.history:
            ended = [
                Event(key, at)
                for key, at in self.removals
                if at >= watch.start and (watch.key <= key < watch.end if watch.end else key == watch.key)
            ]
            return tuple(sorted((*found, *ended), key=lambda event: event.revision))
        gone = () if self.get(watch.key) else (Event(watch.key, max(revision, watch.start)),)
        return (*found, *gone)

    def changes(self, before: Store, watch: Watch) -> tuple[Event, ...]:
        """The events that a running watch gets for the step from the store `before` to this one."""
        old = {entry.key: entry for entry in before._range(watch.key, watch.end)}
        new = {entry.key: entry for entry in self._range(watch.key, watch.end)}
        changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        return tuple(Event(key, new[key].mod if key in new else self.revision(key), new.get(key)) for key in changed)

    def get(self, key: str) -> Entry | None:
        """The entry of a key, or None."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def queue(self) -> tuple[Member, ...]:
        """The requests for the name, oldest first."""
        found = (entry for entry in self.entries if not entry.key.startswith(OURS) and entry.key.count("/") == 1)
        return tuple(map(member, sorted(found, key=lambda entry: entry.create)))

    def revision(self, key: str) -> int:
        """The value of the counter to which a key belongs."""
        return dict(self.revisions).get(self._counter(key), 0)

    def _transact(self, request: Txn) -> tuple[Store, Answer | Refused]:
        holds = all(self._attribute(condition) == condition.equals for condition in request.conditions)
        operations = request.then if holds else request.otherwise
        if any(isinstance(one, Put) and one.lease and not self.lives(one.lease) for one in operations):
            return self, Refused(NO_LEASE)
        store, replies = self, []
        for operation in operations:
            store, reply = store._write(operation)
            replies.append(reply)
        about = (*operations, *request.conditions)[0].key
        return store, Answer(TxnDone(holds, tuple(replies), store.revision(about)))

    def _attribute(self, condition: Compare) -> int:
        entry = self.get(condition.key)
        return 0 if entry is None else int(getattr(entry, condition.attribute))

    def _write(self, operation: Operation) -> tuple[Store, Written | Found]:
        match operation:
            case Get():
                return self, Found(self._read(operation))
            case Put(key, value, lease):
                store = self._moved(key)
                revision, old = store.revision(key), self.get(key)
                entry = Entry(key, value, old.create if old else revision, revision, lease)
                others = tuple(one for one in store.entries if one.key != key)
                entries = tuple(sorted((*others, entry), key=lambda one: one.key))
                return msgspec.structs.replace(store, entries=entries), Written()
            case Delete(key, end):
                gone = self._range(key, end)
                store = self._moved(key) if gone and self.history else self
                entries = tuple(entry for entry in store.entries if entry not in gone)
                removals = dict(store.removals) | {one.key: store.revision(key) for one in gone if self.history}
                done = msgspec.structs.replace(store, entries=entries, removals=tuple(sorted(removals.items())))
                return done, Written(len(gone))

    def _read(self, operation: Get) -> tuple[Entry, ...]:
        most = operation.created_before
        found = [one for one in self._range(operation.key, operation.end) if not most or one.create < most]
        if operation.order:
            found.sort(key=lambda one: one.create, reverse=operation.order == "newest first")
        return tuple(found[: operation.limit] if operation.limit else found)

    def _range(self, key: str, end: str) -> list[Entry]:
        return [one for one in self.entries if (key <= one.key < end if end else one.key == key)]

    def _moved(self, key: str) -> Store:
        counter, counts = self._counter(key), dict(self.revisions)
        counts[counter] = counts.get(counter, 0) + 1
        return msgspec.structs.replace(self, revisions=tuple(sorted(counts.items())))

    def _counter(self, key: str) -> str:
        """The prefix of the keys that share a counter with this key: those of a session, or those of a name."""
        if self.exact:
            return ""
        if key.startswith(SESSIONS):
            return SESSIONS + key.removeprefix(SESSIONS).partition("/")[0]
        return key.rpartition("/")[0] if key.startswith(OURS) else key.partition("/")[0]
