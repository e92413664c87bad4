"""Agenda: the queue of future events, ordered by virtual time.

An entry is a delivery to a node (a message, a timer, the end of a stay), for the handler of its kind; or, without a
node, an action to call. The agenda is a heap of entries. Entries of the same time keep the order in which they were
planned, by a number.

If every message takes the same time, all messages that are sent at one moment also arrive at one moment, so they need
no sorting: `Moments` collects them in an outbox and returns whole moments. Other entries for the moment of the outbox
are added to it, and entries for the current moment are added to that one. So the order is the same as in a heap.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

Delivery = tuple[Any, Any, int]
"""(node, what, sender), or (None, action, 0)."""


class Agenda:
    """A heap of (time, number, node, what, sender), and the current time.

    Data that every sender needs is stored here and not in each node: with a million nodes, the fields of a node that
    are read often must fit into one cache line.
    """

    __slots__ = ("by_id", "heap", "now", "number", "sent")

    def __init__(self, by_id: dict[int, Any] | list[Any]) -> None:
        self.by_id = by_id  # the nodes, by identifier
        self.sent: dict[type, int] = {}  # number of messages by kind, without those of a process to itself
        self.now = 0
        self.heap: list[Any] = []
        self.number = count().__next__

    @property
    def is_empty(self) -> bool:
        """True if no entry is left."""
        return not self.heap

    def plan(self, at: int, action: Callable[[], None]) -> None:
        """Call the action at this time, or now if the time has passed."""
        heappush(self.heap, (max(at, self.now), self.number(), None, action, 0))

    def post(self, wait_us: int, node: Any, what: Any, sender: int) -> None:
        """Deliver `what` to the node after `wait_us` microseconds."""
        heappush(self.heap, (self.now + wait_us, self.number(), node, what, sender))


class Moments(Agenda):
    """An agenda for a constant delay: a heap of (time, number, delivery), and the outbox for one delay from now."""

    __slots__ = ("delay_us", "outbox", "today")

    def __init__(self, by_id: dict[int, Any] | list[Any], delay_us: int) -> None:
        super().__init__(by_id)
        self.delay_us = delay_us
        self.outbox: list[Delivery] = []  # for the time now + delay_us, after the entries of the heap for that time
        self.today: list[Delivery] = []  # for the current time

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
        """Before the run: entries that were planned for time 0 go into the heap with the others."""
        self.heap += ((0, self.number(), delivery) for delivery in self.today)
        self.heap.sort()

    def collect(self, at: int) -> list[Delivery]:
        """Return all entries for the next moment, in the order of planning.

        If the outbox belongs to a later moment, its entries go into the heap.
        """
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
