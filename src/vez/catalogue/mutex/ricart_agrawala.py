"""Ask everybody; a process with an older request replies later.

Idea:        A request carries a logical timestamp and goes to all processes. A process replies at once, unless it is
             inside or waits with an older request (ties are broken by identifier); then it replies when it leaves. A
             process enters when all have replied.
Source:      Resumos LEIC, "Algoritmo de Ricart and Agrawala"; Ricart and Agrawala, CACM 24(1), 1981.
Assumptions: reliable channels (a duplicated Reply could count for a later request); nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation; entries follow the happened-before order of the requests. A
             request is placed when it has arrived at all processes. No later request overtakes it then, because the
             timestamp of a later request is larger.
Messages:    2(N-1) per entry: N-1 Request, N-1 Reply. Client delay 2, synchronization delay 1.
Deviations:  A process keeps the set of those that have not replied, not a count, so that a picture can show whom it
             waits for. A Reply carries the clock too: otherwise a process that has received only a Reply from an
             earlier requester could ask with an older timestamp.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Property

RELEASED, WANTED, HELD = "RELEASED", "WANTED", "HELD"


class Request(Message):
    """May I enter? With the requester's logical time."""

    timestamp: int


class Reply(Message):
    """You may, as far as I am concerned. With the replier's logical time."""

    timestamp: int


class RicartAgrawala(Mutex):
    """Permission of everybody, oldest request first."""

    name = "ricart-agrawala"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
        Property.REQUEST_ORDER,
    )

    state: str = RELEASED
    clock: int = 0  # Lamport clock; at least every timestamp seen
    timestamp: int = 0  # of our request; meaningful while not RELEASED
    awaited: frozenset[int] = frozenset()  # who has not replied; empty unless WANTED
    deferred: frozenset[int] = frozenset()  # who waits for our reply; empty when RELEASED

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.clock += 1
        self.timestamp = self.clock
        self.awaited = frozenset(io.peers)
        io.broadcast(Request(self.timestamp))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        older = (self.timestamp, io.me) < (message.timestamp, sender)
        if self.state == HELD or (self.state == WANTED and older):
            self.deferred |= {sender}
        else:
            io.send(sender, Reply(self.clock))

    def on_reply(self, message: Reply, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        self.awaited -= {sender}
        if self.state == WANTED and not self.awaited:
            self.state = HELD
            io.enter()

    def on_done(self, io: Io) -> None:
        self.state = RELEASED
        waiting, self.deferred = sorted(self.deferred), frozenset()
        for process in waiting:
            io.send(process, Reply(self.clock))

    def status(self) -> str:
        return f"{self.state} at {self.timestamp}" if self.state == WANTED else self.state
