"""The coordinator takes a grant back after a timeout.

Idea:        As `coordinator`, but a grant is a lease. If the lease expires before the release, the coordinator assumes
             that the holder is dead and grants the next request. Every grant carries a token, larger each time.
Source:      Camargos, Coordenação, "Lidando com Falhas"; leases: Gray and Cheriton, SOSP 1989.
Assumptions: reliable channels; known bounds; nobody stays inside longer than the lease minus twice the longest delay of
             a message. The coordinator does not crash; participants may.
Guarantees:  exclusion while the assumptions hold; fenced exclusion always, if the resource checks tokens. Requests
             are served in the order of arrival. This does not promise bounded waiting, because a process that crashes
             while it waits keeps its place: if it comes back and asks again, the new request gets in with the old
             place, before requests that arrived in between. If nobody comes back, no request that has arrived is
             overtaken.
Messages:    3 per entry: Request, Grant, Release. Client delay 2, synchronization delay 2.
Deviations:  A release carries its token, so that a late release cannot free the lease of another process. A grant to
             a process that does not wait any more, because it crashed and came back, is given back at once.
"""

from __future__ import annotations

from vez.core import Assumption, Durable, Io, Message, Mutex, Parameter, Property, Star, named


class Request(Message):
    """Participant to coordinator: I want in."""


class Grant(Message):
    """Coordinator to participant: it is your turn, until the lease expires."""

    token: int


class Release(Message):
    """Participant to coordinator: I am out."""

    token: int


class CoordinatorLease(Mutex):
    """The central server that does not wait for ever."""

    name = "coordinator-lease"
    topology = Star
    assumes = (Assumption.RELIABLE, Assumption.HUB_STAYS, Assumption.KNOWN_BOUNDS, Assumption.BOUNDED_STAY)
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.FENCED_EXCLUSION,
    )

    lease_ms: Parameter[float] = 10.0
    delay_ms: Parameter[float] = 2.0  # the longest delay of a message
    coordinates: bool = False
    queue: tuple[int, ...] = ()  # waiting processes, in the order of arrival
    lease: int = 0  # the token of the current lease; 0 when the resource is free
    last_token: Durable[int] = 0  # the largest token ever granted; never reused
    waits: bool = False  # participant: it has asked, and no grant has come since
    held: int = 0  # participant: the token of the current stay; 0 outside

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_start(self, io: Io) -> None:
        self.coordinates = io.me == io.hub

    def on_want(self, io: Io) -> None:
        self.waits = True
        io.send(io.hub, Request())

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.queue += (sender,)
        self._grant_next(io)

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        if not self.waits:
            if message.token != self.held:  # not a duplicate: the grant of a request that was forgotten in a crash
                io.send(io.hub, Release(message.token))
            return
        self.waits = False
        self.held = message.token
        io.enter(message.token)

    def on_done(self, io: Io) -> None:
        io.send(io.hub, Release(self.held))
        self.held = 0

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        if message.token == self.lease:
            io.cancel_timer("lease")
            self._take_back(io)

    def on_timer_lease(self, io: Io) -> None:
        io.note(f"lease {self.lease} ran out")
        self._take_back(io)

    def _take_back(self, io: Io) -> None:
        self.lease = 0
        self._grant_next(io)

    def _grant_next(self, io: Io) -> None:
        if not self.lease and self.queue:
            first, self.queue = self.queue[0], self.queue[1:]
            self.last_token += 1
            self.lease = self.last_token
            io.set_timer("lease", self.lease_ms)
            io.send(first, Grant(self.lease))

    def longest_delay_ms(self) -> float:
        return self.delay_ms

    def longest_stay_ms(self) -> float:
        """The lease minus two delays. The grant takes up to one delay. The other keeps the end of the stay strictly
        before the end of the lease."""
        return max(0.0, self.lease_ms - 2 * self.delay_ms)

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0

    def status(self) -> str:
        if not self.coordinates:
            return ""
        return f"{f'lease {self.lease}' if self.lease else 'free'}, queue [{', '.join(map(named, self.queue))}]"
