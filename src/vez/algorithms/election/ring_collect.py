"""Collect the identifiers of all processes round the ring; the smallest leads.

Idea:        A process that wants an election sends a list with its own identifier to the right. Every other process
             adds its identifier and passes the list on. When the list returns to its starter it holds the identifiers
             of the whole ring; the starter takes the smallest for the leader and tells the others.
Source:      Camargos, Coordenação, "Algoritmos em Anéis": "Algoritmo do Anel 2"; early version, "Algoritmo do Anel".
Assumptions: unique identifiers; reliable channels; nobody crashes.
Guarantees:  uniqueness, termination, agreement; the smallest identifier leads.
Messages:    n Collect for each starter, so n² when all start, of up to n identifiers each. Then Elected: n with one
             starter; n when all start at once, because each stops at a neighbour that has already decided.
Deviations:  The announcement is that of the early version. A process recognises its own list by the first identifier on
             it. Dead neighbours are not skipped (the early version does).
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Property, Ring


class Collect(Message):
    """The identifiers collected so far, the starter's first."""

    names: tuple[int, ...]


class Elected(Message):
    """All identifiers have been collected, and this is the smallest."""

    leader: int


class RingCollect(core.Election):
    """Election by census."""

    name = "ring-collect"
    topology = Ring
    assumes = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)

    standing: bool = False  # our list is on its way
    leader: int | None = None

    def on_elect(self, io: Io) -> None:
        if not self.standing and self.leader is None:
            self.standing = True
            io.send(io.right, Collect((io.me,)))

    def on_collect(self, message: Collect, sender: int, io: Io) -> None:
        if message.names[0] != io.me:
            io.send(io.right, Collect((*message.names, io.me)))
            return
        self.standing = False
        self._decide(min(message.names), io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        self._decide(message.leader, io)

    def _decide(self, leader: int, io: Io) -> None:
        if self.leader is None:
            self.leader = leader
            io.elected(leader)
            io.send(io.right, Elected(leader))

    def status(self) -> str:
        if self.leader is not None:
            return f"leader is {self.leader}"
        return "collecting" if self.standing else ""
