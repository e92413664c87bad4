"""Requests follow pointers to the last who asked; every request turns the pointers to itself.

Idea:        Two structures. `last` points towards the process that asked last, the root; a request goes that
             way, and everybody on it then points to the one who asks (path reversal). `next` says to whom the
             token goes afterwards: the root of the moment takes the newcomer as its next.
Source:      beyond the seeds; Naimi, Trehel and Arnold, JPDC 34(1), 1996.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation.
Messages:    O(log N) per entry on average, at most N: the Requests along the way, and the Token; 0 for who
             still has the token. Client delay 0 to N, synchronization delay 1.
Deviations:  The hub starts with the token, and everybody points to it.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Property


class Request(Message):
    """Somebody, named, wants the token; passed on along `last`."""

    origin: int


class Token(Message):
    """The turn itself."""


class NaimiTrehel(Mutex):
    """A token behind pointers that every request shortens."""

    name = "naimi-trehel"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
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
        Property.BOUNDED_WAITING,
    )

    has_token: bool = False
    wanting: bool = False  # waits or is inside
    last: int | None = None  # who probably asked last; None: this process did, it is the root
    next: int | None = None  # who gets the token after this process; None unless wanting

    def on_start(self, io: Io) -> None:
        self.has_token = io.me == io.hub
        self.last = None if self.has_token else io.hub

    def on_recover(self, io: Io) -> None:
        """Who comes back does not make a second token."""
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
        parts += [f"last {self.last}"] if self.last is not None else ["root"]
        parts += [f"next {self.next}"] if self.next is not None else []
        return ", ".join(parts)
