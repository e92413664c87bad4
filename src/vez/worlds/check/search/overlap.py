"""Overlap: runs one job at a time in a second thread, to use a second core.

NumPy releases the interpreter lock in long array operations, so the states of one batch can be stored while the next
batch is expanded. Without a second core the job runs when its result is needed. So a search takes the same batches in
the same order, and gives its states the same numbers, with any number of cores.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from vez.worlds.check.arrays import PLAIN

SWITCH_S = 0.0005
"""The time for which one thread may keep the interpreter lock; array operations take about as long."""


class Frontier:
    """Progress of a search by layers: the expanded states, and the remaining ones."""

    def __init__(self, known: int, ends: list[int]) -> None:
        """`ends` gets the number of states at the end of each layer."""
        self._ends = ends
        ends.append(known)
        self.low = 0  # the first state that was not expanded
        self.known = known  # the number of states when last settled
        self.layer = known  # the end of the layer of `low`; 0 while the previous layer is not fully stored
        self.depth = 0
        self.pending = False  # True if a batch is being stored

    def end_of_batch(self, most: int) -> int:
        """The end of the next batch. A batch lies in one layer."""
        return min(self.low + most, self.layer or self.known)

    def advance(self, high: int) -> None:
        """Note that the batch up to `high` is being stored."""
        self.low, self.pending = high, True
        if self.low == self.layer:
            self.depth, self.layer = self.depth + 1, 0

    def settled(self, count: int) -> None:
        """Note that the batch is stored, and that there are `count` states now."""
        self.known, self.pending = count, False
        if not self.layer:
            self.layer = count
            self._ends.append(count)


class Overlap:
    """A second thread that stores states, if there is a second core."""

    def __init__(self, workers: int = 0) -> None:
        self._workers = 1 if PLAIN else workers or cores()
        self._pool: ThreadPoolExecutor | None = None
        self._interval = sys.getswitchinterval()
        self._job: Callable[[], None] | None = None

    def start(self, job: Callable[[], None], *, beside: bool) -> None:
        """Begin a job; the previous one must have ended. `beside` is False if the caller waits for the job at once."""
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
    """The number of cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1
