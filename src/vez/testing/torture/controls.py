"""Controls: a small file that the campaign and all workers map, with the work and the faults of each worker.

A value that the campaign writes takes effect at once, whatever the worker is doing.
"""

from __future__ import annotations

import mmap
from pathlib import Path

MOST_WORKERS = 64
WORK, RELAY, CALM = 0, 1, 2
"""The phases, by the work of the workers: turns of every kind; a relay, which is turns without the engine; turns of one
length, without timeouts."""
_WORDS = 1 << 9


class Controls:
    """The mapped file. Worker 0 is the campaign's own process, which breaks and prunes."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8 * _WORDS))
        with path.open("r+b") as file:
            view = memoryview(mmap.mmap(file.fileno(), 8 * _WORDS))
        self._words, self._reals = view.cast("q"), view.cast("d")

    @property
    def phase(self) -> int:
        """`WORK`, `RELAY` or `CALM`."""
        return self._words[0] & 3

    @property
    def round(self) -> int:
        """The number of the phase, modulo 256."""
        return self._words[0] >> 2

    def next_phase(self, phase: int) -> None:
        """Begin another phase."""
        self._words[0] = (self.round + 1) % 256 << 2 | phase

    def clock(self, worker: int) -> float:
        """Seconds by which the wall clock of a worker is wrong."""
        return self._reals[8 + worker]

    def set_clock(self, worker: int, seconds: float) -> None:
        """Let the wall clock of a worker jump."""
        self._reals[8 + worker] = seconds

    def sync_error(self, worker: int) -> int:
        """The error number with which fsync fails in a worker, or the negative one for msync; 0 while both work."""
        return self._words[128 + worker]

    def set_sync_error(self, worker: int, number: int) -> None:
        """Let fsync (or msync, with a negative number) of a worker fail; 0 ends it."""
        self._words[128 + worker] = number

    def ready(self, worker: int) -> None:
        """Report that a worker is in the current phase."""
        self._words[256 + worker] = self._words[0]

    def all_ready(self) -> bool:
        """True if every worker is in the current phase."""
        return all(self._words[256 + worker] == self._words[0] for worker in range(1, self.workers + 1))

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self._words[2]

    @workers.setter
    def workers(self, value: int) -> None:
        self._words[2] = value

    @property
    def origin(self) -> int:
        """Offset in nanoseconds of the monotonic clock of the campaign, if it is in a time namespace of its own."""
        return self._words[1]

    @origin.setter
    def origin(self, value: int) -> None:
        self._words[1] = value


def monotonic_offset() -> int:
    """Nanoseconds by which the monotonic clock of this process is ahead of the machine's: it may be in a time
    namespace."""
    try:
        rows = [line.split() for line in Path("/proc/self/timens_offsets").read_text().splitlines()]
    except OSError:
        return 0
    return next((int(row[1]) * 10**9 + int(row[2]) for row in rows if row and row[0] in ("monotonic", "1")), 0)
