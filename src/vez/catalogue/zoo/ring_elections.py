"""Mistakes in elections on rings (`ring-collect`, `chang-roberts`, `franklin`, `tournament`, …)."""

from __future__ import annotations

from vez.catalogue.election import dolev_klawe_rodeh, franklin, itai_rodeh, ring_collect, tournament
from vez.catalogue.election.chang_roberts import ChangRoberts
from vez.catalogue.election.dolev_klawe_rodeh import DolevKlaweRodeh
from vez.catalogue.election.franklin import Franklin
from vez.catalogue.election.itai_rodeh import ItaiRodeh
from vez.catalogue.election.ring_collect import RingCollect
from vez.catalogue.election.tournament import Tournament
from vez.catalogue.zoo.specimen import Specimen, ballot
from vez.core import Io, Property
from vez.worlds.sim.scenario import Nemesis


class StrawPoll(RingCollect):
    """Makes a mistake when it decides."""

    name = "zoo:straw-poll"
    wrong = "a process decides by the first list that it receives, which may lack identifiers"

    def on_collect(self, message: ring_collect.Collect, sender: int, io: Io) -> None:
        self.taking_part = self.leader is None
        self._announce(min((*message.names, io.me)), message.stage, io)
        if message.names[0] != io.me:
            io.send(io.right, ring_collect.Collect((*message.names, io.me), message.stage))


class LostCandidacy(ChangRoberts):
    """Makes a mistake when it learns of a crash."""

    name = "zoo:lost-candidacy"
    wrong = "only the crash of a known leader starts a new election, not a crash that may have lost a candidacy"

    def on_suspect(self, peer: int, io: Io) -> None:
        self.suspected |= {peer}
        if peer == self.leader:
            self._stand(io)


class OutOfStep(Franklin):
    """Makes a mistake when it compares identifiers."""

    name = "zoo:out-of-step"
    wrong = "a message of a later round is taken for one of this round"

    def on_candidate(self, message: franklin.Candidate, sender: int, io: Io) -> None:
        this_round = min(message.round, self.round or 1)
        super().on_candidate(
            franklin.Candidate(message.candidate, this_round, message.rightward, message.stage), sender, io
        )


class HalfWay(Tournament):
    """Makes a mistake when it counts replies."""

    name = "zoo:half-way"
    wrong = "a candidate that has beaten a quarter of the ring on each side leads, although half was not asked"

    def on_reply(self, message: tournament.Reply, sender: int, io: Io) -> None:
        super().on_reply(message, sender, io)
        if self.state == tournament.CANDIDATE and 2 << self.phase > len(io.peers):
            self.state = tournament.LEADER
            self._decide(io.me, io)
            io.send(self._right(io), tournament.Elected(io.me, message.stage))


class Keepsake(DolevKlaweRodeh):
    """Makes a mistake when it survives a phase."""

    name = "zoo:keepsake"
    wrong = "a survivor continues with its own identifier instead of the one that it must take over"

    def on_second(self, message: dolev_klawe_rodeh.Second, sender: int, io: Io) -> None:
        if self.state == dolev_klawe_rodeh.RELAY:
            io.send(io.right, message)
        elif self.neighbour > max(self.held, message.candidate):
            io.send(io.right, dolev_klawe_rodeh.First(self.held))
        else:
            self.state = dolev_klawe_rodeh.RELAY


class Lookalike(ItaiRodeh):
    """Makes a mistake when it recognises its own message."""

    name = "zoo:lookalike"
    wrong = "a process takes a message with its name for its own, although another may have drawn the same name"

    def on_candidacy(self, message: itai_rodeh.Candidacy, sender: int, io: Io) -> None:
        if self.state == itai_rodeh.ACTIVE and (message.round, message.name) == (self.round, self.drawn):
            self._come_home(message.unique, io)
        else:
            super().on_candidacy(message, sender, io)


SPECIMENS = (
    Specimen(
        algorithm=StrawPoll,
        honest=RingCollect,
        breaks=Property.AGREEMENT,
        teaches="A decision needs all the information.",
        answer=(
            "The first list holds only the processes between its starter and this one. Everybody decides by a "
            "different part of the ring. Only a list that has returned to its starter holds all identifiers."
        ),
        world=ballot(StrawPoll, 4),
    ),
    Specimen(
        algorithm=LostCandidacy,
        honest=ChangRoberts,
        breaks=Property.TERMINATION,
        teaches="What a crash can lose.",
        answer=(
            "The crashed process had the only candidacy that was still in transit, and nobody had a leader whose "
            "crash could be noticed: all wait for an announcement that never comes. A process that takes part must "
            "send the candidacy again when it learns of a crash."
        ),
        world=ballot(LostCandidacy, 4, nemesis=Nemesis(crashes=1, within_ms=4)),
    ),
    Specimen(
        algorithm=OutOfStep,
        honest=Franklin,
        breaks=Property.TERMINATION,
        teaches="Neighbours need not be in the same round.",
        answer=(
            "A neighbour that already has its two messages sends those of the next round. Taken for this round, such "
            "a message is compared too early and is missing in the next round: a process waits for ever. Keep early "
            "messages until their round."
        ),
        world=ballot(OutOfStep, 6),
    ),
    Specimen(
        algorithm=HalfWay,
        honest=Tournament,
        breaks=Property.UNIQUENESS,
        teaches="How far a candidate must probe to have reached everybody.",
        answer=(
            "Two replies of phase k say that nobody within 2^k on either side is larger. That is the whole ring only "
            "if 2·2^k + 1 is at least n. Here half of that is taken for enough, and two processes that are far apart "
            "both lead. The correct algorithm waits until its own probe returns."
        ),
        world=ballot(HalfWay, 8, ids=(8, 1, 2, 3, 7, 4, 5, 6)),
    ),
    Specimen(
        algorithm=Keepsake,
        honest=DolevKlaweRodeh,
        breaks=Property.VALIDITY,
        teaches="In whose place a process stands.",
        answer=(
            "A process survives because its left neighbour holds the largest of three identifiers, and must take that "
            "identifier over, because the neighbour itself becomes a relay. Here it keeps its own, the largest is "
            "lost, and another one wins."
        ),
        world=ballot(Keepsake, 4),
    ),
    Specimen(
        algorithm=Lookalike,
        honest=ItaiRodeh,
        breaks=Property.UNIQUENESS,
        teaches="A drawn name is not an identity.",
        answer=(
            "Two processes have drawn the same name. Each takes the other's message for its own, returned and still "
            "unique, and leads. Only the number of hops shows that a message has been all the way round."
        ),
        world=ballot(Lookalike, 4, parameters={"names": 3}),
    ),
)
