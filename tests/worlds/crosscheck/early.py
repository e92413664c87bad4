"""Protocols that send in `on_start`, with timers of odd lengths that are set later.

The first bounds make a coarse tick, and messages are in transit before a handler sets a timer that needs a finer one.
"""

from __future__ import annotations

from typing import Any

from tests.worlds.crosscheck.protocols import RandomElection, RandomMutex, Word, draw
from tests.worlds.crosscheck.timed import BOUNDS, Bounded, May, Timed, Yes
from vez.core import Assumption, Io

ODD = (3.0, 1.0, 0.0, 2.0, 1.0)


class Early(Timed):
    """Sends before any request, and little afterwards. A mix-in for a `Scrawl`."""

    __slots__ = ()

    def on_start(self: Any, io: Io) -> None:
        if io.me == io.hub:
            for number in range(1 + draw(self.seed, 18) % 2):
                io.send(io.neighbours[0], Word(draw(self.seed, 19, number) % 3, 0))

    def wind(self: Any, io: Io) -> None:
        number = draw(self.seed, 5, int(self.value), self.kept)
        io.set_timer("bell" if number % 2 else "gong", ODD[number // 2 % len(ODD)])


class EarlyMutex(Early, RandomMutex):
    """A random mutex that speaks early."""

    name = "early-mutex"
    assumes = BOUNDS

    def on_want(self, io: Io) -> None:
        self.asked = True
        self.run(io, 10, hops=0)


class EarlyElection(Early, RandomElection):
    """A random election that speaks early."""

    name = "early-election"
    assumes = (Assumption.KNOWN_BOUNDS,)

    def on_elect(self, io: Io) -> None:
        self.run(io, 10, hops=0)


EARLY = (EarlyMutex, EarlyElection)


# Written by hand.


class Welcome(Bounded):
    """Process 1 sends two messages when it starts: the first one starts a timer of 1 ms, the second counts after it.

    A process that received the second message more than 1 ms after the first enters, even if process 1 is inside.
    """

    name = "welcome"
    rang: bool = False
    may: bool = False

    def on_start(self, io: Io) -> None:
        if io.me == io.hub:
            io.send(io.peers[0], May())
            io.send(io.peers[0], Yes())

    def on_may(self, message: May, sender: int, io: Io) -> None:
        io.set_timer("short", 1.0)

    def on_timer_short(self, io: Io) -> None:
        self.rang = True

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        self.may = self.rang
        if self.state == "wait" and self.may:
            self.get_in(io)

    def on_want(self, io: Io) -> None:
        self.state = "wait"
        if io.me == io.hub or self.may:
            self.get_in(io)
