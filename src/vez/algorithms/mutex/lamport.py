"""Everybody keeps the same queue, ordered by logical clocks.

Idea:        A request carries a logical timestamp, goes to all, and is acknowledged by all; everybody keeps
             all requests in one order, by (timestamp, identifier). A process enters when its request is the
             first of its queue and it has heard from everybody something later than that: on channels that
             keep order, no older request can still be on its way. Leaving, it tells all.
Source:      seed 000 (to do there); Lamport, CACM 21(7), 1978.
Assumptions: reliable channels, first in, first out; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation, entries in the happened-before order of the requests.
Messages:    3(N-1) per entry: N-1 Request, N-1 Acknowledge, N-1 Release. Client delay 2, synchronization
             delay 1.
Deviations:  Of what was heard from the others only who has not yet been heard is kept: that is all the rule
             asks for. A Release names its request.
"""

from __future__ import annotations

from bisect import bisect

from vez.core import Assumption, Io, Message, Mutex, Property

OUTSIDE, WANTED, HELD = "OUTSIDE", "WANTED", "HELD"


class Request(Message):
    """I want in, at this logical time."""

    timestamp: int


class Acknowledge(Message):
    """I have your request; my logical time is later than it."""

    timestamp: int


class Release(Message):
    """I am out: the request of that time is over. Sent at a later time, the clock."""

    timestamp: int
    clock: int


class Lamport(Mutex):
    """One queue, replicated."""

    name = "lamport"
    assumes = (Assumption.RELIABLE, Assumption.FIFO, Assumption.NO_CRASHES)
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
        Property.REQUEST_ORDER,
    )

    state: str = OUTSIDE
    clock: int = 0  # Lamport's; above any timestamp received
    timestamp: int = 0  # of the own request; meaningful while not OUTSIDE
    queue: tuple[tuple[int, int], ...] = ()  # (timestamp, process) of the requests that are not over, ascending
    unheard: frozenset[int] = frozenset()  # who has sent nothing later than the own request; empty unless WANTED

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.clock += 1
        self.timestamp = self.clock
        self.unheard = frozenset(io.peers)
        self._enqueue((self.timestamp, io.me))
        io.broadcast(Request(self.timestamp))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self._enqueue((message.timestamp, sender))
        self._hear(message.timestamp, sender, io)
        io.send(sender, Acknowledge(self.clock))

    def on_acknowledge(self, message: Acknowledge, sender: int, io: Io) -> None:
        self._hear(message.timestamp, sender, io)

    def on_done(self, io: Io) -> None:
        self.state = OUTSIDE
        self.clock += 1
        self._dequeue((self.timestamp, io.me))
        io.broadcast(Release(self.timestamp, self.clock))

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        self._dequeue((message.timestamp, sender))
        self._hear(message.clock, sender, io)

    def _hear(self, timestamp: int, sender: int, io: Io) -> None:
        """Every message moves the clock, proves what its sender cannot ask any more, and may open the door."""
        self.clock = max(self.clock, timestamp) + 1
        if self.state != WANTED:
            return
        mine = (self.timestamp, io.me)
        if sender in self.unheard and (timestamp, sender) > mine:
            self.unheard -= {sender}
        if not self.unheard and self.queue[0] == mine:
            self.state = HELD
            io.enter()

    def _enqueue(self, request: tuple[int, int]) -> None:
        place = bisect(self.queue, request)
        self.queue = (*self.queue[:place], request, *self.queue[place:])

    def _dequeue(self, request: tuple[int, int]) -> None:
        if request in self.queue:
            place = self.queue.index(request)
            self.queue = self.queue[:place] + self.queue[place + 1 :]

    def status(self) -> str:
        queue = ", ".join(f"{process}@{timestamp}" for timestamp, process in self.queue)
        return f"{self.state}, queue [{queue}]" if self.queue else self.state
