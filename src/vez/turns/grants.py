"""Grants: what is held through one lock object, by owner, the newest first to go.

One owner may hold several permits of a semaphore through one object, and many threads may share it. An owner's entry is
written by that owner only, and taken out by others only when it is gone for good; so there is no mutex, for which a
hand-over would wait.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

from vez.engines.owners import Owner, gone

REMEMBERED = 32
"""Owners that an object keeps before it sorts out those that are gone."""


class Released(Protocol):
    """What knows whether it was released, and what the same owner had before it."""

    released: bool
    _below: Self | None


G = TypeVar("G", bound=Released)


class Grants(dict[int, G]):
    """The grants of one lock object: to the number of each owner its newest."""

    __slots__ = ()

    def push(self, owner: Owner, grant: G) -> None:
        """The owner holds this from now on."""
        if len(self) > REMEMBERED:
            for number in list(self):
                if gone(number):
                    self.pop(number, None)
        if self.setdefault(owner.number, grant) is not grant:
            grant._below = self.newest(owner)
            self[owner.number] = grant

    def newest(self, owner: Owner) -> G | None:
        """The newest that the owner has not released yet. It stays until it is: an interrupt must not lose it."""
        grant = self.get(owner.number)
        while grant is not None and grant.released:
            grant = grant._below
        return grant

    def any_held(self) -> bool:
        """True if some owner holds something through this object."""
        return any(not grant.released for grant in list(self.values()))

    def tidy(self, owner: Owner) -> None:
        """Forget what the owner has released."""
        grant = self.newest(owner)
        if grant is None:
            self.pop(owner.number, None)
        else:
            self[owner.number] = grant
