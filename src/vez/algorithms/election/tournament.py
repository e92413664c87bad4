"""A tournament round a ring: in each phase a candidate must win a neighbourhood twice as wide.

Idea:        In phase k a candidate probes 2^k processes to its left and to its right. A larger process drops the probe;
             otherwise the last process sends a reply back. A candidate with both replies goes into the next phase. A
             candidate that receives its own probe has beaten the whole ring, and leads.
Source:      Resumos LEIC, "Eleição em anel por torneio"; Hirschberg and Sinclair, CACM 23(11), 1980.
Assumptions: unique identifiers; reliable channels; nobody crashes.
Guarantees:  uniqueness, termination, agreement; the largest identifier leads.
Messages:    At most 8n(1+⌈log₂ n⌉) probes and replies in at most 1+⌈log₂ n⌉ phases; then n to announce.
Deviations:  A candidate gives up as soon as it receives a larger probe. A process that was not asked stands when a
             smaller probe arrives. There is one election only.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, BidirectionalRing, Io, Message, Property, View

IDLE, CANDIDATE, DEFEATED, LEADER = "", "candidate", "defeated", "leader"


class Probe(Message):
    """Is any of the next 2^phase processes larger? `hops` counts those reached, the receiver included."""

    candidate: int
    phase: int
    hops: int
    rightward: bool


class Reply(Message):
    """No process within reach is larger; on its way back to the candidate."""

    candidate: int
    rightward: bool


class Elected(Message):
    """The winner, sent once round the ring."""

    leader: int


class Tournament(core.Election):
    """The distance doubles and the candidates halve in each phase."""

    name = "tournament"
    topology = BidirectionalRing
    assumes = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    state: str = IDLE
    phase: int = 0
    replies: int = 0  # to the probes of this phase; 2 lead to the next

    def on_elect(self, io: Io) -> None:
        if self.state == IDLE:
            self._stand(io)

    def on_probe(self, message: Probe, sender: int, io: Io) -> None:
        candidate, rightward = message.candidate, message.rightward
        if candidate > io.me:
            self.state = DEFEATED
            if message.hops < 1 << message.phase:
                further = Probe(candidate, message.phase, message.hops + 1, rightward)
                io.send(io.right if rightward else io.left, further)
            else:
                io.send(io.left if rightward else io.right, Reply(candidate, not rightward))
        elif candidate < io.me:
            if self.state == IDLE:
                self._stand(io)
        elif self.state == CANDIDATE:
            self.state = LEADER
            io.elected(io.me)
            io.send(io.right, Elected(io.me))

    def on_reply(self, message: Reply, sender: int, io: Io) -> None:
        if message.candidate != io.me:
            io.send(io.right if message.rightward else io.left, message)
        elif self.state == CANDIDATE:
            self.replies += 1
            if self.replies == 2:
                self.phase += 1
                self._probe(io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if message.leader != io.me:
            self.state = DEFEATED
            io.elected(message.leader)
            io.send(io.right, message)

    def _stand(self, io: Io) -> None:
        self.state = CANDIDATE
        self._probe(io)

    def _probe(self, io: Io) -> None:
        self.replies = 0
        io.send(io.right, Probe(io.me, self.phase, 1, True))
        io.send(io.left, Probe(io.me, self.phase, 1, False))

    def status(self) -> str:
        return f"candidate, phase {self.phase}" if self.state == CANDIDATE else self.state

    def view(self) -> View | None:
        return View(active=self.state != DEFEATED) if self.state != IDLE else None
