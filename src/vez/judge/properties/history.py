"""History: the intervals of a trace in which processes waited, were inside, were down, or led.

Judges, measurements and pictures all use it, so that they cannot disagree about what happened.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from functools import cached_property

import msgspec

from vez.core.trace import (
    AnyEvent,
    Asked,
    Crashed,
    Cut,
    Elected,
    Entered,
    Healed,
    Left,
    Paused,
    Recovered,
    Resumed,
    Suspected,
    Trace,
    Trusted,
    Wanted,
    Withdrew,
)
from vez.judge.properties.doorway import placed


class Stay(msgspec.Struct):
    """One request of a process, from `Wanted` to `Left`. Indices are positions in the trace."""

    process: int
    wanted_at: int
    wanted_index: int
    entered_at: int | None = None
    entered_index: int | None = None
    left_at: int | None = None
    left_index: int | None = None
    token: int | None = None
    crashed: bool = False
    """True if a crash ended the wait or the stay."""
    withdrawn_at: int | None = None
    withdrawn_index: int | None = None
    """Index at which the application stopped waiting. The process may still get in, and then leaves at once."""

    @property
    def served(self) -> bool:
        """True if the process got in."""
        return self.entered_at is not None

    @property
    def withdrawn(self) -> bool:
        """True if the application stopped waiting before the process got in."""
        return self.withdrawn_at is not None


class Reign(msgspec.Struct):
    """A period in which a process considered itself the leader."""

    leader: int
    term: int
    start: int
    start_index: int
    end: int
    end_index: int
    ended_by: str = ""
    """`crash`, `other` (it named another leader), `nobody` (it knew no leader), or empty if it led to the end."""


class Interval(msgspec.Struct):
    """A period in which a process was down or paused."""

    process: int
    start: int
    end: int
    open: bool = True
    """True if it lasted to the end of the run."""


class History:
    """The intervals of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.end = max(trace.header.ended_at, trace.events[-1].at if trace.events else 0)
        self.stays: list[Stay] = []
        self.reigns: list[Reign] = []
        self.downs: list[Interval] = []
        self.pauses: list[Interval] = []
        self.views: dict[int, tuple[int, int]] = {}
        """The leader and term that each live process names at the end; absent if it knows no leader."""
        self._read()

    @cached_property
    def live(self) -> tuple[int, ...]:
        """The processes that are up at the end."""
        down = {interval.process for interval in self.downs if interval.open}
        return tuple(process for process in self.trace.header.ids if process not in down)

    @cached_property
    def bypasses(self) -> list[int]:
        """For each stay: the number of entries before it, by requests that were made after its request was placed."""
        return self._overtaken(placed(self.trace.events, [stay.wanted_index for stay in self.stays]))

    @cached_property
    def overtaken(self) -> list[int]:
        """For each stay: the number of entries before it, by requests that were made after its request."""
        return self._overtaken([stay.wanted_index for stay in self.stays])

    def _overtaken(self, since: list[int]) -> list[int]:
        """For each stay: the number of entries of requests made after its index in `since`, until it was served,
        withdrew or crashed, or the run ended. A withdrawn request that enters overtakes nobody: it leaves at once."""
        counts = [0] * len(self.stays)
        entered_later: list[int] = []  # entry indices of the requests made later, ascending
        waiting = sorted(self.stays, key=lambda stay: stay.wanted_index)
        for place in sorted(range(len(self.stays)), key=lambda place: -since[place]):
            while waiting and waiting[-1].wanted_index > since[place]:
                later = waiting.pop()
                if later.entered_index is not None and not later.withdrawn:
                    insort(entered_later, later.entered_index)
            stay = self.stays[place]
            until = stay.withdrawn_index if stay.withdrawn else stay.entered_index
            until = stay.left_index if until is None else until
            counts[place] = bisect_left(entered_later, len(self.trace.events) if until is None else until)
        return counts

    @cached_property
    def quiet_since(self) -> int:
        """Time of the last event to which an election could still react."""
        kinds = (Asked, Elected, Crashed, Recovered, Cut, Healed, Suspected, Trusted, Resumed)
        return max((event.at for event in self.trace.events if isinstance(event, kinds)), default=0)

    @property
    def settled(self) -> bool:
        """True if nothing more will happen, nothing has happened for `patience_us`, or the run repeats itself."""
        header = self.trace.header
        return header.end == "quiet" or self.end - self.quiet_since >= header.patience_us or self.repeats

    @cached_property
    def repeats(self) -> bool:
        """True if the header names a loop that repeats for ever, and the run ends after two or more equal laps."""
        if self.trace.header.loop_us is None:
            return False
        begin, end = self.trace.header.loop_us
        laps, rest = divmod(self.end - begin, end - begin)
        if laps < 2 or rest:
            return False
        found: list[list[object]] = [[] for _ in range(laps)]
        for event in self.trace.events:
            if event.at > begin:
                lap, at = divmod(event.at - begin, end - begin)
                if lap < laps:
                    found[lap].append((type(event), at, _without_numbers(event)))
        return all(lap == found[0] for lap in found)

    def is_down(self, process: int, at: int) -> bool:
        """True if the process was down at that time."""
        return any(down.process == process and down.start <= at and (down.open or at < down.end) for down in self.downs)

    def _read(self) -> None:
        waiting: dict[int, Stay] = {}
        reigning: dict[int, Reign] = {}
        down: dict[int, Interval] = {}
        still: dict[int, Interval] = {}
        for index, event in enumerate(self.trace.events):
            process, at = event.process, event.at
            match event:
                case Wanted():
                    waiting[process] = Stay(process, at, index)
                    self.stays.append(waiting[process])
                case Entered(token=token):
                    if process not in waiting:  # the trace of a world that records no `Wanted` events
                        waiting[process] = Stay(process, at, index)
                        self.stays.append(waiting[process])
                    stay = waiting[process]
                    stay.entered_at, stay.entered_index, stay.token = at, index, token
                case Withdrew(retracted=retracted) if process in waiting:
                    stay = waiting[process]
                    stay.withdrawn_at, stay.withdrawn_index = at, index
                    if retracted:
                        stay.left_at, stay.left_index = at, index
                        del waiting[process]
                case Left() if process in waiting:
                    stay = waiting.pop(process)
                    stay.left_at, stay.left_index = at, index
                case Elected(leader=leader, term=term):
                    if leader is None:
                        self.views.pop(process, None)
                    else:
                        self.views[process] = (leader, term)
                    self._reign(reigning, process, leader, term, at, index)
                case Crashed():
                    if (lost := waiting.pop(process, None)) is not None:
                        lost.crashed, lost.left_at, lost.left_index = True, at, index
                    self._depose(reigning, process, at, index, "crash")
                    self.views.pop(process, None)
                    down[process] = Interval(process, at, self.end)
                    self.downs.append(down[process])
                    _close(still.pop(process, None), at)
                case Recovered():
                    _close(down.pop(process, None), at)
                case Paused():
                    still[process] = Interval(process, at, self.end)
                    self.pauses.append(still[process])
                case Resumed():
                    _close(still.pop(process, None), at)
                case _:
                    pass

    def _reign(
        self, reigning: dict[int, Reign], process: int, leader: int | None, term: int, at: int, index: int
    ) -> None:
        current = reigning.get(process)
        if current is not None and (current.leader, current.term) == (leader, term):
            return
        self._depose(reigning, process, at, index, "other" if leader is not None else "nobody")
        if leader == process:
            reigning[process] = Reign(leader, term, at, index, self.end, len(self.trace.events))
            self.reigns.append(reigning[process])

    @staticmethod
    def _depose(reigning: dict[int, Reign], process: int, at: int, index: int, why: str) -> None:
        reign = reigning.pop(process, None)
        if reign is not None:
            reign.end, reign.end_index, reign.ended_by = at, index, why


def _without_numbers(event: AnyEvent) -> tuple[object, ...]:
    """The values of an event without its time and its message number, which differ between equal laps."""
    return tuple(getattr(event, name) for name in event.__struct_fields__ if name not in ("at", "number"))


def _close(interval: Interval | None, at: int) -> None:
    if interval is not None:
        interval.end, interval.open = at, False
