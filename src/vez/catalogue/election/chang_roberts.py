"""Identifiers travel round a ring, larger ones swallow smaller ones; the one that returns to its process leads.

Idea:        A candidate sends its identifier to the right. A process passes larger identifiers on and replaces a
             smaller one by its own, once. The process that receives its own identifier is the largest; it sends an
             announcement round the ring.
Source:      Camargos, Coordenação, "Algoritmos em Anéis", and early version, "Algoritmo de Chang & Robert"; Resumos
             LEIC, "Eleição em anel"; Chang and Roberts, CACM 22(5), 1979.
Assumptions: unique identifiers; reliable channels; a perfect detector notices crashes.
Guarantees:  uniqueness, termination, agreement; the largest live identifier leads.
Messages:    All start: n·H_n on average, 2n-1 at best, n(n+1)/2 at worst, then n to announce. One starter: at most
             3N-1 with the announcement.
Deviations:  In Camargos, Coordenação, a process that is not a candidate drops a smaller identifier, so a single small
             candidate elects nobody (`vez zoo drops-smaller`); here it replaces the identifier by its own, as in the
             paper, and once only (the early version replaces always: `zoo:always-replaces`). Processes may crash: dead
             neighbours are skipped (early version). A crash may lose a message, so a process that learns of a crash
             sends again what it passed on, and what it announced to the dead neighbour. Messages about a dead candidate
             are dropped, and so is an announcement of a leader larger than one announced later.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, ProcessId, Property, Ring, View, named


class Election(Message):
    """A process stands for election."""

    candidate: ProcessId


class Elected(Message):
    """A process has won."""

    leader: ProcessId


class ExtremaFinding(core.Election):
    """The algorithm of the paper, which does not handle crashes. `ChangRoberts` does."""

    topology = Ring
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    passed_on: int | None = None  # the largest candidacy sent since the last announcement; None outside elections
    leader: int | None = None
    suspected: frozenset[int] = frozenset()  # the dead; always empty in the paper

    def on_elect(self, io: Io) -> None:
        if self.passed_on is None:
            self._stand(io)

    def on_election(self, message: Election, sender: int, io: Io) -> None:
        candidate = message.candidate
        if candidate > io.me and candidate not in self.suspected:
            if self.passed_on is None or candidate > self.passed_on:
                self.passed_on = candidate
            # Most messages of an election pass here: calling `_right` each time makes the whole election 5 % slower.
            io.send(self._right(io) if self.suspected else io.right, message)
        elif candidate == io.me:
            self._become_leader(io)
        elif self.passed_on is None:
            self._stand(io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if message.leader != io.me:  # otherwise the announcement has been all the way round
            self.passed_on = None
            self.leader = message.leader
            io.elected(message.leader)
            io.send(self._right(io), message)

    def _stand(self, io: Io) -> None:
        self.passed_on = io.me
        io.send(self._right(io), Election(io.me))

    def _become_leader(self, io: Io) -> None:
        self.passed_on = None
        self.leader = io.me
        io.elected(io.me)
        io.send(self._right(io), Elected(io.me))

    def _right(self, io: Io) -> int:
        return io.right

    def status(self) -> str:
        if self.passed_on is not None:
            return "candidate"
        return "" if self.leader is None else f"leader is {named(self.leader)}"

    def view(self) -> View | None:
        return View(active=True) if self.passed_on is not None else None


class ChangRoberts(ExtremaFinding):
    """`ExtremaFinding` with crashes: the dead are skipped, and what a crash may have lost is sent again."""

    name = "chang-roberts"
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.PERFECT_DETECTOR,
        Assumption.NO_RECOVERY,
    )

    least: int | None = None  # the smallest leader announced: all larger processes are dead, until somebody comes back

    def on_suspect(self, peer: int, io: Io) -> None:
        neighbour = self._right(io)
        self.suspected |= {peer}
        if peer in (self.leader, self.passed_on):
            self.leader = None
            self._stand(io)
            return
        if self.passed_on is not None:
            io.send(self._right(io), Election(self.passed_on))
        if peer == neighbour and self.leader is not None:
            io.send(self._right(io), Elected(self.leader))

    def on_trust(self, peer: int, io: Io) -> None:
        self.suspected -= {peer}
        self.least = None
        if self.leader is not None and peer > self.leader:
            self._stand(io)  # a larger process was alive all the time, perhaps behind a partition

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if message.leader in self.suspected:
            return  # the dead leader cannot stop this announcement: it would go round for ever
        if self.least is not None and message.leader > self.least:
            return  # out of date: a smaller leader has been announced since, so this one is dead
        if message.leader != io.me:
            self.least = message.leader
        super().on_elected(message, sender, io)

    def _become_leader(self, io: Io) -> None:
        if self.leader == io.me and self.passed_on is None:
            return  # a second candidacy of ours has come back after the first
        self.least = io.me
        super()._become_leader(io)

    def _right(self, io: Io) -> int:
        """The next live process."""
        neighbour = io.right
        while neighbour in self.suspected and neighbour != io.me:
            neighbour = io.after(neighbour)
        return neighbour
