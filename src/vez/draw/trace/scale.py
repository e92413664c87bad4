"""Scale: maps virtual time to pixels. Long intervals without events are shortened, and the picture shows this."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType

LONGEST_GAP = 5
"""Longest interval without events, in message times, that is drawn in full."""
SHORT_GAP = 2.5
"""Length, in message times, at which a longer interval is drawn."""
MOST_STRETCH = 2.2
STEPS_US = [size * 10**power for power in range(10) for size in (1, 2, 5)]


class Scale:
    """Piecewise linear map from microseconds to pixels.

    Pieces with many messages in flight may be drawn longer. `added` are further pixels, by the start of the piece.
    """

    def __init__(
        self,
        times: Iterable[int],
        unit_us: int,
        unit: float,
        top: float,
        stretch: Callable[[int, int], float] = lambda start, end: 1.0,
        added: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        self.knots = sorted({0, *times})
        self.unit_us = unit_us
        self.unit = unit
        self.places = [top]
        self.breaks: list[tuple[int, int]] = []
        for start, end in pairwise(self.knots):
            units = (end - start) / unit_us
            if units > LONGEST_GAP:
                self.breaks.append((start, end))
                units = SHORT_GAP
            long = units * unit * min(stretch(start, end), MOST_STRETCH)
            self.places.append(self.places[-1] + long + added.get(start, 0))
        self.tail = unit + added.get(self.knots[-1], 0)
        """Pixels of a message time after the last event."""

    def y(self, at: float) -> float:
        """Pixels of a moment; after the last event the scale is `tail`."""
        place = bisect_right(self.knots, at) - 1
        if place < 0:
            return self.places[0]
        start = self.knots[place]
        if place == len(self.knots) - 1:
            return self.places[-1] + (at - start) / self.unit_us * self.tail
        end = self.knots[place + 1]
        return self.places[place] + (at - start) / (end - start) * (self.places[place + 1] - self.places[place])

    def ticks(self, spacing: float = 26) -> list[int]:
        """Round moments for the axis, none inside a shortened interval."""
        step = next((size for size in STEPS_US if size / self.unit_us * self.unit >= spacing), STEPS_US[-1])
        found: list[int] = []
        hidden = iter([*self.breaks, (self.knots[-1] + 1, self.knots[-1] + 1)])
        start, end = next(hidden)
        at, last = 0, self.knots[-1]
        while at <= last:
            if start < at < end:
                found.append(end)
                at = (end // step + 1) * step
                start, end = next(hidden)
                continue
            if at >= end and (start, end) != (last + 1, last + 1):
                start, end = next(hidden)
                continue
            if not found or self.y(at) - self.y(found[-1]) >= spacing * 0.7:
                found.append(at)
            at += step
        return found
