"""Schedule: real times for the steps of a run, such that every duration is an allowed one.

The checker models time in ticks, and several steps may happen at one moment. The simulator orders steps by time. So
each step gets its own time, after the previous one: the earliest times that keep every message within the longest
delay, every stay within the longest stay, and every timer at the requested time, or within its drift. These are
difference constraints, and the earliest solution is found by relaxing them (Bellman and Ford). The largest gap between
steps that has a solution is used, because it makes the best picture. A run that needs two events at exactly one moment
has no solution. Its timers may then be wrong by as few microseconds as possible. The laps of an endless run are equal
to the microsecond, so that the judges see that they repeat.

If clocks may be wrong, as many clocks as possible are right, and the others are wrong by as few percent as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

STEP_US = 1000
GAPS_US = (STEP_US, 500, 250, 100, 50, 20, 10, 5, 2)
"""The gaps that are tried. At least 2, so that there is a moment between two steps: the border between two laps."""
LARGEST_ERROR_US = 1 << 20
LONG_US = 1 << 50
"""A duration without limit."""


class Span(NamedTuple):
    """Two steps, by their place in the run, and the allowed number of microseconds between them."""

    begin: int
    end: int
    most: int
    least: int = 0
    timer: bool = False
    """True for timers, which may be slightly wrong if there is no other solution."""
    open: bool = False
    """True if it continues after the last step, so that it must also include half a gap."""
    process: int = 0
    asked: int = 0
    """The requested time of the timer if the clock of its process may be wrong; otherwise 0."""

    def within(self, percent: int) -> Span:
        """The span if the clock is wrong by at most `percent`. A timer that does not run out has no `least`."""
        off = self.asked * percent // 100
        most = self.asked + off if self.least else self.asked + off - 1
        return self._replace(
            least=self.least and max(self.least, self.asked - off),
            most=self.most if self.most == LONG_US else min(self.most, most),
        )


class Loop(NamedTuple):
    """The part of a run that is repeated until its end."""

    begin: int
    """The last step before the loop."""
    steps: int
    lasts: int
    """Microseconds that pass in a lap; 0 if it can take any time."""

    def spans(self, end: int, gap: int) -> list[Span]:
        """Spans that make all laps equal: each step has the same distance from the start of its lap."""
        lasts = self.lasts or self.steps * gap
        return [Span(place, place + self.steps, lasts, lasts) for place in range(self.begin, end - self.steps + 1)]


def even_times(steps: int) -> list[int]:
    """A millisecond for each step; the first entry is the start."""
    return [STEP_US * place for place in range(steps + 1)]


def times(steps: int, spans: list[Span], loop: Loop | None = None) -> tuple[list[int], int]:
    """The time of each step in microseconds, the start first, and the smallest gap between two of them."""
    spans = _with_right_clocks(steps, spans, loop)
    found = _with_largest_gap(steps, spans, loop)
    if found is not None:
        return found
    gap, error = GAPS_US[-1], 1
    spans = spans + (loop.spans(steps, gap) if loop else [])
    while error < LARGEST_ERROR_US:
        late = _earliest(steps, spans, gap, error)
        if late is not None:
            return late, gap
        error *= 2
    return even_times(steps), STEP_US  # no solution: one bound has fewer microseconds than steps


def _with_largest_gap(steps: int, spans: list[Span], loop: Loop | None) -> tuple[list[int], int] | None:
    for gap in GAPS_US:
        found = _earliest(steps, spans + (loop.spans(steps, gap) if loop else []), gap, 0)
        if found is not None:
            return found, gap
    return None


def _with_right_clocks(steps: int, spans: list[Span], loop: Loop | None) -> list[Span]:
    """The spans with as many right clocks as possible; the others are wrong by as few percent as possible."""
    may_be_off = {place for place, span in enumerate(spans) if span.asked}

    def can_do(tried: list[Span]) -> bool:
        gap = GAPS_US[-1]
        return _earliest(steps, tried + (loop.spans(steps, gap) if loop else []), gap, 0) is not None

    for chosen in _clocks(spans) if may_be_off else ():
        tried = [span.within(0) if place in chosen else span for place, span in enumerate(spans)]
        if can_do(tried):
            spans, may_be_off = tried, may_be_off - chosen
    few, enough = 0, 100
    while may_be_off and enough - few > 1:
        percent = (few + enough) // 2
        if can_do([span.within(percent) if place in may_be_off else span for place, span in enumerate(spans)]):
            enough = percent
        else:
            few = percent
    return [span.within(enough) if place in may_be_off else span for place, span in enumerate(spans)]


def _clocks(spans: list[Span]) -> Iterator[set[int]]:
    """The timers of all processes together, of each process, and each timer, by the places of their spans."""
    timers = {place: span.process for place, span in enumerate(spans) if span.asked}
    yield set(timers)
    for process in sorted(set(timers.values())):
        yield {place for place, owner in timers.items() if owner == process}
    yield from ({place} for place in timers)


def _earliest(steps: int, spans: list[Span], gap: int, error: int) -> list[int] | None:
    """The earliest times, or None if there is no solution."""
    found = [gap * place for place in range(steps + 1)]
    least = [(s.begin, s.end, s.least - error * s.timer) for s in spans if s.least]
    most = [(s.begin, s.end, s.most + error * s.timer - gap // 2 * s.open) for s in spans]
    latest = gap * steps + sum(max(0, wait) for _, _, wait in least)  # time of the last step, if there is a solution
    for _ in range(steps + 2):
        changed = False
        for begin, end, wait in least:
            if found[end] < found[begin] + wait:
                found[end], changed = found[begin] + wait, True
        for begin, end, wait in most:
            if found[begin] < found[end] - wait:
                found[begin], changed = found[end] - wait, True
        for place in range(1, steps + 1):
            if found[place] < found[place - 1] + gap:
                found[place], changed = found[place - 1] + gap, True
        if found[0] or found[-1] > latest:
            return None
        if not changed:
            return found
    return None
