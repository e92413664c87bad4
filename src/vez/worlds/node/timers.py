"""Timers of one process, on the monotonic clock. A timer never runs out before it is due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vez.worlds.node.journal import now_us


class Timers:
    """The running timers by name."""

    def __init__(self, time_scale: float, fire: Callable[[str], None]) -> None:
        self._scale = time_scale
        self._fire = fire
        self._running: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()

    @property
    def running(self) -> list[str]:
        """The names of the running timers."""
        return sorted(self._running)

    def set(self, name: str, at_us: int, after_ms: float) -> None:
        """Start a timer, counted from `at_us`. This replaces a running timer of the same name."""
        self.cancel(name)
        self._plan(name, at_us + max(1, round(after_ms * 1000 * self._scale)))

    def cancel(self, name: str) -> None:
        """Stop a timer, if it runs."""
        running = self._running.pop(name, None)
        if running is not None:
            running.cancel()

    def stop(self) -> None:
        """Stop all timers."""
        for name in list(self._running):
            self.cancel(name)

    def _plan(self, name: str, due_us: int) -> None:
        wait = max(0, due_us - now_us()) / 1e6
        self._running[name] = self._loop.call_later(wait, self._due, name, due_us)

    def _due(self, name: str, due_us: int) -> None:
        if now_us() < due_us:  # some event loops round to milliseconds
            self._plan(name, due_us)
            return
        del self._running[name]
        self._fire(name)
