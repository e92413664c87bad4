"""Queueing: computations that are the same for every engine: positions, estimated waits, mean stays, sleep times."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from vez.locks.table.places import estimate, mean_with

if TYPE_CHECKING:
    from vez.locks.engines.base import Contestant, Place

LONG = 3600.0
"""Longest sleep of a waiter, in seconds."""
TELL = 0.2
"""Seconds between two reports of the position, for a waiter with `progress`."""


def place(position: int, holder: Contestant | None, mean: float | None, limit: int = 1) -> Place:
    """The `Place` of a waiter with `position` others before it."""
    from vez.locks.engines.base import Place

    inside = 0.0 if holder is None else max(0.0, time.time() - holder.since)  # the clock may have been set back
    return Place(position, estimate(position, mean, limit, inside), holder)


MOST_NAMES = 4096
"""Number of names whose mean stay a client remembers. Beyond it, the name that was used least recently is forgotten."""


class Stays:
    """Mean stays as measured by one client, for engines whose server does not keep them. Any thread may use it."""

    def __init__(self) -> None:
        self._means: dict[str, float] = {}

    def mean(self, key: str) -> float | None:
        """The mean of the stays that have ended, in seconds; None if none has."""
        return self._means.get(key)

    def ended(self, key: str, seconds: float) -> None:
        """Add a stay that has ended."""
        self._means[key] = mean_with(self._means.pop(key, None), seconds)
        if len(self._means) > MOST_NAMES:
            self._means.pop(next(iter(list(self._means))), None)


def left(deadline: float | None, now: float, *, telling: bool) -> float:
    """Seconds that a waiter may sleep: until its next report of the position if it makes reports, and not beyond its
    deadline. 0 or less if the deadline has passed."""
    longest = TELL if telling else LONG
    return longest if deadline is None else min(longest, deadline - now)
