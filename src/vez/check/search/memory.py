"""Memory held by this process, so that a search can stop before it takes too much."""

from __future__ import annotations

import os
import sys


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
