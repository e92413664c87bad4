"""Mistakes in elections among all (`bully`, `bully-stable`, `majority`) and on graphs (`yoyo`)."""

from __future__ import annotations

from vez.catalogue.election import bully, majority
from vez.catalogue.election.bully import Bully
from vez.catalogue.election.bully_stable import BullyStable
from vez.catalogue.election.majority import Majority
from vez.catalogue.election.yoyo import Up, YoYo
from vez.catalogue.zoo.specimen import Specimen, ballot, stand
from vez.core import Io, Property
from vez.worlds.sim.scenario import Crash, Detector, Nemesis, Network

PROMPT = Network(delay="uniform(0.2, 1)")
"""Delays within the bounds that the timers of `bully` assume."""
UNTOLD = Detector(kind="none")


class DeafCandidate(Bully):
    """Makes a mistake when it is answered."""

    name = "zoo:deaf-candidate"
    wrong = "the timer for answers is not cancelled when an answer arrives"

    def on_answer(self, message: bully.Answer, sender: int, io: Io) -> None:
        if self.state == bully.CANDIDATE:
            self.state = bully.WAITING
            io.set_timer("coordinator", self.coordinator_ms)


class Patient(Bully):
    """Makes a mistake when it waits for the winner."""

    name = "zoo:patient"
    wrong = "a candidate that was answered waits for ever, although the process that answered may die"

    def on_timer_coordinator(self, io: Io) -> None:
        """Does nothing: a larger process will announce itself."""


class OldHabits(BullyStable):
    """Makes a mistake when it comes back."""

    name = "zoo:old-habits"
    wrong = "a process that comes back stands at once, as if it had never crashed"

    def on_recover(self, io: Io) -> None:
        self._stand(io)


class ForgottenVote(Majority):
    """Makes a mistake when it votes."""

    name = "zoo:forgotten-vote"
    wrong = "the vote is not durable"

    voted_for: int | None = None


class EvenSplit(Majority):
    """Makes a mistake when it counts votes."""

    name = "zoo:even-split"
    wrong = "half of the weight is taken for a majority"

    def _count(self, io: Io) -> None:
        if 2 * len(self.votes) >= len(io.peers) + 1 and self.state == majority.CANDIDATE:
            self.state = majority.LEADER
            self.leader = io.me
            io.cancel_timer("campaign")
            io.elected(io.me, self.term)
            self.on_timer_heartbeat(io)


class LateVotes(Majority):
    """Makes a mistake when a vote arrives."""

    name = "zoo:late-votes"
    wrong = "votes of earlier terms are counted in this one"

    def on_vote(self, message: majority.Vote, sender: int, io: Io) -> None:
        if self.state == majority.CANDIDATE:
            self.votes |= {sender}
            self._count(io)


class Pruner(YoYo):
    """Makes a mistake when it prunes."""

    name = "zoo:pruner"
    wrong = "if several edges brought the same value, all are pruned instead of all but one"

    def _answer(self, io: Io) -> None:
        names = [value.least for value in self.values]
        doubled = {value.sender for value in self.values if names.count(value.least) > 1}
        self.values = tuple(value for value in self.values if value.sender not in doubled)
        for peer in sorted(doubled):
            io.send(peer, Up(True, True, self.round, self.stage or ()))
        if self.values or not doubled:
            super()._answer(io)
        else:
            self.above = frozenset()
            self.below = frozenset(answer.sender for answer in self.answers if answer.yes and not answer.prune)
            if self.below:
                self._next_round(io)


SLOW = Network(delay="uniform(0.5, 8)")
CALM = {"heartbeat_ms": 9.0, "patience_ms": 30.0}
HASTY = {"heartbeat_ms": 4.0, "patience_ms": 12.0, "spread_ms": 2}
"""A candidate waits less than a round trip may take, so that messages of several terms are in transit together."""
RESTARTS = tuple(Crash(process=2, at_ms=at, recover_ms=at + 0.1) for at in (1.0, 2.5, 4.0, 5.5, 7.0, 8.5))
"""Process 2 crashes and comes back six times, with its durable fields."""

SPECIMENS = (
    Specimen(
        algorithm=DeafCandidate,
        honest=Bully,
        breaks=Property.UNIQUENESS,
        teaches="What an answer must undo.",
        answer=(
            "The answer makes the candidate wait, but the timer that makes it leader is still running and fires. A "
            "state and its timers must change together."
        ),
        world=ballot(DeafCandidate, 4, network=PROMPT, detector=UNTOLD, crash=(Crash(process=4),)),
    ),
    Specimen(
        algorithm=Patient,
        honest=Bully,
        breaks=Property.TERMINATION,
        teaches="An answer is not a promise.",
        answer=(
            "The larger process answers and dies before it announces itself. The candidate that it answered waits for "
            "an announcement that never comes. The wait needs a timer, after which the process stands again."
        ),
        world=ballot(
            Patient, 4, network=PROMPT, detector=UNTOLD, crash=(Crash(process=4), Crash(process=3, at_ms=2.5))
        ),
    ),
    Specimen(
        algorithm=OldHabits,
        honest=BullyStable,
        breaks=Property.STABILITY,
        teaches="A process that comes back must ask first.",
        answer=(
            "The returning process has forgotten its birth number and stands as one of the oldest. With a large "
            "identifier it replaces a leader that had not failed. It must ask who is there, and be younger than all "
            "of them."
        ),
        world=ballot(OldHabits, 4, network=PROMPT, nemesis=Nemesis(crashes=2, recoveries=2, within_ms=60)),
    ),
    Specimen(
        algorithm=ForgottenVote,
        honest=Majority,
        breaks=Property.UNIQUENESS,
        teaches="What a crash must not erase.",
        answer=(
            "A process votes, crashes, comes back in the same term (which is durable) without its vote, and votes for "
            "another: two majorities in one term. The vote must be on disk before it is sent."
        ),
        world=ballot(ForgottenVote, 3, network=SLOW, until_ms=28, parameters=CALM, crash=RESTARTS, elect=stand(1, 3)),
    ),
    Specimen(
        algorithm=EvenSplit,
        honest=Majority,
        breaks=Property.UNIQUENESS,
        teaches="More than half is not at least half.",
        answer=(
            "Two of four votes are taken for enough, and there are two such pairs without a common member. Only sets "
            "of more than half always share a member."
        ),
        world=ballot(EvenSplit, 4, network=SLOW, until_ms=28, parameters=CALM, elect=stand(1, 2)),
    ),
    Specimen(
        algorithm=LateVotes,
        honest=Majority,
        breaks=Property.UNIQUENESS,
        teaches="Why every message carries its term.",
        answer=(
            "A vote given in an earlier term arrives late and is counted in this one, in which its sender has voted "
            "for another candidate. Messages of old terms must be dropped."
        ),
        world=ballot(LateVotes, 3, network=SLOW, until_ms=60, parameters=HASTY, elect=stand(1, 2)),
    ),
    Specimen(
        algorithm=Pruner,
        honest=YoYo,
        breaks=Property.AGREEMENT,
        teaches="What pruning must leave.",
        answer=(
            "Two edges bring the same value and both are pruned; they were the only connection between two parts of "
            "the graph. One edge of each value must stay."
        ),
        world=ballot(Pruner, 6, edges=((1, 3), (1, 4), (3, 5), (4, 5), (2, 5), (2, 6))),
    ),
)
