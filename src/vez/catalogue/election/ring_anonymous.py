"""One election of identical processes on a ring: correct with one candidate, wrong with two.

Idea:        A candidate sends VoteForMe round the ring, and followers pass it on. A candidate that receives a VoteForMe
             takes it for its own, is elected, and sends HabemusLeader round the ring. When that comes back it takes
             office.
Source:      Camargos, Coordenação, "Algoritmos em Anéis": "Algoritmo do Anel 1"; GBC074 slides, "Algoritmo do Anel 1";
             the impossibility: Angluin, STOC 1980.
Assumptions: reliable FIFO channels; nobody crashes. The processes have no identifiers: none is ever read or sent.
Guarantees:  termination; uniqueness only with one candidate. Two candidates that start together receive the same
             messages, so both take office: without identifiers nothing distinguishes them.
Messages:    2n with one candidate: n VoteForMe, n HabemusLeader.
Deviations:  The identifier passed to `io.elected` is for the observer; the process itself never reads it. Followers
             cannot name the leader, so agreement is not promised.
"""

from __future__ import annotations

from vez.core import Assumption, Election, Io, Message, Property, Ring

FOLLOWER, CANDIDATE, ELECTED, IN_OFFICE = "follower", "candidate", "elected", "in office"


class VoteForMe(Message):
    """A process stands for election."""


class HabemusLeader(Message):
    """A process has been elected."""


class RingAnonymous(Election):
    """A ring of identical processes."""

    name = "ring-anonymous"
    topology = Ring
    one_election = True
    assumes = (Assumption.RELIABLE, Assumption.FIFO, Assumption.NO_CRASHES)
    symmetry = "rotation"
    guarantees = (Property.UNIQUENESS, Property.TERMINATION)
    wrong = "two candidates at once are both in office: identical processes cannot break their symmetry"

    state: str = FOLLOWER

    def on_elect(self, io: Io) -> None:
        if self.state == FOLLOWER:
            self.state = CANDIDATE
            io.send(io.right, VoteForMe())

    def on_vote_for_me(self, message: VoteForMe, sender: int, io: Io) -> None:
        if self.state == FOLLOWER:
            io.send(io.right, message)
        elif self.state == CANDIDATE:
            self.state = ELECTED
            io.send(io.right, HabemusLeader())

    def on_habemus_leader(self, message: HabemusLeader, sender: int, io: Io) -> None:
        if self.state == FOLLOWER:
            io.send(io.right, message)
        elif self.state == ELECTED:
            self.state = IN_OFFICE
            io.elected(io.me)

    def status(self) -> str:
        return self.state
