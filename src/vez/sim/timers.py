"""Timers: the table of those that are set.

A timer that is set is an entry of the agenda with a number. Replacing or cancelling it does not look for the entry:
only the number under which it runs is forgotten, and an entry whose number is not known any more does nothing.
`Expiry` (expiry.py) does what happens when one runs out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from vez.core.effects import check_delay
from vez.core.process import handlers_of
from vez.sim.delays import us
from vez.sim.setup import Setup

MOST_KNOWN = 1000
"""Durations whose microseconds are remembered; algorithms use a few, and random ones must not pile up."""


class Timer:
    """All timers of one name."""

    __slots__ = ("handler", "known", "name", "running")

    def __init__(self, name: str, handler: Callable[..., None]) -> None:
        self.name = name
        self.handler = handler
        self.running: dict[int, int] = {}  # the number under which it runs, by process
        self.known: dict[float, int] = {}  # microseconds of the durations that have been asked for


class Timers:
    """The timers of a run. A node finds them by name, and asks for what it does not find."""

    def __init__(self, setup: Setup) -> None:
        self._algorithm = setup.algorithm.__name__
        self._handlers = handlers_of(setup.algorithm)
        self.by_name: dict[str, Timer] = {}
        self._given = {(timer.process, timer.number): timer.after_ms for timer in setup.scenario.timer}
        self._set: defaultdict[int, int] = defaultdict(int)  # how many timers a process has set
        self._rates = {drift.process: drift.rate for drift in setup.scenario.drift}

    def find(self, process: int, name: str, after_ms: float) -> tuple[Timer, int]:
        """The timer of that name, and after how many microseconds it runs out this time, at least one."""
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
        """By the clock of the process, or as long as the scenario says that this timer runs."""
        after_ms *= self._rates.get(process, 1.0)
        self._set[process] += 1
        return max(1, us(self._given.get((process, self._set[process]), after_ms)))
