"""Estimates of the size of a search: a lower bound before it begins, and what the growth of its layers says."""

from __future__ import annotations

from collections.abc import Sequence

from vez.core.process import Election
from vez.worlds.check.model.configuration import Configuration

STEADY = 100
"""The smallest layer from which growth is derived. The first layers of every search grow."""


def processes_that_ask(configuration: Configuration) -> int:
    """The number of processes k that may ask or not, whatever the others do: there are at least 2**k states.

    In the initial state each of them may ask, and no request prevents another. So every set of them is the set of
    those that have asked in some state, before any message is delivered. 0 if this may be wrong: if states are left
    out because of bounds, or if an election that is asked for without end may change nothing.
    """
    if configuration.bounds or configuration.capacity:
        return 0
    if configuration.endless and issubclass(configuration.algorithm, Election):
        return 0
    return sum(count != 0 for count in configuration.requests.values())


def growth(ends: Sequence[int]) -> float | None:
    """The size of the last complete layer, divided by that of the one before; None if they are too small to tell.

    `ends` are the numbers of states up to the end of each layer.
    """
    if len(ends) < 3:
        return None
    earlier, last = ends[-2] - ends[-3], ends[-1] - ends[-2]
    return last / earlier if earlier >= STEADY else None


def expected_total(states: int, last_layer: int, factor: float) -> int | None:
    """The number of states in all, if the layers go on to shrink by the same factor; None while they grow."""
    return None if factor >= 1 else round(states + last_layer * factor / (1 - factor))
