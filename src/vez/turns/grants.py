"""Grants: what is held through one lock object, by owner; the newest is released first.

One owner may hold several permits of a semaphore through one object, and many threads may share the object. An owner's
entry is written by that owner only, and removed by others only when the owner has ended. So there is no mutex for which
a hand-over would wait (docs/decisions/interpreter-lock.md).
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

from vez.engines.owners import Owner, gone

REMEMBERED = 32
"""Owners that an object remembers before it removes those that have ended."""


class Released(Protocol):
    """A grant that knows whether it was released, and the earlier grant of the same owner."""

    released: bool
    _below: Self | None


G = TypeVar("G", bound=Released)


class Grants(dict[int, G]):
    """The newest grant of each owner, by the owner's number."""

    __slots__ = ()

    def push(self, owner: Owner, grant: G) -> None:
        """Add a grant of the owner."""
        if len(self) > REMEMBERED:
            for number in list(self):
                if gone(number):
                    self.pop(number, None)
        if self.setdefault(owner.number, grant) is not grant:
            grant._below = self.newest(owner)
            self[owner.number] = grant

    def newest(self, owner: Owner) -> G | None:
        """The newest grant that the owner has not released. It is kept until then: an interrupt must not lose it."""
        grant = self.get(owner.number)
        while grant is not None and grant.released:
            grant = grant._below
        return grant

    def any_held(self) -> bool:
        """True if some owner holds something through this object."""
        return any(not grant.released for grant in list(self.values()))

    def tidy(self, owner: Owner) -> None:
        """Remove what the owner has released."""
        grant = self.newest(owner)
        if grant is None:
            self.pop(owner.number, None)
        else:
            self[owner.number] = grant
