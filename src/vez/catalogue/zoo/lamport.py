"""Mistakes in the replicated queue (`lamport`)."""

from __future__ import annotations

from vez.catalogue.mutex.lamport import HELD, WANTED, Lamport
from vez.catalogue.zoo.specimen import Specimen, crowd
from vez.core import Io, Property


class FirstComeHere(Lamport):
    """Makes a mistake when it queues a request."""

    name = "zoo:first-come-here"
    wrong = "the queue is ordered by arrival instead of by timestamp"

    def _enqueue(self, request: tuple[int, int]) -> None:
        self.queue += (request,)


class Hasty(Lamport):
    """Makes a mistake when it enters."""

    name = "zoo:hasty"
    wrong = "it enters at the head of its queue without having heard from everybody"

    def _hear(self, timestamp: int, sender: int, io: Io) -> None:
        self.clock = max(self.clock, timestamp) + 1
        if self.state == WANTED and self.queue[0] == (self.timestamp, io.me):
            self.state = HELD
            io.enter()


SPECIMENS = (
    Specimen(
        algorithm=FirstComeHere,
        honest=Lamport,
        breaks=Property.EXCLUSION,
        teaches="What makes the copies of a queue equal.",
        answer=(
            "Requests are queued in the order of their arrival, which differs from process to process: everybody sees "
            "its own request first. Sort by (timestamp, identifier)."
        ),
        world=crowd(FirstComeHere, 3),
    ),
    Specimen(
        algorithm=Hasty,
        honest=Lamport,
        breaks=Property.EXCLUSION,
        teaches="What an acknowledgement is for.",
        answer=(
            "If its request is the first of the queue, a process enters on the first message from anybody. An older "
            "request may still be in transit. Only when everybody has sent a later timestamp, none can be."
        ),
        world=crowd(Hasty, 3),
    ),
)
