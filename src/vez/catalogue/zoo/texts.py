"""The course notes' own versions, literally, where they differ from the algorithms of the catalogue.

The specimens break a property. The three of `COSTLY` are right and cost more messages, so they are not exercises and
`vez zoo` does not list them; `vez sim zoo:franklin-minus` runs them. docs/explanation/where-the-texts-differ.md shows
all of them.
"""

from __future__ import annotations

from vez import core
from vez.catalogue.election import bully, chang_roberts
from vez.catalogue.election.bully import Bully
from vez.catalogue.election.chang_roberts import ChangRoberts
from vez.catalogue.election.yoyo import Up, YoYo
from vez.catalogue.mutex import quorum
from vez.catalogue.mutex.quorum import Quorum
from vez.catalogue.zoo.specimen import Specimen, ballot, crowd, stand
from vez.core import Assumption, BidirectionalRing, Io, Message, Process, Property
from vez.worlds.sim.scenario import Detector, Network


class AnswersOnly(Bully):
    """Camargos, Coordenação, "Algoritmo do Brigão", and the GBC074 slides."""

    name = "zoo:answers-only"
    wrong = "a process that is asked answers, but does not stand; the candidate stops its timer and waits for ever"

    def on_election(self, message: bully.Election, sender: int, io: Io) -> None:
        io.send(sender, bully.Answer())

    def on_answer(self, message: bully.Answer, sender: int, io: Io) -> None:
        if self.state == bully.CANDIDATE:
            self.state = bully.WAITING
            io.cancel_timer("answer")

    def _become_leader(self, io: Io) -> None:
        self.state, self.leader = bully.LEADER, io.me
        io.elected(io.me)
        for peer in io.peers:  # "para todos os processos": also to the larger ones
            io.send(peer, bully.Coordinator())


class DropsSmaller(ChangRoberts):
    """Camargos, Coordenação, "Algoritmo de Chang e Robert"."""

    name = "zoo:drops-smaller"
    wrong = "a smaller identifier is dropped even by a process that has not stood, so a small starter elects nobody"

    def on_election(self, message: chang_roberts.Election, sender: int, io: Io) -> None:
        if message.candidate >= io.me:
            super().on_election(message, sender, io)


class NoPruning(YoYo):
    """Camargos, Coordenação, "Algoritmo do YoYo", without rounds and without the optimisation of the early version."""

    name = "zoo:no-pruning"
    wrong = "nothing is pruned, so the last source receives only yes and starts the next wave, for ever"
    assumes = (*YoYo.assumes, Assumption.FIFO)

    def _next_round(self, io: Io) -> None:
        self.round = 0  # the text does not count rounds: all of them look alike
        super()._next_round(io)

    def _answer(self, io: Io) -> None:
        above = {answer.sender for answer in self.answers if not answer.yes}  # a no turns its edge round
        below = {answer.sender for answer in self.answers if answer.yes}
        least = min((value.least for value in self.values), default=io.me)
        for value in sorted(self.values, key=lambda value: value.sender):
            yes = self._passes_yes() and value.least == least
            io.send(value.sender, Up(yes, False, self.round, self.stage or ()))
            (above if yes else below).add(value.sender)
        self.above, self.below = frozenset(above), frozenset(below)
        self._next_round(io)

    def _passes_yes(self) -> bool:
        return not self.answers or any(answer.yes for answer in self.answers)


class AnyRelease(Quorum):
    """Camargos, Coordenação (early version), "Quórum"."""

    name = "zoo:any-release"
    wrong = "a release marks the resource as free even if it comes from a participant that was not granted"

    def on_release(self, message: quorum.Release, sender: int, io: Io) -> None:
        self.granted = None
        self._grant_next(io)


