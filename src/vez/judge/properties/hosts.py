"""Hosts: compares periods of processes on different hosts by happened-before, because their clocks are not comparable.

A period precedes another if its end happened before the start of the other. Two periods certainly overlap if the start
of each happened before the end of the other. Otherwise they may have overlapped, and the processes cannot tell.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from vez.core.trace import Trace
from vez.judge.properties.causality import vector_clocks


class Period(NamedTuple):
    """A period of one process, from one event of the trace to another; the end is None if it lasts to the end."""

    process: int
    start: int
    end: int | None


class Overlap(NamedTuple):
    """Two periods that overlap, certainly or possibly."""

    periods: tuple[Period, Period]
    certain: bool


def first_overlap(trace: Trace, periods: list[Period]) -> Overlap | None:
    """Two periods that certainly overlap, or else two that may overlap; None if all are ordered."""
    header = trace.header
    wanted = frozenset(index for period in periods for index in (period.start, period.end) if index is not None)
    stamps = vector_clocks(trace, wanted)
    position = {process: place for place, process in enumerate(header.ids)}
    host = dict(zip(header.ids, header.hosts, strict=True))

    def before(one: int, process: int, other: int) -> bool:
        """True if an event of this process happened before another event."""
        return stamps[other][1][position[process]] >= stamps[one][0]

    perhaps = None
    for one, other in combinations(periods, 2):
        if host[one.process] == host[other.process]:
            first, second = sorted((one, other), key=lambda period: period.start)
            ordered, certain = first.end is not None and first.end < second.start, True
        else:
            ordered = (one.end is not None and before(one.end, one.process, other.start)) or (
                other.end is not None and before(other.end, other.process, one.start)
            )
            certain = (one.end is None or before(other.start, other.process, one.end)) and (
                other.end is None or before(one.start, one.process, other.end)
            )
        if not ordered and certain:
            return Overlap((one, other), certain=True)
        if not ordered and perhaps is None:
            perhaps = Overlap((one, other), certain=False)
    return perhaps
