"""The coordinator of mutual exclusion is elected, and replaced when it fails.

Idea:        As `coordinator`, but every process also takes part in an election, and the leader coordinates. A new
             coordinator asks everybody what they hold and want. When all have answered, except the dead, it goes
             on where the old one stopped. A token is (term, counter) in one number.
Source:      Camargos, Coordenação, "Quórum": "E se substituíssemos o coordenador no caso de falhas?"
Assumptions: those of the election; reliable FIFO channels; a perfect detector; answers within `takeover_ms`.
Guarantees:  exclusion, no deadlock, no starvation. With `majority`, whose terms never repeat, a resource that
             checks tokens is safe whatever happens. With `bully`, two coordinators hand out the same tokens when
             the network is partitioned.
Messages:    3 per entry: Request, Grant, Release. A change of coordinator costs the election and 2(N-1).
Deviations:  A participant accepts a Grant only from the coordinator that it follows. It returns a Grant that it
             does not want, so that a process that crashed in the queue and came back blocks nobody. The election
             is one that can be held again after a crash; the others of the catalogue assume no crash.
"""

from __future__ import annotations

from vez.catalogue.mutex.elected_coordinator.coordinator import TERM_STEP, Coordinator
from vez.catalogue.mutex.elected_coordinator.voter import ELECTIONS
from vez.core import Assumption, Io, Property, named
from vez.core.inner_process import build

__all__ = ["ELECTIONS", "TERM_STEP", "ElectedCoordinator"]


class ElectedCoordinator(Coordinator):
    """The central server that can be replaced.

    A process is made of four classes, each the base class of the next: `Voter` (voter.py) runs the inner election,
    `Participant` (participant.py) requests entry, `Coordinator` (coordinator.py) grants, and this class starts the
    election and passes the reports of the failure detector to the others.
    """

    name = "elected-coordinator"
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.FIFO,
        Assumption.KNOWN_BOUNDS,
        Assumption.PERFECT_DETECTOR,
        Assumption.STABLE_STORAGE,
    )
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.FENCED_EXCLUSION,
    )

    def on_start(self, io: Io) -> None:
        self._vote(io, "on_start")
        if io.me == io.hub:
            self._vote(io, "on_elect")

    def on_recover(self, io: Io) -> None:
        self.returned = True
        self._vote(io, "on_recover")

    def on_suspect(self, peer: int, io: Io) -> None:
        self.suspected |= {peer}
        self._vote(io, "on_suspect", peer)
        self._strike_off(peer, io)

    def on_trust(self, peer: int, io: Io) -> None:
        self.suspected -= {peer}
        self._vote(io, "on_trust", peer)
        self._ask_again(peer, io)

    def longest_delay_ms(self) -> float:
        """The delay that the takeover tolerates (an Inquiry and its answer), or the inner election, if that is less."""
        tolerated, inside = self.takeover_ms / 3, build(ELECTIONS[self.election], self.votes, self.ballots)
        return min(tolerated, inside.longest_delay_ms() or tolerated)

    def status(self) -> str:
        if self.ruling:
            holder = "free" if self.holder is None else f"{named(self.holder)} inside"
            return f"coordinates: {holder}, queue [{', '.join(map(named, self.queue))}]"
        if self.awaited:
            return f"takes over, awaits {', '.join(map(named, sorted(self.awaited)))}"
        return "" if self.coordinator is None else f"follows {named(self.coordinator)}"
