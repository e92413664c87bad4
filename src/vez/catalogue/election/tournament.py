"""A tournament round a ring: in each phase a candidate must win a neighbourhood twice as wide.

Idea:        In phase k a candidate probes 2^k processes to its left and to its right. A larger process drops the probe;
             otherwise the last process sends a reply back. A candidate with both replies goes into the next phase. A
             candidate that receives its own probe has beaten the whole ring, and leads.
Source:      Resumos LEIC, "Eleição em anel por torneio"; Hirschberg and Sinclair, CACM 23(11), 1980.
Assumptions: unique identifiers; reliable channels; a perfect detector notices crashes.
Guarantees:  uniqueness, termination, agreement; the largest live identifier leads.
Messages:    At most 8n(1+⌈log₂ n⌉) probes and replies in at most 1+⌈log₂ n⌉ phases; then n to announce.
Deviations:  A candidate gives up as soon as it receives a larger probe. A process that was not asked stands when a
             smaller probe arrives. When a process dies, the tournament begins again without it (`successive`).
"""

from __future__ import annotations

from vez.catalogue.election.successive import Stage, Successive
from vez.core import BidirectionalRing, Io, Message, ProcessId, View

IDLE, CANDIDATE, DEFEATED, LEADER = "", "candidate", "defeated", "leader"


class Probe(Message):
    """Is any of the next 2^phase processes larger? `hops` counts those reached, the receiver included."""

    candidate: ProcessId
    phase: int
    hops: int
    rightward: bool
    stage: Stage = ()


class Reply(Message):
    """No process within reach is larger; on its way back to the candidate."""

    candidate: ProcessId
    rightward: bool
    stage: Stage = ()


class Elected(Message):
    """The winner, sent once round the ring."""

    leader: ProcessId
    stage: Stage = ()


class Tournament(Successive):
    """The distance doubles and the candidates halve in each phase."""

    name = "tournament"
    topology = BidirectionalRing
    best_wins = True

    state: str = IDLE
    phase: int = 0
    replies: int = 0  # to the probes of this phase; 2 lead to the next

    def on_elect(self, io: Io) -> None:
        if not self.taking_part:
            super().on_elect(io)
        elif self.state == IDLE:
            self._stand(io)

    def _join(self, io: Io) -> None:
        """Do nothing yet: the first probe decides whether this process stands."""

    def on_probe(self, message: Probe, sender: int, io: Io) -> None:
        if (message.stage != self.stage and not self._is_current(message.stage, io)) or not self.taking_part:
            return  # of an earlier stage, or the winner is known
        candidate, rightward = message.candidate, message.rightward
        if candidate > io.me:
            if self.state != DEFEATED:
                self._lose()
            if message.hops < 1 << message.phase:
                further = Probe(candidate, message.phase, message.hops + 1, rightward, message.stage)
                if self.suspected:
                    self._pass_on(further, rightward, io)
                else:
                    io.send(io.right if rightward else io.left, further)
            else:
                self._pass_on(Reply(candidate, not rightward, message.stage), not rightward, io)
        elif candidate < io.me:
            if self.state == IDLE:
                self._stand(io)
        elif self.state == CANDIDATE:
            self.state = LEADER
            self._decide(io.me, io)
            io.send(self._right(io), Elected(io.me, message.stage))

    def on_reply(self, message: Reply, sender: int, io: Io) -> None:
        if (message.stage != self.stage and not self._is_current(message.stage, io)) or not self.taking_part:
            return  # of an earlier stage, or the winner is known
        if message.candidate != io.me and self.suspected:
            self._pass_on(message, message.rightward, io)
        elif message.candidate != io.me:
            io.send(io.right if message.rightward else io.left, message)
        elif self.state == CANDIDATE:
            self.replies += 1
            if self.replies == 2:
                self.phase += 1
                self._probe(io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if message.leader != io.me and self._is_current(message.stage, io):
            self._lose()
            self._decide(message.leader, io)
            io.send(self._right(io), message)

    def _stand(self, io: Io) -> None:
        self.state = CANDIDATE
        self._probe(io)

    def _probe(self, io: Io) -> None:
        self.replies = 0
        right, left = (self._right(io), self._left(io)) if self.suspected else (io.right, io.left)
        io.send(right, Probe(io.me, self.phase, 1, True, self.stage or ()))
        io.send(left, Probe(io.me, self.phase, 1, False, self.stage or ()))

    def _lose(self) -> None:
        self.state, self.phase, self.replies = DEFEATED, 0, 0

    def _pass_on(self, message: Message, rightward: bool, io: Io) -> None:
        io.send(self._right(io) if rightward else self._left(io), message)

    def _forget(self) -> None:
        self.state, self.phase, self.replies = IDLE, 0, 0

    def status(self) -> str:
        return f"candidate, phase {self.phase}" if self.state == CANDIDATE else self.state

    def view(self) -> View | None:
        return View(active=self.state != DEFEATED) if self.state != IDLE else None
