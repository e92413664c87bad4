"""Timers: the table of running timers.

A running timer is an entry of the agenda with a number. To replace or cancel it, only this number is removed from the
table; the entry stays in the agenda, and does nothing when it is due. `Expiry` (expiry.py) handles timers that run out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from vez.core.effects import check_delay
from vez.core.process import handlers_of
from vez.worlds.sim.delays import us
from vez.worlds.sim.setup import Setup

MOST_KNOWN = 1000
"""The number of durations whose microseconds are cached. Algorithms use a few; random ones must not fill the memory."""


class Timer:
    """The timers of one name, of all processes."""

    __slots__ = ("handler", "known", "name", "running")

    def __init__(self, name: str, handler: Callable[..., None]) -> None:
        self.name = name
        self.handler = handler
        self.running: dict[int, int] = {}  # number of the running timer, by process
        self.known: dict[float, int] = {}  # durations in milliseconds to microseconds


class Timers:
    """The timers of a run. A node reads `by_name` itself, and calls `find` for a missing entry."""

    def __init__(self, setup: Setup) -> None:
        self._algorithm = setup.algorithm.__name__
        self._handlers = handlers_of(setup.algorithm)
        self.by_name: dict[str, Timer] = {}
        self._given = {(timer.process, timer.number): timer.after_ms for timer in setup.scenario.timer}
        self._set: defaultdict[int, int] = defaultdict(int)  # number of timers that a process has set
        self._rates = {drift.process: drift.rate for drift in setup.scenario.drift}

    def find(self, process: int, name: str, after_ms: float) -> tuple[Timer, int]:
        """The timer of this name, and its duration in microseconds for this call, at least 1."""
        timer = self.by_name.get(name) or self._new(name)
        check_delay(self._algorithm, name, after_ms)
        if self._given or self._rates:
            return timer, self._drifted_us(process, after_ms)
        if len(timer.known) == MOST_KNOWN:
            timer.known.clear()
        wait_us = timer.known[after_ms] = max(1, us(after_ms))
        return timer, wait_us

    def forget(self, process: int) -> None:
        """Cancel every timer of a process that crashed."""
        for timer in self.by_name.values():
            timer.running.pop(process, None)

    def _new(self, name: str) -> Timer:
        timer = self.by_name[name] = Timer(name, self._handlers.timer(name))
        return timer

    def _drifted_us(self, process: int, after_ms: float) -> int:
        """The duration by the clock of the process, or the duration that the scenario sets."""
        after_ms *= self._rates.get(process, 1.0)
        self._set[process] += 1
        return max(1, us(self._given.get((process, self._set[process]), after_ms)))