SPECIMENS = (
    Specimen(
        algorithm=AnswersOnly,
        honest=Bully,
        breaks=Property.TERMINATION,
        teaches="Somebody must go on where a candidate stops.",
        answer=(
            "The candidate is answered and stops. Those who answered stand only if they suspect the leader themselves. "
            "A process that is asked must stand, as Resumos LEIC and the paper say, and a candidate that was answered "
            "needs a timer."
        ),
        world=ballot(
            AnswersOnly, 3, network=Network(delay="uniform(0.2, 1)"), detector=Detector(kind="none"), elect=stand(1)
        ),
    ),
    Specimen(
        algorithm=DropsSmaller,
        honest=ChangRoberts,
        breaks=Property.TERMINATION,
        teaches="Who drops a message must send a better one.",
        answer=(
            "The only candidacy meets a larger process that has not stood, and ends there. The larger process must "
            "replace it by its own identifier, once."
        ),
        world=ballot(DropsSmaller, 4, elect=stand(2)),
    ),
    Specimen(
        algorithm=NoPruning,
        honest=YoYo,
        breaks=Property.TERMINATION,
        teaches="The last one must be able to know that it is the last.",
        answer=(
            "With one source left, every answer is yes, and the text lets the source start phase 2 again. What gives "
            "no information must be pruned: then the last source loses its edges, and knows."
        ),
        world=ballot(NoPruning, 2, edges=((1, 2),), patience_ms=8, until_ms=25, network=Network(delay="constant(1)")),
    ),
    Specimen(
        algorithm=AnyRelease,
        honest=Quorum,
        breaks=Property.EXCLUSION,
        states=2_000_000,
        teaches="A release belongs to a grant.",
        answer=(
            "A participant releases at all coordinators, also where it is still in the queue. Another one has the "
            "permission there, and the coordinator grants it a second time. It must compare the sender with the one "
            "that it granted, and otherwise take it from the queue."
        ),
        world=crowd(AnyRelease, 6),
    ),
)


class AlwaysReplaces(ChangRoberts):
    """Camargos, Coordenação (early version), "Algoritmo de Chang & Robert": replaces every smaller identifier."""

    name = "zoo:always-replaces"
    wrong = "a smaller identifier is replaced each time, not once: the largest goes round once for each starter"

    def on_election(self, message: chang_roberts.Election, sender: int, io: Io) -> None:
        if message.candidate < io.me:
            self._stand(io)
        else:
            super().on_election(message, sender, io)


class SomeYes(YoYo):
    """Camargos, Coordenação, "Algoritmo do YoYo": yes if some process below answered yes. Here with pruning."""

    name = "zoo:some-yes"
    wrong = "a source that one sink has refused stays a source if another sink accepts it"

    def _passes_yes(self) -> bool:
        return not self.answers or any(answer.yes for answer in self.answers)


class Number(Message):
    """The identifier of an active process, or its negative from one that has just become passive."""

    number: int
    rightward: bool


class FranklinMinus(core.Election):
    """Camargos, Coordenação, "Algoritmo de Franklin", and the GBC074 slides: a loser sends -p in both directions."""

    name = "zoo:franklin-minus"
    wrong = "the messages -p are not needed, and each keeps all others busy for one more round"
    topology = BidirectionalRing
    assumes = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.FIFO, Assumption.NO_CRASHES)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION)

    active: bool = True
    stood: bool = False
    leads: bool = False
    from_left: tuple[int, ...] = ()  # received, and not compared yet
    from_right: tuple[int, ...] = ()

    def on_elect(self, io: Io) -> None:
        if not self.stood:
            self._send(io.me, io)

    def on_number(self, message: Number, sender: int, io: Io) -> None:
        if not self.stood:
            self._send(io.me, io)
        if not self.active:
            io.send(io.right if message.rightward else io.left, message)
            return
        if message.rightward:
            self.from_left += (message.number,)
        else:
            self.from_right += (message.number,)
        while self.from_left and self.from_right and self.active and not self.leads:
            self._compare(io)

    def _compare(self, io: Io) -> None:
        largest = max(self.from_left[0], self.from_right[0])
        self.from_left, self.from_right = self.from_left[1:], self.from_right[1:]
        if largest < io.me:
            self._send(io.me, io)
        elif largest == io.me:
            self.leads = True
            io.elected(io.me)
        else:
            self.active = False
            self._send(-io.me, io)
            for number in self.from_left:
                io.send(io.right, Number(number, True))
            for number in self.from_right:
                io.send(io.left, Number(number, False))
            self.from_left = self.from_right = ()

    def _send(self, number: int, io: Io) -> None:
        self.stood = True
        io.send(io.right, Number(number, True))
        io.send(io.left, Number(number, False))

    def status(self) -> str:
        return "leader" if self.leads else "active" if self.active else "passive"


COSTLY: dict[str, type[Process]] = {
    kind.name.removeprefix("zoo:"): kind for kind in (AlwaysReplaces, SomeYes, FranklinMinus)
}
