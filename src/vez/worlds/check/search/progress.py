"""Progress of a search, for display."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from vez.worlds.check.estimate import expected_total, growth

if TYPE_CHECKING:
    from vez.worlds.check.search.breadth_first import Search


class Progress:
    """Progress of a search, for display."""

    __slots__ = ("depth", "expected", "growth", "memory", "most", "queue", "seconds", "states", "transitions")

    def __init__(self, search: Search, queue: int) -> None:
        ends = search.ends_of_layers
        self.states = search.packed.store.count
        self.transitions = search.transitions
        self.depth = search.depth
        self.queue = queue
        self.seconds = time.monotonic() - search.started
        self.memory = search.memory()
        self.most = search.limits.states
        """The number of states at which the search stops."""
        self.growth = growth(ends)
        """The size of the last layer of states, divided by that of the one before; None if they are too small to
        tell."""
        self.expected = None if self.growth is None else expected_total(ends[-1], ends[-1] - ends[-2], self.growth)
        """The number of states in all, if the layers go on to shrink like this; None if they grow."""
