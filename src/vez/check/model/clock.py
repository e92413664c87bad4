"""Clock: time in the checker, where an algorithm assumes bounds on it.

Messages take any time from 0 to the longest delay, stays any time up to the longest stay, timers what was asked for;
with drift, which a clock that is off causes, somewhat less or more.
All these intervals are closed and no handler reads a clock, so it is enough to follow time in ticks: the greatest
common divisor of all the bounds (docs/decisions/checker-time.md). For every run there is one in which the same happens
in the same order, and everything happens at whole ticks.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple


class FinerTick(Exception):
    """A timer is not a whole number of ticks: the tick is finer from now on, and the search must start again."""


class Countdown(NamedTuple):
    """A running timer: the microseconds until it may run out, and until it must. Equal without drift."""

    earliest: int
    latest: int

    @property
    def asked(self) -> int:
        """What was asked for, when the timer has just been set: the middle."""
        return (self.earliest + self.latest) // 2

    def after(self, passed_us: int) -> Countdown:
        """What is left when some time has passed."""
        return Countdown(max(0, self.earliest - passed_us), max(0, self.latest - passed_us))


AT_ANY_MOMENT = Countdown(0, 0)
"""A timer where time is not followed."""


class Clock:
    """The bounds on time of a configuration, in microseconds, and the tick."""

    def __init__(self, delay_us: int = 0, stay_us: int | None = None, drift: float = 0.0) -> None:
        self.delay_us = delay_us
        """The longest time that a message takes."""
        self.stay_us = stay_us
        """The longest stay; None where stays have any length."""
        self.drift = Fraction(str(drift))
        """How far timers may be off, as a part of what was asked for. Exact: 10 ms and 0.1 are 9 to 11 ms."""
        self.tick_us = math.gcd(delay_us, stay_us or 0)
        """0 until something has a bound."""

    @property
    def span(self) -> int:
        """How many values `left` of a message has: from the longest delay, in ticks, to 0."""
        return self.delay_us // self.tick_us + 1 if self.tick_us else 1

    def timer(self, after_us: int) -> Countdown:
        """What is left of a timer that is set now. Raises `FinerTick` if time must be followed more closely."""
        off = math.ceil(after_us * self.drift) if self.drift else 0
        left = Countdown(after_us - off, after_us + off)
        finer = math.gcd(self.tick_us, *left)
        if finer != self.tick_us:
            before, self.tick_us = self.tick_us, finer
            if before:  # else no time has passed yet
                raise FinerTick
        return left
