"""Protocols with time: timers of several lengths, delays and stays with a bound.

First those that are drawn from a seed, then those written by hand, each with the verdict that only time explains.
Durations are even numbers of milliseconds, so that a tick is two of them and few are needed.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tests.worlds.crosscheck.protocols import EndlessElection, RandomElection, RandomMutex, Word, draw
from vez.core import Assumption, Election, Io, Message, Mutex, Parameter, Ring

BOUNDS = (Assumption.KNOWN_BOUNDS, Assumption.BOUNDED_STAY)
LENGTHS = (2.0, 4.0, 0.0, 6.0, 2.0, 0.0)


class Timed:
    """Two timers, whose lengths depend on the state; mixed into a `Scrawl`."""

    __slots__ = ()

    def longest_delay_ms(self: Any) -> float | None:
        return self.delay or None

    def longest_stay_ms(self: Any) -> float | None:
        return self.stay or None

    def wind(self: Any, io: Io) -> None:
        """Set one of the timers."""
        number = draw(self.seed, 5, int(self.value), self.kept)
        io.set_timer("bell" if number % 2 else "gong", LENGTHS[number // 2 % len(LENGTHS)])

    def stop(self: Any, io: Io) -> None:
        """Cancel one of the timers."""
        io.cancel_timer("gong" if self.kept else "bell")

    def on_timer_gong(self: Any, io: Io) -> None:
        self.run(io, 17)


class TimedMutex(Timed, RandomMutex):
    """A random mutex with time."""

    name = "timed-mutex"
    assumes = BOUNDS


class TimedElection(Timed, RandomElection):
    """A random election with time."""

    name = "timed-election"
    assumes = (Assumption.KNOWN_BOUNDS,)


class ClockedMutex(TimedMutex):
    """Sets its timers anew without end, so that runs are endless."""

    name = "clocked-mutex"
    cost = 0

    def on_withdraw(self, io: Io) -> None:
        self.asked = False
        self.run(io, 16)


class ClockedElection(Timed, EndlessElection):
    """Its words go on for ever, and so do its timers."""

    name = "clocked-election"
    assumes = (Assumption.KNOWN_BOUNDS,)


class TimedRingMutex(TimedMutex):
    """On a ring."""

    name = "timed-ring-mutex"
    topology = Ring


class Beating(Timed):
    """Sends little, and nearly every timer that runs out is followed by another: runs seldom end."""

    __slots__ = ()

    def begin(self: Any, io: Io) -> None:
        """The reaction to a request."""
        self.run(io, 10, hops=0)
        self.wind(io)

    def beat(self: Any, io: Io, which: int) -> None:
        """The reaction to a timer that has run out."""
        self.run(io, which, hops=draw(self.seed, 9, int(self.value)) % 3 == 0)
        if draw(self.seed, 11, int(self.value)) % 5:
            self.wind(io)

    def on_timer_bell(self: Any, io: Io) -> None:
        self.beat(io, 13)

    def on_timer_gong(self: Any, io: Io) -> None:
        self.beat(io, 17)


class BeatingMutex(Beating, RandomMutex):
    """A mutex that lives by its timers."""

    name = "beating-mutex"
    assumes = BOUNDS
    cost = 0

    def on_want(self, io: Io) -> None:
        self.asked = True
        self.begin(io)


class BeatingElection(Beating, RandomElection):
    """An election that lives by its timers."""

    name = "beating-election"
    assumes = (Assumption.KNOWN_BOUNDS,)
    cost = 0

    def on_elect(self, io: Io) -> None:
        self.begin(io)


TIMED = (
    TimedMutex, TimedElection, ClockedMutex, ClockedElection, TimedRingMutex,
    BeatingMutex, BeatingMutex, BeatingElection, BeatingElection,
)  # fmt: skip


# Written by hand.


class May(Message):
    """May I?"""


class Yes(Message):
    """You may."""


class Bounded(Mutex):
    """Time with bounds that a case gives."""

    assumes = BOUNDS
    seed: Parameter[int] = 0
    delay: Parameter[float] = 0.0
    stay: Parameter[float] = 0.0
    state: str = "idle"

    def longest_delay_ms(self) -> float | None:
        return self.delay or None

    def longest_stay_ms(self) -> float | None:
        return self.stay or None

    def get_in(self, io: Io) -> None:
        """Enter, and remember it."""
        self.state = "in"
        io.enter()

    def on_done(self, io: Io) -> None:
        self.state = "idle"


class Offset(Bounded):
    """Wrong only if somebody asks between two expiries: timers of 10 and 6 ms never end at the same time then."""

    name = "offset"
    owed: bool = False

    def on_want(self, io: Io) -> None:
        self.state = "wait"
        io.set_timer("patience", 10.0 if io.me == io.hub else 6.0)

    def on_timer_patience(self, io: Io) -> None:
        if io.me == io.hub:
            io.send(io.peers[0], May())
        else:
            self.get_in(io)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        if self.state == "in":
            self.owed = True
        else:
            io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        self.get_in(io)

    def on_done(self, io: Io) -> None:
        self.state = "idle"
        if self.owed:
            self.owed = False
            io.send(io.hub, Yes())


class Announce(Bounded):
    """Announces itself, waits 6 ms and enters, unless the other has announced itself too; the larger one gives way.

    Correct if a message takes less than 3 ms: an announcement made before the other's arrives is received in time.
    """

    name = "announce"
    heard: bool = False

    def on_want(self, io: Io) -> None:
        if self.heard:
            return
        self.state = "wait"
        io.send(io.peers[0], May())
        io.set_timer("patience", 6.0)

    def on_timer_patience(self, io: Io) -> None:
        if not (self.heard and io.me > io.peers[0]):
            self.get_in(io)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        self.heard = True


class Slots(Bounded):
    """Process 1 gets in at once and hands over 6 ms later, whether it is out or not: right if stays are shorter."""

    name = "slots"

    def on_want(self, io: Io) -> None:
        self.state = "wait"
        if io.me == io.hub:
            io.set_timer("slot", 6.0)
            self.get_in(io)

    def on_timer_slot(self, io: Io) -> None:
        io.send(io.peers[0], Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.set_timer("entry", 0.0)

    def on_timer_entry(self, io: Io) -> None:
        if self.state == "wait":
            self.get_in(io)


class Hasty(Bounded):
    """A timer of 0 ms is set again for ever: no time passes, and the entry after 2 ms never happens."""

    name = "hasty"

    def on_want(self, io: Io) -> None:
        io.set_timer("entry", 2.0)
        io.set_timer("again", 0.0)

    def on_timer_again(self, io: Io) -> None:
        io.set_timer("again", 0.0)

    def on_timer_entry(self, io: Io) -> None:
        io.cancel_timer("again")
        self.get_in(io)


class Spinning(Bounded):
    """Sets a timer of 0 anew until a choice ends that, gets in and lets the other in 6 ms after it wanted in.

    Right if the timers of 0 take no time. But nobody says how many there are, and in the simulator each takes a
    microsecond: after some thousand, the hub is inside too long.
    """

    name = "spinning"

    def on_want(self, io: Io) -> None:
        self.state = "wait"
        if io.me == io.hub:
            io.send(io.peers[0], May())
            io.set_timer("spin", 0.0)

    def on_timer_spin(self, io: Io) -> None:
        if io.choose((False, True)):
            io.set_timer("spin", 0.0)
        else:
            self.get_in(io)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        io.set_timer("turn", 6.0)

    def on_timer_turn(self, io: Io) -> None:
        if self.state == "wait":
            self.get_in(io)


class Chatter(Bounded):
    """Words go round for ever, and the entry comes after 4 ms: in time only if words take time."""

    name = "chatter"
    topology = Ring

    def on_want(self, io: Io) -> None:
        io.set_timer("entry", 4.0)
        io.send(io.right, Word(0, 0))

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        io.send(io.right, message)

    def on_timer_entry(self, io: Io) -> None:
        self.get_in(io)


class Idle(Bounded):
    """Ticks for ever and never gets in: a loop in which time passes."""

    name = "idle"

    def on_want(self, io: Io) -> None:
        io.set_timer("tick", 2.0)

    def on_timer_tick(self, io: Io) -> None:
        io.set_timer("tick", 2.0)


class Whirl(Bounded):
    """The hub grants what it owes when it is idle and receives a message. That never happens if it always wants in
    before.

    Its timer of 0 runs in a part of that loop, in which no tick passes. But the hub may stay inside for any time while
    no clock runs, so time passes.
    """

    name = "whirl"
    owed: bool = False
    noted: bool = False

    def on_want(self, io: Io) -> None:
        self.state = "wait"
        if io.me == io.hub:
            io.set_timer("entry", 0.0)
        else:
            io.send(io.hub, May())

    def on_timer_entry(self, io: Io) -> None:
        self.get_in(io)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        self.owed = True
        self.pay(io)

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.noted = False
        self.pay(io)

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        self.get_in(io)

    def on_done(self, io: Io) -> None:
        self.state = "idle"
        if self.owed and not self.noted:
            self.noted = True
            io.send(io.me, Word(0, 0))

    def pay(self, io: Io) -> None:
        """Let the other in, if idle."""
        if self.owed and self.state == "idle":
            self.owed = False
            io.send(io.peers[0], Yes())


class Patience(Election):
    """A process that receives nothing for `patience` ms leads; a beat every 4 ms arrives at most `delay` later."""

    name = "patience"
    assumes = (Assumption.KNOWN_BOUNDS,)
    seed: Parameter[int] = 0
    delay: Parameter[float] = 0.0
    patience: ClassVar[float] = 6.0

    def longest_delay_ms(self) -> float | None:
        return self.delay or None

    def on_elect(self, io: Io) -> None:
        if io.me == io.hub:
            self.on_timer_beat(io)
        else:
            io.set_timer("patience", self.patience)

    def on_timer_beat(self, io: Io) -> None:
        io.set_timer("beat", 4.0)
        io.broadcast(Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.set_timer("patience", self.patience)

    def on_timer_patience(self, io: Io) -> None:
        io.elected(io.me)


class Impatience(Patience):
    """The patience is shorter than the beat, so the other leads, in the end."""

    name = "impatience"
    patience = 2.0
