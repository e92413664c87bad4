"""Agenda: what happens when, in virtual time.

What happens is a delivery of something (a message, a timer, the end of a stay) to a node, for the handler of its
kind; or, where there is no node, an action to call. The agenda is a heap of these by time; a number keeps the order
of planning among things of one time.

Where every message takes the same time, all that is sent at one moment arrives at one moment, so it need not be
sorted: `Moments` collects it in an outbox and gives whole moments. What is planned by other means for the moment of
the outbox joins it, and what is planned for the moment under way joins that, so that the order is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

Delivery = tuple[Any, Any, int]
"""Node, what, sender; or None, action, 0."""


class Agenda:
    """The future, as a heap of (time, number, node, what, sender).

    What every sender needs lies here, and not in every node: with a million of them, what is read of a node has to
    fit into one line of the processor's cache.
    """

    __slots__ = ("by_id", "heap", "now", "number", "sent")

    def __init__(self, by_id: dict[int, Any] | list[Any]) -> None:
        self.by_id = by_id  # the nodes
        self.sent: dict[type, int] = {}  # how many messages of each kind; those to oneself are not counted
        self.now = 0
        self.heap: list[Any] = []
        self.number = count().__next__

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to happen."""
        return not self.heap

    def plan(self, at: int, action: Callable[[], None]) -> None:
        """Call the action at a time, or now if that has passed."""
        heappush(self.heap, (max(at, self.now), self.number(), None, action, 0))

    def post(self, wait_us: int, node: Any, what: Any, sender: int) -> None:
        """Deliver something so much later."""
        heappush(self.heap, (self.now + wait_us, self.number(), node, what, sender))


class Moments(Agenda):
    """The future moment by moment: a heap of (time, number, delivery), and what happens one delay from now."""

    __slots__ = ("delay_us", "outbox", "today")

    def __init__(self, by_id: dict[int, Any] | list[Any], delay_us: int) -> None:
        super().__init__(by_id)
        self.delay_us = delay_us
        self.outbox: list[Delivery] = []  # for the time now + delay_us, after what the heap has for that time
        self.today: list[Delivery] = []  # for the time now

    @property
    def is_empty(self) -> bool:
        return not self.heap and not self.outbox

    def plan(self, at: int, action: Callable[[], None]) -> None:
        self.post(max(0, at - self.now), None, action, 0)

    def post(self, wait_us: int, node: Any, what: Any, sender: int) -> None:
        if wait_us == self.delay_us:
            self.outbox.append((node, what, sender))
        elif wait_us:
            heappush(self.heap, (self.now + wait_us, self.number(), (node, what, sender)))
        else:
            self.today.append((node, what, sender))

    def begin(self) -> None:
        """What was planned for time 0 before time began is still to come, like all the rest."""
        self.heap += ((0, self.number(), delivery) for delivery in self.today)
        self.heap.sort()

    def collect(self, at: int) -> list[Delivery]:
        """All that was planned for a moment, in the order of planning; an outbox of a later one must be sorted."""
        heap = self.heap
        today = [heappop(heap)[2]]
        while heap and heap[0][0] == at:
            today.append(heappop(heap)[2])
        outbox_at = self.now + self.delay_us
        if outbox_at == at:
            today += self.outbox
        else:
            for delivery in self.outbox:
                heappush(heap, (outbox_at, self.number(), delivery))
        self.outbox = []
        return today
