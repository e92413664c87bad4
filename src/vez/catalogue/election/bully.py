"""Processes that rank higher push lower ones out of the election; the identifier is the rank unless merits are given.

Idea:        A candidate asks all larger processes. If any answers, it stops being a candidate and waits for the
             announcement of a leader. If none answers within the time that an answer can take, it is the leader. A
             process that is asked by a smaller one answers, and becomes a candidate itself. Larger means a larger merit
             (memory, bandwidth, uptime), and among equals the larger identifier. Only the eligible may lead. With
             `--set merits=[[1,8],[3,32]]` process 1 has merit 8, process 3 merit 32, and the others 0; with
             `--set eligible=[1,3]` only 1 and 3 may lead.
Source:      Camargos, Coordenação, "Algoritmo do Brigão (Bully)", and early version; GBC074 slides, "Algoritmo do
             Brigão"; Resumos LEIC, "Algoritmo Bully" (the version here); Garcia-Molina, IEEE TC C-31(1), 1982.
Assumptions: reliable channels; known bounds, so that silence proves a crash; a stopped process does not come back (it
             would lead before the old leader has heard of it).
Guarantees:  uniqueness, termination, agreement; the largest live process leads, among the eligible.
Messages:    Best case N-2 (the second largest learns that the largest is dead). Worst case N²-N-1 (the smallest starts,
             the largest is dead; messages to the dead are counted).
Deviations:  Suspected processes are not asked. A process challenges a leader that is smaller than itself. In Camargos
             and on the slides, a process that is asked answers, and stands only if it suspects the leader itself, so a
             small candidate may elect nobody (`vez zoo answers-only`). They announce the leader to all processes, here
             only to the smaller ones: a larger one does not follow it.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Parameter, Property, View

FOLLOWER, CANDIDATE, WAITING, LEADER = "FOLLOWER", "CANDIDATE", "WAITING", "LEADER"


class Election(Message):
    """From a smaller process, or from one that may not lead, to a larger one: I stand, unless you object."""


class Answer(Message):
    """Larger to smaller: I object."""


class Coordinator(Message):
    """Larger to smaller: I lead."""


class Bully(core.Election):
    """The bully election, by merit and identifier."""

    name = "bully"
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.KNOWN_BOUNDS,
        Assumption.NO_RECOVERY,
    )
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    answer_ms: Parameter[float] = 6.0  # longer than an Election and its Answer take
    coordinator_ms: Parameter[float] = 12.0  # longer than the answerer's own wait and its announcement
    merits: Parameter[tuple[tuple[int, int], ...]] = ()  # (process, merit); others have merit 0
    eligible: Parameter[frozenset[int]] = frozenset()  # processes that may lead; empty for all
    state: str = FOLLOWER
    leader: int | None = None
    suspected: frozenset[int] = frozenset()

    def candidates(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted((process for process in ids if self._may_lead(process)), key=self._rank))

    def objection(self, ids: tuple[int, ...]) -> str:
        rated = [process for process, _ in self.merits]
        unknown = sorted({*self.eligible, *rated} - {*ids})
        if unknown:
            return f"{'eligible' if unknown[0] in self.eligible else 'merits'}: there is no process {unknown[0]}"
        twice = [process for process in ids if rated.count(process) > 1]
        return f"merits: process {twice[0]} has more than one merit" if twice else ""

    def _may_lead(self, process: int) -> bool:
        return not self.eligible or process in self.eligible

    def _rank(self, process: int) -> tuple[bool, int, int]:
        return self._may_lead(process), dict(self.merits).get(process, 0), process

    def watches(self, me: int, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The processes that outrank this one: no other can become its leader."""
        return tuple(sorted(peer for peer in self.candidates(ids) if self._rank(peer) > self._rank(me)))

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
        if self.leader is not None and self._rank(peer) > self._rank(self.leader):
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
        self._win(io)

    def on_timer_coordinator(self, io: Io) -> None:
        self._stand(io)  # the process that answered has died since

    def on_coordinator(self, message: Coordinator, sender: int, io: Io) -> None:
        if sender in self.suspected:
            return  # sent before it died
        if self._rank(sender) < self._rank(io.me):
            self._stand(io)
            return
        self._stop_timers(io)
        self.state = FOLLOWER
        self.leader = sender
        io.elected(sender)

    def _stand(self, io: Io) -> None:
        self._stop_timers(io)
        ours = self._rank(io.me)
        larger = [peer for peer in self.candidates(io.peers) if self._rank(peer) > ours and peer not in self.suspected]
        if not larger:
            self._win(io)
            return
        self.state = CANDIDATE
        for peer in sorted(larger):
            io.send(peer, Election())
        io.set_timer("answer", self.answer_ms)

    def _win(self, io: Io) -> None:
        if self._may_lead(io.me):
            self._become_leader(io)
        else:  # no eligible process is alive
            self.state, self.leader = FOLLOWER, None
            io.elected(None)

    def _become_leader(self, io: Io) -> None:
        self.state = LEADER
        self.leader = io.me
        io.elected(io.me)
        for peer in io.peers:
            if self._rank(peer) < self._rank(io.me):
                io.send(peer, Coordinator())

    def _stop_timers(self, io: Io) -> None:
        io.cancel_timer("answer")
        io.cancel_timer("coordinator")

    def longest_delay_ms(self) -> float:
        """A third of `answer_ms`. A half is too much: the last answer must not arrive just when the timer fires."""
        return self.answer_ms / 3

    def status(self) -> str:
        return self.state

    def view(self) -> View | None:
        return View(active=self.state == CANDIDATE) if self.state in (CANDIDATE, WAITING) else None
