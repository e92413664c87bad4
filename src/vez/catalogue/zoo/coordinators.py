"""Mistakes around coordinators (`coordinator`, `quorum`, `quorum-retry`)."""

from __future__ import annotations

from vez.catalogue.mutex import quorum, quorum_retry
from vez.catalogue.mutex.coordinator import Coordinator, Grant, Release
from vez.catalogue.mutex.quorum import Quorum
from vez.catalogue.mutex.quorum_retry import QuorumRetry
from vez.catalogue.zoo.specimen import Specimen, crowd
from vez.core import Io, Property
from vez.worlds.sim.scenario import Network, Workload


class Usher(Coordinator):
    """Makes a mistake when it grants."""

    name = "zoo:usher"
    wrong = "a grant out of the queue does not mark the resource busy"

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        self.busy = False
        if self.queue:
            first, *rest = self.queue
            self.queue = tuple(rest)
            io.send(first, Grant())


class OneGoodbye(Quorum):
    """Makes a mistake when it leaves."""

    name = "zoo:one-goodbye"
    wrong = "the release goes to one coordinator only"

    def on_done(self, io: Io) -> None:
        self.state = quorum.OUTSIDE
        io.send(min(self.permissions), quorum.Release(self.number))


class HalfFull(Quorum):
    """Makes a mistake when it counts permissions."""

    name = "zoo:half-full"
    wrong = "half of the permissions are enough"

    def on_grant(self, message: quorum.Grant, sender: int, io: Io) -> None:
        if self.state == quorum.OUTSIDE or message.number != self.number:
            return
        self.permissions |= {sender}
        if self.state == quorum.WANTED and 2 * len(self.permissions) >= self.coordinators:
            self.state = quorum.HELD
            io.enter()


class OldLetter(QuorumRetry):
    """Makes a mistake when it collects permissions."""

    name = "zoo:old-letter"
    wrong = "a grant of an attempt that was given up counts for the next one"

    def on_grant(self, message: quorum_retry.Grant, sender: int, io: Io) -> None:
        if self.state not in (quorum_retry.WANTED, quorum_retry.HELD):
            return
        self.permissions |= {sender}
        if self.state == quorum_retry.WANTED and len(self.permissions) > self.coordinators // 2:
            self.state = quorum_retry.HELD
            io.cancel_timer("patience")
            io.enter()


SPECIMENS = (
    Specimen(
        algorithm=Usher,
        honest=Coordinator,
        breaks=Property.EXCLUSION,
        teaches="Two places that grant must update the same state.",
        answer=(
            "on_release grants the first of the queue but leaves the resource marked free, so the next request is "
            "granted while that process is inside. Mark the resource busy wherever it is granted, best in one place."
        ),
        world=crowd(Usher, 4),
    ),
    Specimen(
        algorithm=OneGoodbye,
        honest=Quorum,
        breaks=Property.DEADLOCK_FREEDOM,
        teaches="Whoever was asked must also be told that it is over.",
        answer=(
            "The release goes to one coordinator only. The others keep their permission granted to a process that has "
            "left, and no quorum is ever free again. Every coordinator that was asked must get the release."
        ),
        world=crowd(OneGoodbye, 4),  # one participant, so that the correct algorithm cannot deadlock
    ),
    Specimen(
        algorithm=HalfFull,
        honest=Quorum,
        breaks=Property.EXCLUSION,
        teaches="What more than half means when the number is even.",
        answer=(
            "With two coordinators one permission is enough, with four two are: two halves without a common member "
            "let two processes in. A quorum is more than half, so that any two quorums share a coordinator."
        ),
        world=crowd(HalfFull, 5, parameters={"coordinators": 2}),
    ),
    Specimen(
        algorithm=OldLetter,
        honest=QuorumRetry,
        breaks=Property.EXCLUSION,
        teaches="Why a request has a number.",
        answer=(
            "A Grant that crossed the release of an abandoned attempt is counted for the next attempt, although the "
            "coordinator has its permission back. Compare the number of the Grant with that of the attempt."
        ),
        world=crowd(
            OldLetter,
            5,
            network=Network(delay="exponential(2)"),
            workload=Workload(requests=1, think_ms="uniform(0, 2)", inside_ms="uniform(4, 8)"),
            parameters={"patience_ms": 4.0, "slot_ms": 1.0},
        ),
    ),
)
