"""One process, the coordinator, queues all requests and grants one at a time.

Idea:        The coordinator (the hub) puts requests into a queue. Whenever the resource is free and somebody waits, it
             grants the first of the queue. A release frees the resource.
Source:      Camargos, Coordenação, "Coordenador"; Resumos LEIC, "Algoritmo do servidor central"; Coulouris et al.,
             Distributed Systems, section 15.2 (central server).
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation; requests are served in the order of arrival. A request is placed
             when it has arrived at the coordinator, and no later request overtakes it then. Before that there is no
             bound: a slow Request waits while others come and go.
Messages:    3 per entry: Request, Grant, Release. Client delay 2, synchronization delay 2.
Deviations:  In Camargos, the coordinator answers a release with a ResponseFree. Nobody waits for it, so it is left out.
             The coordinator does not want in itself, unless a scenario says so; its messages to itself are not counted.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Parameter, Property, Star, named


class Request(Message):
    """Participant to coordinator: I want in."""


class Grant(Message):
    """Coordinator to participant: it is your turn."""


class Release(Message):
    """Participant to coordinator: I am out."""


class Coordinator(Mutex):
    """A central server that queues requests."""

    name = "coordinator"
    topology = Star
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    endless_requests = True
    symmetry = "full"
    identifier_fields = ("queue",)
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
    )

    grant_ms: Parameter[float] = 0.0  # time that the coordinator takes to grant a free resource
    coordinates: bool = False
    busy: bool = False  # a grant has not been released yet
    queue: tuple[int, ...] = ()  # waiting processes, in the order of arrival; none twice
    deciding: bool = False  # the resource is free, and the timer for the next grant runs

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_start(self, io: Io) -> None:
        self.coordinates = io.me == io.hub

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Request())

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.queue += (sender,)
        self._grant_next(io)

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        io.send(io.hub, Release())

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        self.busy = False
        self._grant_next(io)

    def _grant_next(self, io: Io) -> None:
        if self.busy or self.deciding or not self.queue:
            return
        if self.grant_ms:
            self.deciding = True
            io.set_timer("grant", self.grant_ms)
        else:
            self._grant(io)

    def on_timer_grant(self, io: Io) -> None:
        self.deciding = False
        self._grant(io)

    def _grant(self, io: Io) -> None:
        if self.queue:
            first, self.queue = self.queue[0], self.queue[1:]
            self.busy = True
            io.send(first, Grant())

    def status(self) -> str:
        if not self.coordinates:
            return ""
        return f"{'busy' if self.busy else 'free'}, queue [{', '.join(map(named, self.queue))}]"
