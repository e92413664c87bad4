"""Compare with the nearest active process on both sides; only the largest stays active, round after round.

Idea:        Active processes send their identifiers in both directions, and passive ones pass messages on. So each
             active process receives the identifiers of the nearest active ones on its left and right. If one of them is
             larger, it becomes passive. If both are smaller, it goes into the next round. If both are its own, it is
             the only one left, and leads.
Source:      Camargos, Coordenação, "Algoritmos em Anéis"; GBC074 slides, "Algoritmo de Franklin"; Franklin, CACM 25(5),
             1982.
Assumptions: unique identifiers; reliable channels; a perfect detector notices crashes.
Guarantees:  uniqueness, termination, agreement; the largest live identifier leads.
Messages:    2n a round, and at most one of two neighbouring active processes survives it: at most 2n(⌊log₂ n⌋+1) with
             the final lap, at least 4n (n ≥ 3). Then n to announce.
Deviations:  Messages carry their round, so channels need not be FIFO. In Camargos, a loser sends -p: right all the
             same, with three to four times the messages (`zoo:franklin-minus`), so it is left out. A process that was
             not asked joins when the first message arrives. When a process dies, the rounds begin again without it
             (`successive`).
"""

from __future__ import annotations

from vez.catalogue.election.successive import Stage, Successive
from vez.core import BidirectionalRing, Io, Message, ProcessId, View, named


class Candidate(Message):
    """The identifier of an active process, on its way to the next active one."""

    candidate: ProcessId
    round: int
    rightward: bool
    stage: Stage = ()


class Elected(Message):
    """The last active process leads."""

    leader: ProcessId
    stage: Stage = ()


class Franklin(Successive):
    """Rounds in a ring of two directions."""

    name = "franklin"
    topology = BidirectionalRing
    best_wins = True

    active: bool = True
    round: int = 0  # 0 before `on_elect` and the first message
    from_left: int | None = None  # received in this round
    from_right: int | None = None
    early: tuple[Candidate, ...] = ()  # messages of later rounds, from neighbours that are ahead; empty when passive

    def _stand(self, io: Io) -> None:
        self._next_round(io)

    def on_candidate(self, message: Candidate, sender: int, io: Io) -> None:
        if message.stage != self.stage and not self._is_current(message.stage, io):
            return
        if not self.active and self.suspected:
            io.send(self._right(io) if message.rightward else self._left(io), message)
        elif not self.active:
            io.send(io.right if message.rightward else io.left, message)
        elif message.round > self.round:
            self.early += (message,)
        else:
            if message.rightward:
                self.from_left = message.candidate
            else:
                self.from_right = message.candidate
            if self.from_left is not None and self.from_right is not None:
                self._compare(max(self.from_left, self.from_right), sender, io)

    def _compare(self, largest: int, sender: int, io: Io) -> None:
        self.from_left = self.from_right = None
        if largest == io.me:
            self._become_leader(io)
            return
        if largest < io.me:
            self._next_round(io)
        else:
            self.active = False
        waiting, self.early = self.early, ()
        for message in waiting:
            self.on_candidate(message, sender, io)

    def _next_round(self, io: Io) -> None:
        self.round += 1
        right, left = (self._right(io), self._left(io)) if self.suspected else (io.right, io.left)
        io.send(right, Candidate(io.me, self.round, True, self.stage or ()))
        io.send(left, Candidate(io.me, self.round, False, self.stage or ()))

    def _become_leader(self, io: Io) -> None:
        self._decide(io.me, io)
        io.send(self._right(io), Elected(io.me, self.stage or ()))

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if message.leader != io.me and self._is_current(message.stage, io):
            self._decide(message.leader, io)
            io.send(self._right(io), message)

    def _forget(self) -> None:
        self.active, self.round, self.from_left, self.from_right, self.early = True, 0, None, None, ()

    def status(self) -> str:
        if self.leader is not None and not self.taking_part:
            return f"leader is {named(self.leader)}"
        if not self.round:
            return ""
        return f"active, round {self.round}" if self.active else "passive"

    def view(self) -> View | None:
        return View(active=self.active) if self.round else None
