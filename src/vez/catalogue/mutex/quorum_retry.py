"""As `quorum`, but a participant that waits too long gives up and tries again later.

Idea:        A participant that has fewer than m permissions when its patience ends releases them and leaves every
             queue. It asks again after a random back-off, which grows with each failure. This ends the deadlock of
             `quorum`, but no bound on the waiting time remains.
Source:      Camargos, Coordenação, "Quórum": "Temporizador para quebrar o deadlock?" and "Aborts podem levar a espera
             infinita".
Assumptions: reliable channels; nobody crashes. Exclusion needs less: processes may crash if they do not come back.
Guarantees:  exclusion; no deadlock, with probability 1. A process that crashes with permissions keeps them, and then
             nobody else may get in.
Messages:    3n per attempt: one attempt without contention, more with it. Client delay 2. Synchronization delay 2 if
             the next participant is queued everywhere, longer if it has backed off.
Deviations:  Each attempt is a request with its own number. A newer request of a participant ends its older ones, so a
             lost Release does harm only until its sender asks again.
"""

from __future__ import annotations

from bisect import bisect_left

from vez.core import Assumption, Durable, Io, Message, Mutex, Parameter, Property, named

OUTSIDE, WANTED, HELD, BACKING_OFF = "OUTSIDE", "WANTED", "HELD", "BACKING_OFF"
COORDINATORS = 3
MOST_DOUBLINGS = 5  # 2**5 back-off slots are enough for some tens of contenders; more would only lengthen the wait


class Request(Message):
    """Participant to coordinator: I want in, for the number-th time."""

    number: int


class Grant(Message):
    """Coordinator to participant: my permission for that request."""

    number: int


class Release(Message):
    """Participant to coordinator: that request is over, granted or not."""

    number: int


class QuorumRetry(Mutex):
    """Permission of m out of n coordinators, or back off."""

    name = "quorum-retry"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (Property.EXCLUSION, Property.DEADLOCK_FREEDOM)

    coordinators: Parameter[int] = COORDINATORS  # n; the first n processes coordinate
    quorum: Parameter[int] = 0  # m, the permissions needed; 0 for the smallest majority
    patience_ms: Parameter[float] = 8.0  # several round trips, so that waiting for one stay does not lead to a retry
    slot_ms: Parameter[float] = 2.0  # a round trip: the participant with an earlier slot can win undisturbed
    members: tuple[int, ...] = ()  # everybody, ascending
    electorate: tuple[int, ...] = ()  # the coordinators, the first of them
    coordinates: bool = False  # True if this process is a coordinator
    finished: tuple[int, ...] = ()  # coordinator: the last finished request of each of the members
    granted: int | None = None  # coordinator: who has the permission, for the request after its last finished one
    queue: tuple[int, ...] = ()  # coordinator: who waits, for that request too, in the order of arrival
    state: str = OUTSIDE
    number: Durable[int] = 0  # of our attempt; never reused
    failures: int = 0  # attempts given up since `on_want`
    permissions: frozenset[int] = frozenset()  # the coordinators that granted this attempt

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[COORDINATORS:] or ids

    def objection(self, ids: tuple[int, ...]) -> str:
        return "coordinators: expected 1 or more; quorum: 0 or more" if self.coordinators < 1 or self.quorum < 0 else ""

    def on_start(self, io: Io) -> None:
        self.members = tuple(sorted((io.me, *io.peers)))
        self.electorate = self.members[: self.coordinators]
        self.coordinates = io.me in self.electorate
        self.finished = (0,) * len(self.members)

    def on_want(self, io: Io) -> None:
        self.failures = 0
        self._attempt(io)

    def _attempt(self, io: Io) -> None:
        self.state = WANTED
        self.number += 1
        self.permissions = frozenset()
        io.set_timer("patience", self.patience_ms)
        for coordinator in self.electorate:
            io.send(coordinator, Request(self.number))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        if self._finish(sender, message.number - 1):
            self.queue += (sender,)
        self._grant_next(io)

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        if self.state not in (WANTED, HELD) or message.number != self.number:
            return  # it crossed our Release, which gives it back
        self.permissions |= {sender}
        needed = self.quorum or len(self.electorate) // 2 + 1
        if self.state == WANTED and len(self.permissions) >= needed:
            self.state = HELD
            io.cancel_timer("patience")
            io.enter()

    def on_timer_patience(self, io: Io) -> None:
        self.failures += 1
        self.state = BACKING_OFF
        self._release(io)
        slots = 2 ** min(self.failures, MOST_DOUBLINGS)
        io.set_timer("retry", io.choose(range(1, slots + 1)) * self.slot_ms)

    def on_timer_retry(self, io: Io) -> None:
        self._attempt(io)

    def on_done(self, io: Io) -> None:
        self.state = OUTSIDE
        self._release(io)

    def _release(self, io: Io) -> None:
        self.permissions = frozenset()
        for coordinator in self.electorate:
            io.send(coordinator, Release(self.number))

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        self._finish(sender, message.number)
        self._grant_next(io)

    def _finish(self, participant: int, number: int) -> bool:
        """End all requests of the participant up to that number; False if a later one has already ended."""
        place = bisect_left(self.members, participant)
        if number <= self.finished[place]:
            return number == self.finished[place]
        self.finished = (*self.finished[:place], number, *self.finished[place + 1 :])
        if self.granted == participant:
            self.granted = None
        if participant in self.queue:
            self.queue = tuple(waiting for waiting in self.queue if waiting != participant)
        return True

    def _grant_next(self, io: Io) -> None:
        if self.granted is None and self.queue:
            self.granted, self.queue = self.queue[0], self.queue[1:]
            last_finished = self.finished[bisect_left(self.members, self.granted)]
            io.send(self.granted, Grant(last_finished + 1))

    def status(self) -> str:
        if self.state in (WANTED, HELD):
            return f"{self.state}, permissions {{{', '.join(map(named, sorted(self.permissions)))}}}"
        if self.coordinates:
            holder = "free" if self.granted is None else f"granted {named(self.granted)}"
            return f"{holder}, queue [{', '.join(map(named, self.queue))}]"
        return self.state if self.state == BACKING_OFF else ""
