"""As `bully`, but the process that has been up longest wins, so a returning process replaces nobody.

Idea:        A process that comes back asks who is there, takes a birth number one larger than all of theirs, and
             follows their leader. In an election the smallest birth number wins, and among equals the larger
             identifier. So the leader is always the oldest live process, and only its own failure replaces it.
Source:      Camargos, Coordenação, "Estabilidade": the weight of a process grows with the time it has been up.
Assumptions: unique identifiers; reliable channels; known bounds; a perfect detector notices crashes.
Guarantees:  uniqueness, termination, agreement, and stability: no new leader unless the old one failed.
Messages:    As `bully`, but everybody is asked, because nobody knows the birth numbers of the others: N-1 Election, an
             Answer from every older process, N-1 Coordinator. A return costs N-1 Return and N-1 Present.
Deviations:  The order of births replaces the uptime: all uptimes grow at the same pace, so only their order counts, and
             no clock is needed. Nothing is durable: a process that has forgotten everything is simply the youngest.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Parameter, ProcessId, Property, View

FOLLOWER, CANDIDATE, WAITING, LEADER, RETURNING = "FOLLOWER", "CANDIDATE", "WAITING", "LEADER", "RETURNING"


class Return(Message):
    """To everybody: I am back; who is there?"""


class Present(Message):
    """I am here, with this birth number, and this is the leader."""

    birth: int
    leader: ProcessId | None


class Election(Message):
    """I stand, unless somebody older objects."""

    birth: int


class Answer(Message):
    """Older to younger: I object."""


class Coordinator(Message):
    """I lead."""

    birth: int


class BullyStable(core.Election):
    """The bully election, in which the oldest process wins."""

    name = "bully-stable"
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.KNOWN_BOUNDS,
        Assumption.PERFECT_DETECTOR,
    )
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.STABILITY)

    answer_ms: Parameter[float] = 6.0  # longer than an Election and its Answer take
    coordinator_ms: Parameter[float] = 12.0  # longer than the answerer's own wait and its announcement
    state: str = FOLLOWER
    birth: int = 0  # larger than that of every process that was up when we came back; 0 before a crash
    leader: int | None = None
    suspected: frozenset[int] = frozenset()

    def on_recover(self, io: Io) -> None:
        self.state = RETURNING
        io.broadcast(Return())
        io.set_timer("present", self.answer_ms)

    def on_return(self, message: Return, sender: int, io: Io) -> None:
        if self.state == RETURNING:
            return
        if sender == self.leader:  # it failed and came back before the detector noticed
            self._stand(io)
        io.send(sender, Present(self.birth, self.leader))

    def on_present(self, message: Present, sender: int, io: Io) -> None:
        if self.state == RETURNING:
            self.birth = max(self.birth, message.birth + 1)
            if message.leader is not None:
                self.leader = message.leader

    def on_timer_present(self, io: Io) -> None:
        if self.leader is None or self.leader in self.suspected or self.leader == io.me:
            self._stand(io)
        else:
            self._follow(self.leader, io)

    def on_elect(self, io: Io) -> None:
        if self.leader is None and self.state == FOLLOWER:
            self._stand(io)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.suspected |= {peer}
        if peer == self.leader and self.state != RETURNING:
            self._stand(io)

    def on_trust(self, peer: int, io: Io) -> None:
        self.suspected -= {peer}
        if self.state == LEADER:
            io.send(peer, Coordinator(self.birth))  # it may follow another leader, perhaps behind a partition

    def on_election(self, message: Election, sender: int, io: Io) -> None:
        if self.state == RETURNING or self._is_older(message.birth, sender, io):
            return
        io.send(sender, Answer())
        if self.state == LEADER:
            io.send(sender, Coordinator(self.birth))
        elif self.state == FOLLOWER:
            self._stand(io)

    def on_answer(self, message: Answer, sender: int, io: Io) -> None:
        if self.state == CANDIDATE:
            self.state = WAITING
            io.cancel_timer("answer")
            io.set_timer("coordinator", self.coordinator_ms)

    def on_timer_answer(self, io: Io) -> None:
        self._become_leader(io)

    def on_timer_coordinator(self, io: Io) -> None:
        self._stand(io)  # the process that answered has died since

    def on_coordinator(self, message: Coordinator, sender: int, io: Io) -> None:
        if sender in self.suspected:
            return  # sent before it died
        if self.state == RETURNING:
            self.birth = max(self.birth, message.birth + 1)
            self.leader = sender
        elif self._is_older(message.birth, sender, io):
            self._follow(sender, io)
        else:
            self._stand(io)

    def _is_older(self, birth: int, process: int, io: Io) -> bool:
        return (birth, -process) < (self.birth, -io.me)

    def _stand(self, io: Io) -> None:
        self._stop_timers(io)
        self.leader = None
        others = [peer for peer in io.peers if peer not in self.suspected]
        if not others:
            self._become_leader(io)
            return
        self.state = CANDIDATE
        for peer in others:
            io.send(peer, Election(self.birth))
        io.set_timer("answer", self.answer_ms)

    def _become_leader(self, io: Io) -> None:
        self.state = LEADER
        self.leader = io.me
        io.elected(io.me)
        io.broadcast(Coordinator(self.birth))

    def _follow(self, leader: int, io: Io) -> None:
        self._stop_timers(io)
        self.state = FOLLOWER
        self.leader = leader
        io.elected(leader)

    def _stop_timers(self, io: Io) -> None:
        io.cancel_timer("answer")
        io.cancel_timer("coordinator")

    def longest_delay_ms(self) -> float:
        """A third of `answer_ms`. A half is too much: the last answer must not arrive just when the timer fires."""
        return self.answer_ms / 3

    def status(self) -> str:
        return f"{self.state}, born {self.birth}" if self.birth else self.state

    def view(self) -> View | None:
        return View(active=self.state == CANDIDATE) if self.state in (CANDIDATE, WAITING) else None
