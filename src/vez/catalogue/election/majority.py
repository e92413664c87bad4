"""A leader needs more than half of the weight, in a term in which everybody votes once.

Idea:        A follower that receives no heartbeat for a random time starts a new term, votes for itself and asks for
             votes. Every process gives one vote per term, and remembers it through a crash. The votes of more than half
             of the weight make a leader. Any two such sets share a process, so a term has at most one leader.
Source:      Camargos, Coordenação, "Split-brain"; the election of Raft: Ongaro and Ousterhout, USENIX ATC 2014, section
             5.2.
Assumptions: unique identifiers; durable fields survive crashes. Termination needs a majority whose messages reach one
             another.
Guarantees:  uniqueness per term under loss, duplication, partition, crash and recovery. Termination and agreement while
             a majority is up and connected; a leader of an older term may not know of the new one yet.
Messages:    N-1 RequestVote and up to N-1 Vote for an election, then N-1 Heartbeat every `heartbeat_ms`.
Deviations:  There is no log, so a process votes for the first candidate that asks. A refusal sends no message. Weights
             are a parameter; a process that is not listed weighs 1.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Durable, Io, Message, Parameter, Property, View

FOLLOWER, CANDIDATE, LEADER = "FOLLOWER", "CANDIDATE", "LEADER"


class RequestVote(Message):
    """A candidate asks for the vote in this term."""

    term: int


class Vote(Message):
    """The one vote of this process in this term."""

    term: int


class Heartbeat(Message):
    """The leader of this term is alive."""

    term: int


class Majority(core.Election):
    """Terms, votes, and more than half of the weight."""

    name = "majority"
    assumes = (Assumption.UNIQUE_IDS, Assumption.STABLE_STORAGE)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT)
    rising_terms = True

    heartbeat_ms: Parameter[float] = 5.0
    patience_ms: Parameter[float] = 15.0  # several heartbeats may be late or lost before a follower campaigns
    spread_ms: Parameter[int] = 15  # random extra of up to this, drawn each time, so that few campaign at once
    weights: Parameter[tuple[tuple[int, int], ...]] = ()  # (process, weight); others weigh 1
    term: Durable[int] = 0  # never falls
    voted_for: Durable[int | None] = None  # the vote in this term; never changed within a term
    state: str = FOLLOWER
    votes: frozenset[int] = frozenset()  # who has voted for us in this term; meaningful while CANDIDATE
    leader: int | None = None  # of this term, once known

    def objection(self, ids: tuple[int, ...]) -> str:
        weighed = [process for process, _ in self.weights]
        if unknown := sorted({*weighed} - {*ids}):
            return f"weights: there is no process {unknown[0]}"
        if len({*weighed}) < len(weighed):
            return "weights: a process has more than one weight"
        return "weights: expected 0 or more" if any(weight < 0 for _, weight in self.weights) else ""

    def on_start(self, io: Io) -> None:
        self._wait(io)

    def on_elect(self, io: Io) -> None:
        if self.state != LEADER:
            self._campaign(io)

    def on_timer_campaign(self, io: Io) -> None:
        self._campaign(io)

    def _campaign(self, io: Io) -> None:
        self.term += 1
        self.voted_for = io.me
        self.state = CANDIDATE
        self.leader = None
        self.votes = frozenset({io.me})
        self._wait(io)
        io.broadcast(RequestVote(self.term))
        self._count(io)

    def on_request_vote(self, message: RequestVote, sender: int, io: Io) -> None:
        if message.term > self.term:
            self._step_down(message.term, io)
        if message.term == self.term and self.voted_for in (None, sender):
            self.voted_for = sender
            self._wait(io)
            io.send(sender, Vote(self.term))

    def on_vote(self, message: Vote, sender: int, io: Io) -> None:
        if self.state == CANDIDATE and message.term == self.term:
            self.votes |= {sender}
            self._count(io)

    def _count(self, io: Io) -> None:
        weights = dict(self.weights)
        ours = sum(weights.get(process, 1) for process in sorted(self.votes))
        total = sum(weights.get(process, 1) for process in (io.me, *io.peers))
        if 2 * ours > total:
            self.state = LEADER
            self.leader = io.me
            io.cancel_timer("campaign")
            io.elected(io.me, self.term)
            self.on_timer_heartbeat(io)

    def on_timer_heartbeat(self, io: Io) -> None:
        io.broadcast(Heartbeat(self.term))
        io.set_timer("heartbeat", self.heartbeat_ms)

    def on_heartbeat(self, message: Heartbeat, sender: int, io: Io) -> None:
        if message.term < self.term or (self.state == LEADER and message.term == self.term):
            return
        if message.term > self.term or self.state == CANDIDATE:
            self._step_down(message.term, io)
        if self.leader != sender:
            self.leader = sender
            io.elected(sender, self.term)
        self._wait(io)

    def _step_down(self, term: int, io: Io) -> None:
        if term > self.term:
            self.term = term
            self.voted_for = None
        if self.state == LEADER:
            io.cancel_timer("heartbeat")
            self._wait(io)
        self.state = FOLLOWER
        self.leader = None

    def _wait(self, io: Io) -> None:
        io.set_timer("campaign", self.patience_ms + io.choose(range(self.spread_ms + 1)))

    def status(self) -> str:
        return f"{self.state}, term {self.term}"

    def view(self) -> View | None:
        return View(active=True) if self.state == CANDIDATE else None
