"""WRONG, and kept to show why: Ricart and Agrawala with priorities instead of timestamps.

Idea:        As `ricart-agrawala`, but a waiting process defers those of lower priority, however old their requests are.
             The mistake: a process that asked long ago and lacks one reply consents to a newcomer of higher priority,
             which had already consented to it. Both then have all replies.
Source:      Resumos LEIC, "Algoritmo de Ricart and Agrawala", the warning on priorities.
Assumptions: reliable channels; nobody crashes. They do not help.
Guarantees:  none. It declares those of `ricart-agrawala`, and a run breaks them.
Messages:    2(N-1) per entry: N-1 Request, N-1 Reply.
Deviations:  The identifier is the priority; the largest is the highest.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Property

RELEASED, WANTED, HELD = "RELEASED", "WANTED", "HELD"


class Request(Message):
    """May I?"""


class Reply(Message):
    """You may, as far as I am concerned."""


class RicartAgrawalaPriority(Mutex):
    """Permission of everybody, highest priority first: the tempting mistake."""

    name = "ricart-agrawala-priority"
    wrong = "a process that waits consents to one of higher priority that had already consented to it"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    endless_requests = True
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
        Property.REQUEST_ORDER,
    )

    state: str = RELEASED
    awaited: frozenset[int] = frozenset()  # who has not replied; empty unless WANTED
    deferred: frozenset[int] = frozenset()  # who waits for our reply; empty when RELEASED

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.awaited = frozenset(io.peers)
        io.broadcast(Request())

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        if self.state == HELD or (self.state == WANTED and io.me > sender):
            self.deferred |= {sender}
        else:
            io.send(sender, Reply())

    def on_reply(self, message: Reply, sender: int, io: Io) -> None:
        self.awaited -= {sender}
        if self.state == WANTED and not self.awaited:
            self.state = HELD
            io.enter()

    def on_done(self, io: Io) -> None:
        self.state = RELEASED
        waiting, self.deferred = sorted(self.deferred), frozenset()
        for process in waiting:
            io.send(process, Reply())

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0

    def status(self) -> str:
        return self.state
