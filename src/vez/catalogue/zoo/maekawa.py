"""Mistakes in voting (`maekawa`, `maekawa-fair`)."""

from __future__ import annotations

from vez.catalogue.mutex import maekawa, maekawa_fair
from vez.catalogue.mutex.maekawa import Maekawa
from vez.catalogue.mutex.maekawa_fair import Failed, Inquire, MaekawaFair, Relinquish
from vez.catalogue.zoo.specimen import Specimen, crowd
from vez.core import Io, Property
from vez.worlds.sim.scenario import Workload

TRIANGLE = {"voting_sets": [[1, 2], [2, 3], [3, 1]]}


class Generous(Maekawa):
    """Makes a mistake when it votes."""

    name = "zoo:generous"
    wrong = "a voter votes again before its vote has come back"

    def on_request(self, message: maekawa.Request, sender: int, io: Io) -> None:
        self.voted_for = sender
        io.send(sender, maekawa.Vote())


class Polite(MaekawaFair):
    """Makes a mistake when it is inquired."""

    name = "zoo:polite"
    wrong = "it gives a vote back from inside"

    def on_inquire(self, message: Inquire, sender: int, io: Io) -> None:
        if self.state == maekawa_fair.HELD and message.timestamp == self.timestamp:
            io.send(sender, Relinquish(self.timestamp))
        elif self._waits(message.timestamp):
            self.inquiries |= {sender}
            self._settle(io)


class CakeAndEat(MaekawaFair):
    """Makes a mistake when it returns a vote."""

    name = "zoo:cake-and-eat-it"
    wrong = "a vote that was given back still counts"

    def _settle(self, io: Io) -> None:
        if len(self.votes) == len(self.voters):
            self.state = maekawa_fair.HELD
            io.enter()
        elif self.refused:
            for voter in sorted(self.inquiries & self.votes):
                self.inquiries -= {voter}
                io.send(voter, Relinquish(self.timestamp))


class Untold(MaekawaFair):
    """Makes a mistake when it queues a request."""

    name = "zoo:untold"
    wrong = "a request that an older one overtakes in the queue is not told that it failed"

    def on_request(self, message: maekawa_fair.Request, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        request = (message.timestamp, sender)
        if self.voted_for is None:
            self._vote(request, io)
            return
        self._enqueue(request)
        if request > self.voted_for or self.queue[0] != request:
            io.send(sender, Failed(message.timestamp, self.clock))
        elif not self.inquired:
            self.inquired = True
            io.send(self.voted_for[1], Inquire(self.voted_for[0]))


class DeafMoment(MaekawaFair):
    """Makes a mistake when an Inquire arrives."""

    name = "zoo:deaf-moment"
    wrong = "an Inquire that overtakes its Vote is dropped"

    def on_inquire(self, message: Inquire, sender: int, io: Io) -> None:
        if self._waits(message.timestamp) and sender in self.votes:
            self.inquiries |= {sender}
            self._settle(io)


SPECIMENS = (
    Specimen(
        algorithm=Generous,
        honest=Maekawa,
        breaks=Property.EXCLUSION,
        teaches="What makes a vote a vote.",
        answer=(
            "Every request gets a vote at once, even while another process has it. Two voting sets share a voter, but "
            "that voter votes twice. A voter must queue requests until its vote is released."
        ),
        world=crowd(Generous, 4),
    ),
    Specimen(
        algorithm=Polite,
        honest=MaekawaFair,
        breaks=Property.EXCLUSION,
        teaches="When a vote may be asked back, and when it is too late.",
        answer=(
            "A process that is inside answers an Inquire with a Relinquish, and the voter votes for the older "
            "request. A process inside must ignore the Inquire: its Release answers it."
        ),
        world=crowd(
            Polite,
            3,
            parameters=TRIANGLE,
            workload=Workload(requests=4, think_ms="uniform(0, 3)", inside_ms="uniform(3, 6)"),
        ),
    ),
    Specimen(
        algorithm=CakeAndEat,
        honest=MaekawaFair,
        breaks=Property.EXCLUSION,
        states=1_000_000,
        teaches="A vote that was given back no longer counts.",
        answer=(
            "The process sends the Relinquish but keeps the vote in `votes`. When the missing votes arrive it enters "
            "with a vote that now belongs to another process."
        ),
        world=crowd(CakeAndEat, 5),
    ),
    Specimen(
        algorithm=Untold,
        honest=MaekawaFair,
        breaks=Property.DEADLOCK_FREEDOM,
        states=1_000_000,
        teaches="The deadlock that was in the published algorithm.",
        answer=(
            "A request was first in a voter's queue and older than the one with the vote, so it was not told that it "
            "failed; then a still older request overtook it. It does not know that it must wait, keeps the votes that "
            "others ask back, and they wait for each other in a circle. Sanders found this in 1987: whoever is "
            "overtaken must be sent a Failed."
        ),
        world=crowd(Untold, 9),
    ),
    Specimen(
        algorithm=DeafMoment,
        honest=MaekawaFair,
        breaks=Property.DEADLOCK_FREEDOM,
        teaches="Messages of one channel may overtake each other.",
        answer=(
            "An Inquire that arrives before the Vote it speaks of is dropped, and the voter does not ask twice: the "
            "vote is never given back. Keep the Inquire until the Vote is there."
        ),
        world=crowd(DeafMoment, 6),
    ),
)
