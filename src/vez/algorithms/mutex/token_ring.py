"""The token goes round; who wants in keeps it for a while.

Idea:        One token travels round a ring for ever. A process that wants in and receives it keeps it for
             as long as it is inside; everybody else passes it on at once.
Source:      seeds 000 and 004; Le Lann, IFIP Congress 1977.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation: nobody enters twice while another waits its turn.
Messages:    1 to infinity per entry, for the token turns when nobody wants it too. Client delay 0 to N,
             synchronization delay 1 to N.
Deviations:  none.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Property, Ring


class Token(Message):
    """The turn itself."""


class TokenRing(Mutex):
    """A ring in which the turn is an object."""

    name = "token-ring"
    topology = Ring
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    symmetry = "rotation"
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
    )

    wanting: bool = False

    def on_start(self, io: Io) -> None:
        if io.me == io.hub:
            io.send(io.right, Token())

    def on_recover(self, io: Io) -> None:
        """The first process must not make a second token; what it forgot stays lost."""

    def on_want(self, io: Io) -> None:
        self.wanting = True

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        if self.wanting:
            io.enter()
        else:
            io.send(io.right, message)

    def on_done(self, io: Io) -> None:
        self.wanting = False
        io.send(io.right, Token())
