"""Requests follow pointers to the last process that asked, and turn the pointers to the requester.

Idea:        There are two kinds of pointers. `last` leads to the process that asked last, the root. A request follows
             it, and every process on the way then points to the requester (path reversal). `next` is the process that
             gets the token afterwards: the root that receives a request makes the requester its next.
Source:      Naimi, Trehel and Arnold, JPDC 34(1), 1996.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation. Not bounded waiting: a Request is passed on from process to process,
             and until it and those of all who asked before it have reached their roots, the holder of the token enters
             as often as it likes. Not the order of requests, for the same reason: it may know of them from the token.
Messages:    O(log N) per entry on average, at most N: the Requests along the way, and the Token. 0 for a process that
             still has the token. Client delay 0 to N, synchronization delay 1.
Deviations:  At the start the hub has the token, and all others point to it.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, ProcessId, Property, named


class Request(Message):
    """Process `origin` wants the token; passed on along `last`."""

    origin: ProcessId


class Token(Message):
    """Its holder may enter."""


class NaimiTrehel(Mutex):
    """A token found through pointers, which every request shortens."""

    name = "naimi-trehel"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    endless_requests = True
    symmetry = "full"
    identifier_fields = (
        "last",
        "next",
        "origin",
    )
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
    )

    has_token: bool = False
    wanting: bool = False  # waits or is inside
    last: int | None = None  # who probably asked last; None for the root, which did
    next: int | None = None  # who gets the token after this process; None unless wanting

    def on_start(self, io: Io) -> None:
        self.has_token = io.me == io.hub
        self.last = None if self.has_token else io.hub

    def on_recover(self, io: Io) -> None:
        """A process that comes back does not create a second token."""
        self.last = io.hub if io.me != io.hub else min(io.peers)

    def on_want(self, io: Io) -> None:
        self.wanting = True
        if self.last is not None:
            io.send(self.last, Request(io.me))
            self.last = None
        if self.has_token:
            io.enter()

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        if self.last is not None:
            io.send(self.last, message)
        elif self.wanting:
            self.next = message.origin
        else:
            self.has_token = False
            io.send(message.origin, Token())
        self.last = message.origin

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        self.has_token = True
        io.enter()

    def on_done(self, io: Io) -> None:
        self.wanting = False
        if self.next is not None:
            io.send(self.next, Token())
            self.has_token, self.next = False, None

    def status(self) -> str:
        parts = ["token"] if self.has_token else []
        parts += [f"last {named(self.last)}"] if self.last is not None else ["root"]
        parts += [f"next {named(self.next)}"] if self.next is not None else []
        return ", ".join(parts)
