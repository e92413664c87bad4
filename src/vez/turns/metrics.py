"""Metrics: how long was waited and held, how often a timeout ended a wait, how often a lock was lost.

Counted in the way of every turn, and only summed up when somebody asks. A turn appends one number to a queue, which
needs no lock: threads never wait for each other to count.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from time import monotonic

import msgspec

from vez.engines.base import Kind
from vez.engines.seam import Engine
from vez.errors import VezError

BOUNDS = (*(base * 10.0**power for power in range(-5, 3) for base in (1, 2.5, 5)), 1000.0)
"""Upper bounds of the buckets in seconds: from 10 microseconds to 1000 seconds."""
MOST_NAMES = 200
"""Names that are counted apart. Further ones are counted together, as `...`: a name for each invoice must not fill the
memory of the process, nor that of whoever scrapes it."""
OTHERS = "..."
_PENDING = 4096


class Histogram:
    """How often which duration occurred."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0
        self.pending: deque[float] = deque()
        self._summing = threading.Lock()

    def add(self, seconds: float) -> None:
        """Count one."""
        self.pending.append(seconds)
        if len(self.pending) > _PENDING:
            self.settle()

    def settle(self) -> None:
        """Sum up what was appended."""
        with self._summing:
            pending, counts = self.pending, self.counts
            for _ in range(len(pending)):  # others append meanwhile; nobody else removes
                seconds = pending.popleft()
                counts[bisect_left(BOUNDS, seconds)] += 1
                self.sum += seconds

    @property
    def count(self) -> int:
        """How many there were, when it was summed up last."""
        return sum(self.counts)


class Meter:
    """The counters of one name."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.waits, self.stays, self.timeouts = Histogram(), Histogram(), Histogram()
        self._losses = Histogram()
        self.waited = self.waits.pending.append  # without a call of ours: every turn passes here
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
        """How many were lost."""
        self._losses.settle()
        return self._losses.count


class Distribution(msgspec.Struct, frozen=True):
    """Durations in seconds, as they are exported."""

    count: int
    sum: float
    buckets: tuple[tuple[float, int], ...]
    """Upper bound, and how many were at most so long; the count above all bounds is `count`."""


class Reading(msgspec.Struct, frozen=True):
    """What was measured of one name since the client was told to measure."""

    name: str
    kind: str
    wait: Distribution
    hold: Distribution
    timeouts: int
    lost: int
    queue: int | None
    """How many wait now; None for names that are counted together, or if it cannot be read."""


class Metrics:
    """All meters of one client. `looks` gives an engine for threads, to see how long queues are; None if the client was
    closed."""

    def __init__(self, looks: Callable[[], Engine | None]) -> None:
        self._looks = looks
        self._meters: dict[tuple[str, Kind], Meter] = {}
        self._adding = threading.Lock()

    def meter(self, name: str, kind: Kind) -> Meter:
        """The meter of a name; that of all others, if there are too many."""
        found = self._meters.get((name, kind))
        if found is None:
            with self._adding:
                if len(self._meters) >= MOST_NAMES:
                    name = OTHERS
                found = self._meters.setdefault((name, kind), Meter(name, kind))
        return found

    def read(self) -> list[Reading]:
        """All readings now, sorted by kind and name. It may block: the lengths of queues are asked of the engine."""
        found = sorted(self._meters.copy().values(), key=lambda meter: (meter.kind, meter.name))
        return [_reading(meter, self._queue(meter)) for meter in found]

    def _queue(self, meter: Meter) -> int | None:
        if meter.name == OTHERS:
            return None
        try:
            engine = self._looks()
            return None if engine is None else len(engine.inspect(meter.name, meter.kind).queue)
        except VezError:  # a damaged file, or a client that is just closed: the other numbers are still true
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
