"""Grants: what is held through one lock object, by owner, the newest first to go.

One owner may hold several permits of a semaphore through one object, and many threads may share it. Grants that were
released are forgotten with the owner's next one; owners that have gone are forgotten when there are many.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Generic, Protocol, TypeVar

_REMEMBERED = 32
"""Owners that an object keeps before it sorts out those who hold nothing any more."""
_mutex = RLock()
"""Reentrant, because a finaliser or a handler of signals may ask for a lock at any point within."""


def _renew() -> None:
    """Another thread of the parent may have had it when a child was forked."""
    global _mutex
    _mutex = RLock()


os.register_at_fork(after_in_child=_renew)


class Released(Protocol):
    """What knows whether it was released."""

    released: bool


G = TypeVar("G", bound=Released)


class Grants(Generic[G]):
    """The grants of one lock object."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[int, list[G]] = {}

    def push(self, owner: int, grant: G) -> None:
        """The owner holds this from now on."""
        with _mutex:
            mine = self._of.get(owner)
            if mine is None:
                if len(self._of) > _REMEMBERED:
                    self._of = {of: some for of, some in self._of.items() if not all(g.released for g in some)}
                self._of[owner] = [grant]
                return
            mine[:] = [one for one in mine if not one.released]
            mine.append(grant)

    def newest(self, owner: int) -> G | None:
        """The newest that the owner has not released yet. It stays until it is: an interrupt must not lose it."""
        with _mutex:
            for grant in reversed(self._of.get(owner, ())):
                if not grant.released:
                    return grant
            return None
