"""Round a ring, larger identifiers swallow smaller ones; the one that comes home leads.

Idea:        A candidate sends its identifier to the right. Larger identifiers are passed on, smaller ones
             are replaced by one's own (once). Who receives its own identifier has beaten everybody, and
             sends its name round once more.
Source:      seeds 000, 001 and 004; Chang and Roberts, CACM 22(5), 1979.
Assumptions: unique identifiers; reliable channels; crashes are noticed by a perfect detector.
Guarantees:  uniqueness, termination, agreement, and the largest live identifier leads.
Messages:    All start: n·H_n on average, 2n-1 at best, n(n+1)/2 at worst, then n to announce. One starter:
             at most 3N-1 with the announcement.
Deviations:  Dead neighbours are skipped when the detector says so (001). A crash may take a message with it,
             so whoever learns of one sends what it passed on once more, and what was announced to the dead
             neighbour. What the dead have sent is not passed on, and an announcement of somebody larger than a
             leader known since is out of date.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Property, Ring, View


class Election(Message):
    """Somebody stands for election."""

    candidate: int


class Elected(Message):
    """Somebody has won."""

    leader: int


class ChangRoberts(core.Election):
    """Extrema finding in a ring of one direction."""

    name = "chang-roberts"
    topology = Ring
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.PERFECT_DETECTOR,
        Assumption.NO_RECOVERY,
    )
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    passed_on: int | None = None  # the largest candidacy sent since the last announcement; None outside elections
    leader: int | None = None
    least: int | None = None  # the smallest leader announced: whoever is larger is dead, until somebody comes back
    suspected: frozenset[int] = frozenset()

    def on_elect(self, io: Io) -> None:
        if self.passed_on is None:
            self._stand(io)

    def on_election(self, message: Election, sender: int, io: Io) -> None:
        candidate = message.candidate
        if candidate > io.me and candidate not in self.suspected:
            if self.passed_on is None or candidate > self.passed_on:
                self.passed_on = candidate
            io.send(self._right(io) if self.suspected else io.right, message)
        elif candidate == io.me:
            self._become_leader(io)
        elif self.passed_on is None:
            self._stand(io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if message.leader == io.me or message.leader in self.suspected:
            return  # once round: everybody knows; of a dead one: it would go round for ever
        if self.least is not None and message.leader > self.least:
            return  # it is dead: it would have beaten the one that was announced since
        self.passed_on = None
        self.leader = self.least = message.leader
        io.elected(message.leader)
        io.send(self._right(io), message)

    def on_suspect(self, peer: int, io: Io) -> None:
        """What was sent to the dead neighbour may be lost: it is sent again, past it."""
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
            self._stand(io)  # somebody larger was there all along, beyond a partition perhaps

    def _stand(self, io: Io) -> None:
        self.passed_on = io.me
        io.send(self._right(io), Election(io.me))

    def _become_leader(self, io: Io) -> None:
        if self.leader == io.me and self.passed_on is None:
            return  # a second candidacy of ours came home after the first
        self.passed_on = None
        self.leader = self.least = io.me
        io.elected(io.me)
        io.send(self._right(io), Elected(io.me))

    def _right(self, io: Io) -> int:
        neighbour = io.right
        while neighbour in self.suspected and neighbour != io.me:
            neighbour = io.after(neighbour)
        return neighbour

    def status(self) -> str:
        if self.passed_on is not None:
            return "candidate"
        return "" if self.leader is None else f"leader is {self.leader}"

    def view(self) -> View | None:
        return View(active=True) if self.passed_on is not None else None
