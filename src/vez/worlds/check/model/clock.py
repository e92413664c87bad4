"""Clock: time in the checker, for algorithms that assume bounds on time.

A message takes any time from 0 to the longest delay, a stay any time up to the longest stay, and a timer the requested
time; with drift, because of a wrong clock, somewhat less or more.
All these intervals are closed and no handler reads a clock, so it suffices to model time in ticks: the greatest
common divisor of all the bounds (docs/decisions/checker-time.md). For every run there is another one with the same
events in the same order, in which every event happens at a whole tick.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple


class FinerTick(Exception):
    """A timer is not a whole number of ticks. The tick has been made smaller, and the search must start again."""


class Countdown(NamedTuple):
    """A running timer: the microseconds until it may run out, and until it must. They are equal without drift."""

    earliest: int
    latest: int

    @property
    def asked(self) -> int:
        """The requested time of a timer that has just been set: the middle of both."""
        return (self.earliest + self.latest) // 2

    def after(self, passed_us: int) -> Countdown:
        """The countdown after some time has passed."""
        return Countdown(max(0, self.earliest - passed_us), max(0, self.latest - passed_us))


AT_ANY_MOMENT = Countdown(0, 0)
"""A timer in a configuration without time: it may run out at any moment."""


class Clock:
    """The bounds on time of a configuration, in microseconds, and the tick."""

    def __init__(self, delay_us: int = 0, stay_us: int | None = None, drift: float = 0.0) -> None:
        self.delay_us = delay_us
        """The longest time that a message takes."""
        self.stay_us = stay_us
        """The longest stay; None if stays have no bound."""
        self.drift = Fraction(str(drift))
        """The largest error of timers, as an exact fraction of the requested time: 10 ms and 0.1 are 9 to 11 ms."""
        self.tick_us = math.gcd(delay_us, stay_us or 0)
        """The tick in microseconds; 0 until something has a bound."""

    @property
    def span(self) -> int:
        """The number of values of a message's remaining time in ticks: from the longest delay down to 0."""
        return self.delay_us // self.tick_us + 1 if self.tick_us else 1

    def timer(self, after_us: int) -> Countdown:
        """The countdown of a timer that is set now. Raises `FinerTick` if it is not a whole number of ticks."""
        off = math.ceil(after_us * self.drift) if self.drift else 0
        left = Countdown(after_us - off, after_us + off)
        finer = math.gcd(self.tick_us, *left)
        if finer != self.tick_us:
            before, self.tick_us = self.tick_us, finer
            if before:  # otherwise no time has passed yet
                raise FinerTick
        return left
