"""One election, by Franklin's rounds on a ring of one direction: identifiers move on until each meets two others.

Idea:        An active process sends the identifier that it holds, and passes on the first one that it receives. It then
             knows the identifiers of the two nearest active processes on its left, and decides for the nearer one: if
             the nearer identifier is the largest of the three, the process takes it over and stays active; otherwise it
             becomes a relay. An identifier that arrives at the process that holds it is the only one left.
Source:      Dolev, Klawe and Rodeh, J. Algorithms 3(3), 1982; Peterson, TOPLAS 4(4), 1982.
Assumptions: unique identifiers; reliable FIFO channels; nobody crashes.
Guarantees:  uniqueness, termination, agreement; the largest identifier leads.
Messages:    2n a phase while several are active, n for the last one: at most 2n⌊log₂ n⌋ + n. Then n to announce.
Deviations:  The process whose identifier wins leads, not the process that holds it at the end. A process that was not
             asked joins when the first message arrives.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, ProcessId, Property, Ring, View, named

IDLE, ACTIVE, RELAY = "", "active", "relay"


class First(Message):
    """The identifier that the nearest active process on the left holds."""

    candidate: ProcessId


class Second(Message):
    """The identifier that the active process to the left of that one holds."""

    candidate: ProcessId


class Elected(Message):
    """The identifier that won, sent once round the ring."""

    leader: ProcessId


class DolevKlaweRodeh(core.Election):
    """O(n log n) in one direction."""

    name = "dolev-klawe-rodeh"
    topology = Ring
    assumes = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.FIFO, Assumption.NO_CRASHES)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True
    one_election = True

    state: str = IDLE
    held: int = 0  # the identifier for which this process stands; different for all active processes
    neighbour: int = 0  # held by the nearest active process on the left; meaningful between First and Second
    leader: int | None = None

    def on_elect(self, io: Io) -> None:
        if self.state == IDLE:
            self._stand(io)

    def on_first(self, message: First, sender: int, io: Io) -> None:
        if self.state == IDLE:
            self._stand(io)
        if self.state == RELAY:
            io.send(io.right, message)
        elif message.candidate == self.held:
            self._announce(self.held, io)
        else:
            self.neighbour = message.candidate
            io.send(io.right, Second(message.candidate))

    def on_second(self, message: Second, sender: int, io: Io) -> None:
        if self.state == RELAY:
            io.send(io.right, message)
        elif self.neighbour > max(self.held, message.candidate):
            self.held = self.neighbour
            io.send(io.right, First(self.held))
        else:
            self.state = RELAY

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if self.leader is None:
            self._announce(message.leader, io)

    def _stand(self, io: Io) -> None:
        self.state = ACTIVE
        self.held = io.me
        io.send(io.right, First(io.me))

    def _announce(self, leader: int, io: Io) -> None:
        self.leader = leader
        io.elected(leader)
        io.send(io.right, Elected(leader))

    def status(self) -> str:
        if self.leader is not None:
            return f"leader is {named(self.leader)}"
        return f"holds {named(self.held)}" if self.state == ACTIVE else self.state

    def view(self) -> View | None:
        return View(active=self.state == ACTIVE) if self.state != IDLE else None
