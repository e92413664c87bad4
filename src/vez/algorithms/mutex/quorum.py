"""Several coordinators; enough of their permissions, more than half, open the door.

Idea:        n coordinators, each the queue of `coordinator`. A participant asks all of them and enters with m
             permissions; m > n/2, so two who are inside would share a coordinator. Leaving, it releases all,
             also those that have not granted yet: they take it out of their queue.
Source:      seeds 000 and 002, "Quórum"; majorities: Thomas, ACM TODS 4(2), 1979.
Assumptions: reliable channels; a coordinator that stopped does not come back, for it forgets whom it let in.
             A minority of the coordinators may stop.
Guarantees:  exclusion. Not freedom from deadlock: each of several participants may hold a few permissions and
             wait for the rest.
Messages:    3n per entry: n Request, n Grant, n Release. Client delay 2, synchronization delay 2.
Deviations:  Every message carries the number of its request (the seed's footnote). Channels need not be first
             in, first out, so a coordinator also remembers the last finished request of each participant: a
             Request that arrives after its Release is dropped. The first n processes coordinate; a scenario
             may make them want too (their messages to themselves are free).
"""

from __future__ import annotations

from vez.core import Assumption, Durable, Io, Message, Mutex, Parameter, Property

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

    coordinators: Parameter[int] = COORDINATORS  # n: the first so many processes
    quorum: Parameter[int] = 0  # m: how many must permit; 0 for the smallest majority
    granted: tuple[int, int] | None = None  # coordinator: who has the permission, and for which request
    queue: tuple[tuple[int, int], ...] = ()  # coordinator: (who, request) in the order of arrival
    finished: frozenset[tuple[int, int]] = frozenset()  # coordinator: each participant's last released request
    state: str = OUTSIDE
    number: Durable[int] = 0  # of the own request; never reused
    permissions: frozenset[int] = frozenset()  # the coordinators that granted it

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[COORDINATORS:] or ids

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.number += 1
        self.permissions = frozenset()
        for coordinator in self._coordinators(io):
            io.send(coordinator, Request(self.number))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        if message.number > dict(self.finished).get(sender, 0):
            self.queue += ((sender, message.number),)
            self._grant_next(io)

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        if self.state == OUTSIDE or message.number != self.number:
            return  # it crossed the Release, which takes it back
        self.permissions |= {sender}
        needed = self.quorum or len(self._coordinators(io)) // 2 + 1
        if self.state == WANTED and len(self.permissions) >= needed:
            self.state = HELD
            io.enter()

    def on_done(self, io: Io) -> None:
        self.state = OUTSIDE
        for coordinator in self._coordinators(io):
            io.send(coordinator, Release(self.number))

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        last = dict(self.finished)
        last[sender] = max(message.number, last.get(sender, 0))
        self.finished = frozenset(last.items())
        over = (sender, message.number)
        if self.granted == over:
            self.granted = None
        self.queue = tuple(waiting for waiting in self.queue if waiting != over)
        self._grant_next(io)

    def _grant_next(self, io: Io) -> None:
        if self.granted is None and self.queue:
            self.granted, *rest = self.queue
            self.queue = tuple(rest)
            participant, number = self.granted
            io.send(participant, Grant(number))

    def _coordinators(self, io: Io) -> tuple[int, ...]:
        return tuple(sorted((io.me, *io.peers))[: self.coordinators])

    def status(self) -> str:
        if self.state != OUTSIDE:
            return f"{self.state}, permissions {{{', '.join(map(str, sorted(self.permissions)))}}}"
        if self.granted or self.queue or self.finished:
            holder = f"granted {self.granted[0]}" if self.granted else "free"
            return f"{holder}, queue [{', '.join(str(participant) for participant, _ in self.queue)}]"
        return ""
