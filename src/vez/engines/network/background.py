"""Background: threads that renew and clean up.

They are started by one call of C, since `threading.Thread.start` can be cut in two by an interrupt, which leaves a
thread that runs and cannot be waited for.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable

running: set[Background] = set()
"""All that run now, in this process."""


class Background:
    """A thread that can be waited for. It does not keep the process alive."""

    def __init__(self, what: str, work: Callable[[], object]) -> None:
        self.what = what
        self._work = work
        self._done = threading.Event()

    def start(self) -> None:
        """Start it."""
        running.add(self)
        start_new_thread(self._run, ())

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; False if it has not."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self._work()
        finally:
            running.discard(self)
            self._done.set()
