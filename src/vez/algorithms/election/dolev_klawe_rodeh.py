"""Franklin's rounds on a ring of one direction: identifiers move on, so that everybody can look both ways.

Idea:        An active process sends the identifier it holds, and passes on the one that it hears. It then
             knows what its left neighbour holds and what that one's left neighbour holds, and so stands in
             the middle neighbour's place: if the middle one is the largest of the three, it takes that
             identifier over and stays active; otherwise it becomes a relay. An identifier that meets itself
             is the only one left.
Source:      Dolev, Klawe and Rodeh, J. Algorithms 3(3), 1982; Peterson, TOPLAS 4(4), 1982.
Assumptions: unique identifiers; reliable FIFO channels; nobody crashes.
Guarantees:  uniqueness, termination, agreement, and the largest identifier leads.
Messages:    2n a phase while several are active, n for the last one: at most 2n⌊log₂ n⌋ + n. Then n to announce.
Deviations:  The process whose identifier wins leads, not the one where it wins. Who is not asked joins when
             the first message comes. One election is held.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Property, Ring

IDLE, ACTIVE, RELAY = "", "active", "relay"


class First(Message):
    """What the sender, or the nearest active one behind it, holds."""

    candidate: int


class Second(Message):
    """What the nearest active one behind that one holds."""

    candidate: int


class Elected(Message):
    """The last identifier, once round."""

    leader: int


class DolevKlaweRodeh(core.Election):
    """O(n log n) in one direction."""

    name = "dolev-klawe-rodeh"
    topology = Ring
    assumes = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.FIFO, Assumption.NO_CRASHES)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    state: str = IDLE
    held: int = 0  # the identifier for which this process stands; no two active ones hold the same
    neighbour: int = 0  # what the nearest active one on the left holds; meaningful between First and Second
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
            return f"leader is {self.leader}"
        return f"holds {self.held}" if self.state == ACTIVE else self.state
