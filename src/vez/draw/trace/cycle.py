"""Cycle: who waits for whom at the end of a run that got stuck."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from vez.core.trace import Crashed, Trace, Viewed


def cycle_of(trace: Trace) -> tuple[int, ...]:
    """The shortest cycle of processes that wait for each other at the end, each for the next; empty if there is none.

    Processes say for whom they wait in their `View`. Of several cycles, the first in the order of the processes counts.
    """
    waits: dict[int, tuple[int, ...]] = {}
    for event in trace.events:
        if isinstance(event, Viewed):
            waits[event.process] = event.view.waits_for
        elif isinstance(event, Crashed):
            waits.pop(event.process, None)
    found = (_back_to(process, waits) for process in trace.header.ids)
    return min((one for one in found if one), key=len, default=())


def _back_to(start: int, waits: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """The shortest way from a process back to itself."""
    ways: deque[tuple[int, ...]] = deque([(start,)])
    seen: set[int] = set()
    while ways:
        way = ways.popleft()
        for other in waits.get(way[-1], ()):
            if other == way[-1]:
                continue  # a voter that waits until it has been inside itself
            if other == start:
                return way
            if other not in seen:
                seen.add(other)
                ways.append((*way, other))
    return ()
