"""Agenda: what happens when, in virtual time.

A heap of (time, number, batch); the number keeps the order of planning among things of one time. A batch
holds one or more (node, message, sender): a delivery that nobody has to watch, or, where there is no node,
an action to call.

Where every message takes the same time, all that is sent at one moment arrives at one moment, so it need
not be sorted: it is collected in the outbox, a batch that is still growing. What is planned by other means
for that same moment joins the outbox too, so that the order is the same as without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappush
from itertools import count
from typing import Any

Delivery = tuple[Any, Any, int]


class Agenda:
    """The future."""

    __slots__ = ("heap", "now", "number", "outbox", "outbox_at")

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[tuple[int, int, Sequence[Delivery]]] = []
        self.number = count().__next__
        self.outbox: list[Delivery] = []
        self.outbox_at = -1

    def plan(self, at: int, action: Callable[[], None]) -> None:
        """Call the action at a time, or now if that has passed."""
        if at == self.outbox_at:
            self.outbox.append((None, action, 0))
        else:
            heappush(self.heap, (max(at, self.now), self.number(), ((None, action, 0),)))

    def open_outbox(self, at: int) -> None:
        """Collect what is sent from now on, all of which arrives at one moment."""
        self.outbox, self.outbox_at = [], at
        heappush(self.heap, (at, self.number(), self.outbox))
