"""The other recipes of etcd: shared locks, semaphores and elections."""

from __future__ import annotations

from typing import ClassVar

from vez.core.assumptions import Property
from vez.core.io import Io
from vez.core.process import Election, Parameter
from vez.locks.models.recipes.etcd_lock import EtcdLock
from vez.locks.models.recipes.positions import Maker
from vez.locks.models.recipes.turns import Turns
from vez.locks.recipes.base import Recipe
from vez.locks.recipes.etcd.election import campaign
from vez.locks.recipes.etcd.lock import Seat, acquire, leave
from vez.locks.recipes.etcd.semaphore import acquire_permit
from vez.locks.recipes.etcd.session import Session
from vez.locks.recipes.etcd.shown import FORMAT, Shown, encode

MANY_INSIDE = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM, Property.NO_EXCEPTIONS)
"""Guarantees where several clients may be inside. The model itself judges each entry (`guess`)."""


def _acquire(session: Session, name: str, value: str, shared: bool) -> Recipe[Seat | None]:
    return (yield from acquire(session, name, value, shared=shared))


class EtcdShared(EtcdLock):
    """The lock, shared by some clients: those of `readers` may be inside together."""

    name = "recipe:etcd-shared"
    guarantees = MANY_INSIDE
    acquire_recipe: ClassVar[Maker] = _acquire

    readers: Parameter[tuple[int, ...]] = (2, 3)

    def _request(self, io: Io) -> tuple[object, ...]:
        shared = io.me in self.readers
        return encode(Shown(FORMAT, "lock", shared=shared)), shared


class EtcdSemaphore(EtcdLock):
    """The semaphore: as many may be inside as `limit` says."""

    name = "recipe:etcd-semaphore"
    kind = "semaphore"
    history = True
    guarantees = MANY_INSIDE
    acquire_recipe: ClassVar[Maker] = acquire_permit
    least: ClassVar[tuple[tuple[str, int], ...]] = (*EtcdLock.least, ("limit", 1))

    limit: Parameter[int] = 1

    def _limit(self) -> int:
        return self.limit

    def _request(self, io: Io) -> tuple[object, ...]:
        return (Shown(FORMAT, "semaphore", limit=self.limit),)


def _candidate(me: int, weights: tuple[int, ...]) -> Shown:
    """The value that a candidate writes. The weights are those of process 2, process 3 and so on."""
    return Shown(FORMAT, "election", weight=weights[me - 2] if me - 2 < len(weights) else 0)


class EtcdOffice(EtcdLock):
    """The election as turns: every candidate leads once, and the leader is inside."""

    name = "recipe:etcd-office"
    kind = "election"
    lets_pass = True
    acquire_recipe: ClassVar[Maker] = campaign

    weights: Parameter[tuple[int, ...]] = ()

    def _request(self, io: Io) -> tuple[object, ...]:
        return (_candidate(io.me, self.weights),)


class EtcdElection(Turns, Election):
    """The election: a leader leads until it crashes or its lease ends. Terms are create revisions."""

    name = "recipe:etcd-election"
    kind = "election"
    lets_pass = True
    assumes = EtcdLock.assumes
    guarantees: ClassVar[tuple[Property, ...]] = (Property.UNIQUENESS, Property.TERMINATION, Property.NO_EXCEPTIONS)
    acquire_recipe: ClassVar[Maker] = campaign
    leave_recipe: ClassVar[Maker] = leave

    weights: Parameter[tuple[int, ...]] = ()

    def on_elect(self, io: Io) -> None:
        if io.me != io.hub:
            self._want(io)

    def _request(self, io: Io) -> tuple[object, ...]:
        return (_candidate(io.me, self.weights),)

    def _granted(self, seat: Seat, io: Io) -> None:
        io.elected(io.me, seat.token)
