"""A token goes round a ring; a process that wants in keeps it while it is inside.

Idea:        One token travels round a ring for ever. A process that wants in keeps the token when it arrives, until it
             leaves. All others pass it on at once.
Source:      Camargos, Coordenação, "Anel"; Resumos LEIC, "Algoritmo baseado em anel"; Le Lann, IFIP Congress 1977.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation: nobody enters twice while another process waits. A request is
             placed at once, and at most N-1 later ones overtake it: the token passes each other process once.
Messages:    1 to infinity per entry, because the token moves even when nobody wants in. Client delay 0 to N,
             synchronization delay 1 to N.
Deviations:  none.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Property, Ring


class Token(Message):
    """Its holder may enter."""


class TokenRing(Mutex):
    """A token that goes round a ring."""

    name = "token-ring"
    topology = Ring
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    endless_requests = True
    symmetry = "rotation"
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
    )

    wanting: bool = False

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return n - 1

    def on_start(self, io: Io) -> None:
        if io.me == io.hub:
            io.send(io.right, Token())

    def on_recover(self, io: Io) -> None:
        """Does nothing: the hub must not create a second token."""

    def on_want(self, io: Io) -> None:
        self.wanting = True

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        if self.wanting:
            io.enter()
        else:
            io.send(io.right, message)

    def on_withdraw(self, io: Io) -> None:
        self.wanting = False  # nobody else knows of the request; the token will pass by

    def on_done(self, io: Io) -> None:
        self.wanting = False
        io.send(io.right, Token())
