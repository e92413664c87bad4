"""Mistakes in the replicated queue (`lamport`)."""

from __future__ import annotations

from vez.algorithms.mutex.lamport import HELD, WANTED, Lamport
from vez.core import Io, Property
from vez.zoo.specimen import Specimen, crowd


class FirstComeHere(Lamport):
    """Queues."""

    name = "zoo:first-come-here"
    wrong = "the queue is ordered by arrival instead of by timestamp"

    def _enqueue(self, request: tuple[int, int]) -> None:
        self.queue += (request,)


class Hasty(Lamport):
    """Enters."""

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
        teaches="What it takes for replicas of a queue to be the same queue.",
        answer=(
            "Requests stand in the order of their arrival, which differs from process to process: everybody sees its "
            "own request first. Sort by (timestamp, identifier)."
        ),
        world=crowd(FirstComeHere, 3),
    ),
    Specimen(
        algorithm=Hasty,
        honest=Lamport,
        breaks=Property.EXCLUSION,
        teaches="What an acknowledgement is good for.",
        answer=(
            "The first message of anybody opens the door if the own request is first in the queue. An older request "
            "may still be on its way; only when everybody has been heard with a later timestamp, none can be."
        ),
        world=crowd(Hasty, 3),
    ),
)
