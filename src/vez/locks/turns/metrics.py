"""Metrics: durations of waits and stays, and numbers of timeouts and losses.

Every turn appends one number to a queue, which needs no lock, so threads never wait for each other to count. The
numbers are summed up only when the metrics are read.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from time import monotonic

import msgspec

from vez.errors import VezError
from vez.locks.engines.base import Kind
from vez.locks.engines.seam import Engine

BOUNDS = (*(base * 10.0**power for power in range(-5, 3) for base in (1, 2.5, 5)), 1000.0)
"""Upper bounds of the buckets in seconds: from 10 microseconds to 1000 seconds."""
MOST_NAMES = 200
"""Largest number of names that are counted separately. Further ones are counted together, as `...`: a program with one
name for each invoice must not fill its memory, nor that of the system that scrapes it."""
OTHERS = "..."
_PENDING = 4096


class Histogram:
    """A histogram of durations."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0
        self.pending: deque[float] = deque()
        self._summing = threading.Lock()

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.pending.append(seconds)
        if len(self.pending) > _PENDING:
            self.settle()

    def settle(self) -> None:
        """Sum up the appended durations."""
        with self._summing:
            pending, counts = self.pending, self.counts
            for _ in range(len(pending)):  # other threads may append meanwhile, but none removes
                seconds = pending.popleft()
                counts[bisect_left(BOUNDS, seconds)] += 1
                self.sum += seconds

    @property
    def count(self) -> int:
        """Number of durations, as of the last `settle`."""
        return sum(self.counts)


class Meter:
    """The counters of one name."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.waits, self.stays, self.timeouts = Histogram(), Histogram(), Histogram()
        self._losses = Histogram()
        self.waited = self.waits.pending.append  # not a method of ours, to save a call in every turn
        self.timed_out = self.timeouts.add

    def ended(self, since: float, lost: str | None) -> None:
        """Count the end of a stay."""
        pending = self.stays.pending
        pending.append(monotonic() - since)
        if lost is not None:
            self._losses.add(0.0)
        if len(pending) > _PENDING:
            self.stays.settle()
            self.waits.settle()

    @property
    def losses(self) -> int:
        """Number of losses."""
        self._losses.settle()
        return self._losses.count


class Distribution(msgspec.Struct, frozen=True):
    """Durations in seconds, as they are exported."""

    count: int
    sum: float
    buckets: tuple[tuple[float, int], ...]
    """Upper bounds, each with the number of durations up to it. `count` also contains those above all bounds."""


class Reading(msgspec.Struct, frozen=True):
    """The measurements of one name since `measure` was called."""

    name: str
    kind: str
    wait: Distribution
    hold: Distribution
    timeouts: int
    lost: int
    queue: int | None
    """Number of waiters now; None for names that are counted together, or if it cannot be read."""


class Metrics:
    """All meters of one client. `looks` returns an engine for threads, from which the lengths of queues are read; None
    if the client was closed."""

    def __init__(self, looks: Callable[[], Engine | None]) -> None:
        self._looks = looks
        self._meters: dict[tuple[str, Kind], Meter] = {}
        self._adding = threading.Lock()

    def meter(self, name: str, kind: Kind) -> Meter:
        """The meter of a name; the common meter of further names, if there are too many."""
        found = self._meters.get((name, kind))
        if found is None:
            with self._adding:
                if len(self._meters) >= MOST_NAMES:
                    name = OTHERS
                found = self._meters.setdefault((name, kind), Meter(name, kind))
        return found

    def read(self) -> list[Reading]:
        """All readings now, sorted by kind and name. It may block: the engine is asked for the lengths of queues."""
        found = sorted(self._meters.copy().values(), key=lambda meter: (meter.kind, meter.name))
        return [_reading(meter, self._queue(meter)) for meter in found]

    def _queue(self, meter: Meter) -> int | None:
        if meter.name == OTHERS:
            return None
        try:
            engine = self._looks()
            return None if engine is None else len(engine.inspect(meter.name, meter.kind).queue)
        except VezError:  # a damaged file, or a client that is being closed: the other numbers are still correct
            return None


def _reading(meter: Meter, queue: int | None) -> Reading:
    for histogram in (meter.waits, meter.stays, meter.timeouts):
        histogram.settle()
    return Reading(
        meter.name,
        meter.kind,
        _distribution(meter.waits),
        _distribution(meter.stays),
        meter.timeouts.count,
        meter.losses,
        queue,
    )


def _distribution(histogram: Histogram) -> Distribution:
    below, buckets = 0, []
    for bound, count in zip(BOUNDS, histogram.counts, strict=False):
        below += count
        buckets.append((bound, below))
    return Distribution(below + histogram.counts[-1], histogram.sum, tuple(buckets))
