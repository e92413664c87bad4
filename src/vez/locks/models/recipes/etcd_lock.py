"""etcd-lock: clients that take turns with the recipe of etcd's exclusive lock."""

from __future__ import annotations

from typing import ClassVar

from vez.core.assumptions import Assumption, Property
from vez.core.io import Io
from vez.core.process import Mutex, Parameter
from vez.locks.models.recipes.positions import Maker
from vez.locks.models.recipes.turns import Turns
from vez.locks.recipes.etcd.lock import Seat, acquire, leave


class EtcdLock(Turns, Mutex):
    """The exclusive lock, without time: leases end at any moment, and no holder is told in time. Tokens decide."""

    name = "recipe:etcd-lock"
    assumes = (Assumption.HUB_STAYS, Assumption.RELIABLE)
    guarantees: ClassVar[tuple[Property, ...]] = (
        Property.FENCED_EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.NO_EXCEPTIONS,
    )
    found_with: ClassVar[str] = ""
    """For a wrong recipe: the options of `vez check` that are needed to find the mistake; empty if none are."""
    stays: Parameter[tuple[int, ...]] = ()
    """Clients that keep what they got for ever."""
    acquire_recipe: ClassVar[Maker] = acquire
    leave_recipe: ClassVar[Maker] = leave

    def on_want(self, io: Io) -> None:
        self._want(io)

    def on_withdraw(self, io: Io) -> None:
        self._unwant(io)

    def on_done(self, io: Io) -> None:
        if io.me not in self.stays:
            self._leave(io)

    def _granted(self, seat: Seat, io: Io) -> None:
        io.enter(seat.token)
