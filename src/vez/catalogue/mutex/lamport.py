"""Every process keeps a copy of one queue, ordered by logical clocks.

Idea:        A request carries a logical timestamp and goes to all processes, and all acknowledge it. Every process
             keeps all requests in one order, by (timestamp, identifier). A process enters when its own request is the
             first of its queue and it has received a later timestamp from everybody: on FIFO channels, no older request
             can still be in transit. A process that leaves tells all.
Source:      Camargos, Coordenação, "Quórum" (named there, not described); Lamport, CACM 21(7), 1978.
Assumptions: reliable FIFO channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation; entries follow the happened-before order of the requests. A
             request is placed when it has arrived at all processes. No later request overtakes it then, because the
             timestamp of a later request is larger.
Messages:    3(N-1) per entry: N-1 Request, N-1 Acknowledge, N-1 Release. Client delay 2, synchronization delay 1.
Deviations:  A process does not store the last timestamp of each other process, only the set of those that have not yet
             sent a later one: the rule needs no more. A Release names its request.
"""

from __future__ import annotations

from bisect import bisect

from vez.core import Assumption, Io, Message, Mutex, Property, named

OUTSIDE, WANTED, HELD = "OUTSIDE", "WANTED", "HELD"


class Request(Message):
    """I want in, at this logical time."""

    timestamp: int


class Acknowledge(Message):
    """I have your request; my logical time is later than its timestamp."""

    timestamp: int


class Release(Message):
    """I am out: the request with this timestamp is over. `clock` is the logical time of sending."""

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
    clock: int = 0  # Lamport clock; larger than any timestamp received
    timestamp: int = 0  # of our request; meaningful while not OUTSIDE
    queue: tuple[tuple[int, int], ...] = ()  # (timestamp, process) of all open requests, ascending
    unheard: frozenset[int] = frozenset()  # processes without a message later than our request; empty unless WANTED

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0

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

    def on_withdraw(self, io: Io) -> None:
        """Release the request as after a stay. Acknowledgements that arrive later are harmless: they only say that the
        sender's clock is later, which stays true."""
        self.unheard = frozenset()
        self.on_done(io)

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        self._dequeue((message.timestamp, sender))
        self._hear(message.clock, sender, io)

    def _hear(self, timestamp: int, sender: int, io: Io) -> None:
        """Advance the clock, and enter if no older request can still arrive."""
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
        queue = ", ".join(f"{named(process)}@{timestamp}" for timestamp, process in self.queue)
        return f"{self.state}, queue [{queue}]" if self.queue else self.state
