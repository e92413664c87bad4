"""Several coordinators; the permission of more than half of them is enough to enter.

Idea:        There are n coordinators, each with a queue as in `coordinator`. A participant asks all of them and enters
             with m permissions. Because m > n/2, two participants inside would share a coordinator. A participant that
             leaves releases all coordinators, even those that have not granted yet: they remove it from their queue.
Source:      Camargos, Coordenação, "Quórum", and early version; GBC074 slides, "Lidando com falhas - quóruns";
             majorities: Thomas, ACM TODS 4(2), 1979.
Assumptions: reliable channels; a coordinator that stopped does not come back, because it would have forgotten whom it
             granted. A minority of the coordinators may stop.
Guarantees:  exclusion. Not deadlock freedom: each of several participants may hold a few permissions and wait for the
             rest. Not the order of requests: a slow Request reaches its coordinators after one that was made later.
Messages:    3n per entry: n Request, n Grant, n Release. Client delay 2, synchronization delay 2.
Deviations:  In the early version any release makes a coordinator free, also one that was not granted (`vez zoo any-
             release`); here as in the current text. Every message carries the number of its request, as the footnote in
             Camargos suggests. Channels need not be FIFO: a Release that arrives before its Request is remembered until
             the Request arrives. The first n processes are the coordinators; a scenario may make them want in too
             (messages to oneself are not counted).
"""

from __future__ import annotations

from vez.core import Assumption, Durable, Io, Message, Mutex, Parameter, Property, View, named

OUTSIDE, WANTED, HELD = "OUTSIDE", "WANTED", "HELD"
COORDINATORS = 3


class Request(Message):
    """Participant to coordinator: I want in, for the number-th time."""

    number: int


class Grant(Message):
    """Coordinator to participant: my permission for that request."""

    number: int


class Release(Message):
    """Participant to coordinator: that request is over, granted or not."""

    number: int


class Quorum(Mutex):
    """Permission of m out of n coordinators."""

    name = "quorum"
    assumes = (Assumption.RELIABLE, Assumption.NO_RECOVERY)
    guarantees = (Property.EXCLUSION,)

    coordinators: Parameter[int] = COORDINATORS  # n; the first n processes coordinate
    quorum: Parameter[int] = 0  # m, the permissions needed; 0 for the smallest majority
    electorate: tuple[int, ...] = ()  # the coordinators
    coordinates: bool = False  # True if this process is one of them
    granted: tuple[int, int] | None = None  # coordinator: (participant, request) that has the permission
    queue: tuple[tuple[int, int], ...] = ()  # coordinator: (participant, request) that wait, in the order of arrival
    early: frozenset[tuple[int, int]] = frozenset()  # coordinator: released before the Request arrived
    state: str = OUTSIDE
    number: Durable[int] = 0  # of our request; never reused
    permissions: frozenset[int] = frozenset()  # the coordinators that granted it

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[COORDINATORS:] or ids

    def objection(self, ids: tuple[int, ...]) -> str:
        return "coordinators: expected 1 or more; quorum: 0 or more" if self.coordinators < 1 or self.quorum < 0 else ""

    def on_start(self, io: Io) -> None:
        self.electorate = tuple(sorted((io.me, *io.peers))[: self.coordinators])
        self.coordinates = io.me in self.electorate

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.number += 1
        self.permissions = frozenset()
        for coordinator in self.electorate:
            io.send(coordinator, Request(self.number))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        request = (sender, message.number)
        if request in self.early:
            self.early -= {request}
        else:
            self.queue += (request,)
            self._grant_next(io)

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        if self.state == OUTSIDE or message.number != self.number:
            return  # it crossed our Release, which gives it back
        self.permissions |= {sender}
        needed = self.quorum or len(self.electorate) // 2 + 1
        if self.state == WANTED and len(self.permissions) >= needed:
            self.state = HELD
            io.enter()

    def on_done(self, io: Io) -> None:
        self.state = OUTSIDE
        for coordinator in self.electorate:
            io.send(coordinator, Release(self.number))

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        request = (sender, message.number)
        if request == self.granted:
            self.granted = None
            self._grant_next(io)
        elif request in self.queue:
            place = self.queue.index(request)
            self.queue = self.queue[:place] + self.queue[place + 1 :]
        else:
            self.early |= {request}

    def _grant_next(self, io: Io) -> None:
        if self.granted is None and self.queue:
            self.granted, self.queue = self.queue[0], self.queue[1:]
            participant, number = self.granted
            io.send(participant, Grant(number))

    def view(self) -> View | None:
        missing = frozenset(self.electorate) - self.permissions if self.state == WANTED else frozenset()
        holder = frozenset((self.granted[0],) if self.granted and self.queue else ())
        return View(waits_for=tuple(sorted(missing | holder)))

    def status(self) -> str:
        if self.state != OUTSIDE:
            return f"{self.state}, permissions {{{', '.join(map(named, sorted(self.permissions)))}}}"
        if self.coordinates:
            holder = f"granted {named(self.granted[0])}" if self.granted else "free"
            return f"{holder}, queue [{', '.join(named(participant) for participant, _ in self.queue)}]"
        return ""
