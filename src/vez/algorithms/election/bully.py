"""Processes with larger identifiers push smaller ones out of the election.

Idea:        A candidate asks all larger processes. If any answers, it stops being a candidate and waits for the
             announcement of a leader. If none answers within the time that an answer can take, it is the leader. A
             process that is asked by a smaller one answers, and becomes a candidate itself.
Source:      Camargos, Coordenação, "Algoritmo do Brigão (Bully)"; GBC074 slides, "Algoritmo do Brigão"; Resumos LEIC,
             "Algoritmo Bully" (the version here); Garcia-Molina, IEEE TC C-31(1), 1982.
Assumptions: reliable channels; known bounds, so that silence proves a crash; a stopped process does not come back (it
             would lead before the old leader has heard of it).
Guarantees:  uniqueness, termination, agreement; the largest live identifier leads.
Messages:    Best case N-2 (the second largest learns that the largest is dead). Worst case N²-N-1 (the smallest starts,
             the largest is dead; messages to the dead are counted).
Deviations:  Suspected processes are not asked. A process challenges a leader that is smaller than itself.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Parameter, Property, View

FOLLOWER, CANDIDATE, WAITING, LEADER = "FOLLOWER", "CANDIDATE", "WAITING", "LEADER"


class Election(Message):
    """Smaller to larger: I stand, unless you object."""


class Answer(Message):
    """Larger to smaller: I object."""


class Coordinator(Message):
    """Larger to smaller: I lead."""


class Bully(core.Election):
    """Election by intimidation."""

    name = "bully"
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.KNOWN_BOUNDS,
        Assumption.NO_RECOVERY,
    )
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    answer_ms: Parameter[float] = 4.0  # longer than an Election and its Answer take
    coordinator_ms: Parameter[float] = 8.0  # longer than the answerer's own wait and its announcement
    state: str = FOLLOWER
    leader: int | None = None
    suspected: frozenset[int] = frozenset()

    def on_recover(self, io: Io) -> None:
        self._stand(io)

    def on_elect(self, io: Io) -> None:
        if self.state in (FOLLOWER, LEADER):
            self._stand(io)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.suspected |= {peer}
        if peer == self.leader:
            self._stand(io)

    def on_trust(self, peer: int, io: Io) -> None:
        self.suspected -= {peer}
        if self.leader is not None and peer > self.leader:
            self._stand(io)  # a larger process was alive all the time, perhaps behind a partition

    def on_election(self, message: Election, sender: int, io: Io) -> None:
        io.send(sender, Answer())
        if self.state == LEADER:
            io.send(sender, Coordinator())  # it does not know the leader yet
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
        if sender < io.me:
            self._stand(io)
            return
        self._stop_timers(io)
        self.state = FOLLOWER
        self.leader = sender
        io.elected(sender)

    def _stand(self, io: Io) -> None:
        self._stop_timers(io)
        larger = [peer for peer in io.peers if peer > io.me and peer not in self.suspected]
        if not larger:
            self._become_leader(io)
            return
        self.state = CANDIDATE
        for peer in larger:
            io.send(peer, Election())
        io.set_timer("answer", self.answer_ms)

    def _become_leader(self, io: Io) -> None:
        self.state = LEADER
        self.leader = io.me
        io.elected(io.me)
        for peer in io.peers:
            if peer < io.me:
                io.send(peer, Coordinator())

    def _stop_timers(self, io: Io) -> None:
        io.cancel_timer("answer")
        io.cancel_timer("coordinator")

    def longest_delay_ms(self) -> float:
        return self.answer_ms / 2

    def status(self) -> str:
        return self.state

    def view(self) -> View | None:
        return View(active=self.state == CANDIDATE) if self.state in (CANDIDATE, WAITING) else None
