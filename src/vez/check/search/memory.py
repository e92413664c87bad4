"""Memory of this process: how much it holds, and how often Python looks for cycles of garbage in it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

COLLECT_AFTER = 1 << 16
"""New objects between two looks for cycles of garbage during a search. A search makes many small objects, keeps nearly
all of them and makes no cycles: at Python's default of 700 the looking took a fifth of the time of `lamport` n=3. What
a handler leaves in cycles is still found, later."""

_lock = Lock()
_before: list[tuple[int, int, int]] = []  # the thresholds before the first of the searches that run, once for each


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles of garbage less often in the meantime. Searches in several threads may overlap."""
    with _lock:
        _before.append(_before[0] if _before else gc.get_threshold())
        first, *rest = _before[0]
        gc.set_threshold(first and max(first, COLLECT_AFTER), *rest)  # 0: the program never looks
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)


def resident_bytes() -> int:
    """Resident memory now, where the system tells it; else the largest so far; 0 where the system tells neither."""
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
