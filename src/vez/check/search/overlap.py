"""Overlap: one job at a time in a second thread, for the second core.

NumPy lets go of the interpreter in long array operations, so that the states found by one batch can be put into the
store while the next batch is expanded. Without a second core the job is done when its result is needed, so that a
search takes the same batches in the same order, and numbers its states alike, however many cores there are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

SWITCH_S = 0.0005
"""How long one thread may keep the interpreter; the array operations between take about as long."""


class Frontier:
    """Progress of a search by layers: what was expanded, and what is left."""

    def __init__(self, known: int) -> None:
        self.low = 0  # the first state that was not expanded
        self.known = known  # the states counted when last settled
        self.layer = known  # where the layer of `low` ends; 0 while the layer before is not all stored
        self.depth = 0
        self.pending = False  # whether a batch is being stored

    def end_of_batch(self, most: int) -> int:
        """Where the next batch ends; it lies in one layer."""
        return min(self.low + most, self.layer or self.known)

    def advance(self, high: int) -> None:
        """A batch up to here is being stored."""
        self.low, self.pending = high, True
        if self.low == self.layer:
            self.depth, self.layer = self.depth + 1, 0

    def settled(self, count: int) -> None:
        """It is stored, so that there are so many states now."""
        self.known, self.pending = count, False
        self.layer = self.layer or count


class Overlap:
    """A second thread that stores states, if there is a second core."""

    def __init__(self, workers: int = 0) -> None:
        self._workers = workers or cores()
        self._pool: ThreadPoolExecutor | None = None
        self._interval = sys.getswitchinterval()
        self._job: Callable[[], None] | None = None

    def start(self, job: Callable[[], None], *, beside: bool) -> None:
        """Begin a job; the one before must have ended. Not `beside` other work if it will be waited for at once."""
        if beside and self._workers > 1:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="vez-check")
                sys.setswitchinterval(SWITCH_S)
            job = self._pool.submit(job).result
        self._job = job

    def settle(self) -> None:
        """Wait until the job has ended."""
        job, self._job = self._job, None
        if job is not None:
            job()

    def close(self) -> None:
        """End the thread, after its job."""
        if self._pool is not None:
            self._pool.shutdown()
            sys.setswitchinterval(self._interval)


def cores() -> int:
    """The cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1
