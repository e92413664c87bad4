"""Collect the identifiers of all live processes round the ring; the smallest leads.

Idea:        A process that wants an election sends a list with its own identifier to the right. Every other process
             adds its identifier and passes the list on. When the list returns to its starter it holds the identifiers
             of the whole ring; the starter takes the smallest for the leader and tells the others.
Source:      Camargos, Coordenação, "Algoritmos em Anéis": "Algoritmo do Anel 2"; early version, "Algoritmo do Anel".
Assumptions: unique identifiers; reliable channels; a perfect detector notices crashes.
Guarantees:  uniqueness, termination, agreement; the smallest live identifier leads.
Messages:    n Collect for each starter, so n² when all start, of up to n identifiers each. Then Elected: n with one
             starter; n when all start at once, because each stops at a neighbour that has already decided.
Deviations:  The announcement is that of the early version. A process recognises its own list by the first identifier on
             it. When a process dies, lists that are on their way are dropped and collected again without it
             (`successive`).
"""

from __future__ import annotations

from vez.catalogue.election.successive import Stage, Successive
from vez.core import Io, Message, ProcessId, Ring, named


class Collect(Message):
    """The identifiers collected so far, the starter's first."""

    names: tuple[ProcessId, ...]
    stage: Stage = ()


class Elected(Message):
    """All identifiers have been collected, and this is the smallest."""

    leader: ProcessId
    stage: Stage = ()


class RingCollect(Successive):
    """Election by a list of all live processes."""

    name = "ring-collect"
    topology = Ring

    standing: bool = False  # our list is on its way

    def on_elect(self, io: Io) -> None:
        if not self.taking_part:
            super().on_elect(io)
        elif not self.standing:
            self._stand(io)

    def _stand(self, io: Io) -> None:
        self.standing = True
        io.send(self._right(io), Collect((io.me,), self.stage or ()))

    def _join(self, io: Io) -> None:
        """Pass the lists of others on, without a list of our own."""

    def on_collect(self, message: Collect, sender: int, io: Io) -> None:
        if message.stage != self.stage and not self._is_current(message.stage, io):
            return
        if message.names[0] != io.me:
            io.send(self._right(io) if self.suspected else io.right, Collect((*message.names, io.me), message.stage))
            return
        self.standing = False
        self._announce(min(message.names), message.stage, io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if self._is_current(message.stage, io):
            self._announce(message.leader, message.stage, io)

    def _announce(self, leader: int, stage: Stage, io: Io) -> None:
        if self.taking_part:
            self._decide(leader, io)
            io.send(self._right(io), Elected(leader, stage))

    def _forget(self) -> None:
        self.standing = False

    def status(self) -> str:
        if self.leader is not None and not self.standing:
            return f"leader is {named(self.leader)}"
        return "collecting" if self.standing else ""
