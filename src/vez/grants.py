"""Grants: what is held through one lock object, by owner, the newest first to go.

One owner may hold several permits of a semaphore through one object, and many threads may share it.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Protocol, Self, TypeVar

REMEMBERED = 32
"""Owners that an object keeps before it sorts out those who hold nothing any more."""
_mutex = RLock()
"""Reentrant, because a finaliser or a handler of signals may ask for a lock at any point within."""


def _renew() -> None:
    """Another thread of the parent may have had it when a child was forked."""
    global _mutex
    _mutex = RLock()


os.register_at_fork(after_in_child=_renew)


class Released(Protocol):
    """What knows whether it was released, and what the same owner had before it."""

    released: bool
    below: Self | None


G = TypeVar("G", bound=Released)


class Grants(dict[object, G]):
    """The grants of one lock object: to each owner its newest.

    An owner's first is put in, and its last taken out, with one step of the interpreter, for others wait meanwhile: see
    `Lock.acquire` and `Lock.__exit__`. For the rest there are the methods."""

    __slots__ = ()

    def push(self, owner: object, grant: G) -> None:
        """The owner holds this from now on, and may hold others."""
        with _mutex:
            if self.get(owner) is not grant:
                grant.below = self.newest(owner)
                self[owner] = grant
            if len(self) > REMEMBERED:  # those that were released by themselves, of owners that have gone
                for other in [other for other, some in self.items() if some.released]:
                    self._tidy(other)

    def newest(self, owner: object) -> G | None:
        """The newest that the owner has not released yet. It stays until it is: an interrupt must not lose it."""
        grant = self.get(owner)
        while grant is not None and grant.released:
            grant = grant.below
        return grant

    def tidy(self, owner: object) -> None:
        """Forget what the owner has released."""
        with _mutex:
            self._tidy(owner)

    def _tidy(self, owner: object) -> None:
        grant = self.newest(owner)
        if grant is None:
            self.pop(owner, None)
        else:
            self[owner] = grant
