"""Memory: the memory use of this process, and the frequency of garbage collection."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from vez.judge.words import Sentence, said

COLLECT_AFTER = 1 << 16
"""The number of new objects between two garbage collections during a search. A search makes many small objects, keeps
nearly all of them and makes no cycles: at Python's default of 700, collections took a fifth of the time of `lamport`
n=3. Cycles that a handler leaves are still found, later."""

_lock = Lock()
_before: list[tuple[int, int, int]] = []  # the thresholds before the first running search, once for each of them


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage less often during a `with` block. Searches in several threads may overlap."""
    with _lock:
        _before.append(_before[0] if _before else gc.get_threshold())
        first, *rest = _before[0]
        gc.set_threshold(first and max(first, COLLECT_AFTER), *rest)  # 0: the program has turned collection off
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)


class NoRoom(MemoryError):
    """What is needed next does not fit into the allowed memory."""


class Room:
    """The memory that a search may use: of the whole process, or in addition to what the process used before."""

    def __init__(self, most: float, *, whole_process: bool = False) -> None:
        self.most = most
        self._before = 0 if whole_process else resident_bytes()

    def used(self) -> int:
        """The bytes that count."""
        return max(0, resident_bytes() - self._before)

    def need(self, more: float) -> None:
        """Raise `NoRoom` if this many bytes more do not fit."""
        if self.used() + more > self.most:
            raise NoRoom

    def full(self, error: MemoryError | None = None) -> Sentence:
        """The reason of a search that stopped because of its memory: the limit is reached, or, after an `error`, what
        comes next may not fit, or the system has no more."""
        mib = int(self.most) >> 20
        if error is None or self.used() > self.most:
            return said("stopped_at_memory", mib=mib)
        if isinstance(error, NoRoom):
            return said("stopped_before_memory", mib=mib)
        return said("stopped_without_memory")


def resident_bytes() -> int:
    """The resident memory now; if the system does not report it, the largest so far; 0 if it reports neither."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return _largest()


def _largest() -> int:
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
