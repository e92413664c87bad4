"""How much memory this process holds: what a search costs beyond its table of states, too."""

from __future__ import annotations

import os
import resource
import sys


def resident_bytes() -> int:
    """What it holds now, where the system tells; else the most it has held so far."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10
