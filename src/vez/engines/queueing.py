"""What every engine computes in the same way: positions, estimated waits, mean stays, how long to sleep."""

from __future__ import annotations

import time

from vez.engines.base import Contestant, Place
from vez.table import estimate
from vez.table.places import mean_with

LONG = 3600.0
"""Longest sleep of a waiter, in seconds."""
TELL = 0.2
"""Seconds between two reports of the position, for a waiter with `progress`."""


mean_stay = mean_with


def place(position: int, holder: Contestant | None, mean: float | None, limit: int = 1) -> Place:
    """The place of a waiter with so many before it."""
    inside = 0.0 if holder is None else max(0.0, time.time() - holder.since)  # the clock may have been set back
    return Place(position, estimate(position, mean, limit, inside), holder)


MOST_NAMES = 4096
"""Names of which a client remembers the mean stay; then it forgets the one that was used longest ago."""


class Stays:
    """Mean stays as one client has seen them, for engines whose server keeps none. Any thread may use it."""

    def __init__(self) -> None:
        self._means: dict[str, float] = {}

    def mean(self, key: str) -> float | None:
        """The mean of the stays that have ended; None if there was none."""
        return self._means.get(key)

    def ended(self, key: str, seconds: float) -> None:
        """A stay has ended."""
        self._means[key] = mean_stay(self._means.pop(key, None), seconds)
        if len(self._means) > MOST_NAMES:
            self._means.pop(next(iter(list(self._means))), None)


def left(deadline: float | None, now: float, *, telling: bool) -> float:
    """For how many seconds a waiter may sleep: until its next report of the position, if it makes any, and not beyond
    its deadline. 0 or less if the time is over."""
    longest = TELL if telling else LONG
    return longest if deadline is None else min(longest, deadline - now)
