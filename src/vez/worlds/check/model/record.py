"""Record: the messages, requests, crashes, suspicions and timers of a path, with the numbers of their steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from vez.errors import VezError
from vez.worlds.check.model.clock import Countdown
from vez.worlds.check.model.schedule import LONG_US, Span
from vez.worlds.sim.scenario import Crash, Partition, Pause, Suspicion, Want

T = TypeVar("T")

UNFAITHFUL = (
    "if a handler is not deterministic (random, time, sets), `vez sim ALGORITHM --debug` names it; "
    "else please report this with the command that you ran"
)


class CannotReplay(VezError):
    """Checker and simulator disagree about a run: a handler is not deterministic, or vez has a bug."""


def first(candidates: Iterator[T]) -> T:
    """The first candidate to which a step may refer. Raises `CannotReplay` if there is none."""
    for candidate in candidates:
        return candidate
    raise CannotReplay("a step of the run refers to something that no step before it led to", hint=UNFAITHFUL)


class Flying(msgspec.Struct):
    """A message in transit. `arrivals` are the steps in which it, or a copy of it, arrives."""

    message: int
    number: int
    sent: int
    tick: int
    arrivals: list[int] = []
    lost: bool = False
    done: bool = False


class Wanted(msgspec.Struct):
    """A request, with the steps of its entry, exit or withdrawal."""

    process: int
    at: int
    entered: int | None = None
    left: int | None = None
    withdrawn: int | None = None

    def written(self, times: list[int]) -> Want:
        """The want in a scenario. `times` are the times of the steps; the last one is after the end."""
        begin, end = self.at if self.entered is None else self.entered, -1 if self.left is None else self.left
        stay, at = in_ms(times[end] - times[begin]), in_ms(times[self.at])
        if self.withdrawn is None:
            return Want(process=self.process, at_ms=at, inside_ms=stay)
        return Want(process=self.process, at_ms=at, withdraw_ms=in_ms(times[self.withdrawn]), linger_ms=stay)


class Down(msgspec.Struct):
    """A crash, and the recovery after it."""

    process: int
    at: int
    back: int | None = None
    memory: bool = True
    after_actions: int | None = None
    """The number of actions before a crash inside a handler; None if the crash was not inside one."""

    def written(self, times: list[int]) -> Crash:
        """The crash in a scenario."""
        return Crash(
            process=self.process,
            at_ms=in_ms(times[self.at]),
            recover_ms=None if self.back is None else in_ms(times[self.back]),
            memory=self.memory,
            after_actions=self.after_actions,
        )


class CutOff(msgspec.Struct):
    """A partition, until it heals."""

    partition: Partition
    at: int
    until: int | None = None

    def written(self, times: list[int]) -> Partition:
        """The partition in a scenario."""
        until = None if self.until is None else in_ms(times[self.until])
        return msgspec.structs.replace(self.partition, at_ms=in_ms(times[self.at]), until_ms=until)


def heal(cuts: list[CutOff], partition: Partition, at: int) -> None:
    """Note that a partition in force heals."""
    first(cut for cut in cuts if cut.partition == partition and cut.until is None).until = at


class Asleep(msgspec.Struct):
    """A pause, until the process continues or crashes."""

    process: int
    at: int
    until: int | None = None

    def written(self, times: list[int]) -> Pause:
        """The pause in a scenario."""
        begin, end = times[self.at], times[-1 if self.until is None else self.until]
        return Pause(process=self.process, at_ms=in_ms(begin), for_ms=in_ms(end - begin))


class Suspected(msgspec.Struct):
    """A report of the failure detector that a peer is dead, until it is trusted again."""

    process: int
    peer: int
    at: int
    until: int | None = None

    def written(self, times: list[int]) -> Suspicion:
        """The suspicion in a scenario."""
        until = None if self.until is None else in_ms(times[self.until])
        return Suspicion(process=self.process, peer=self.peer, at_ms=in_ms(times[self.at]), until_ms=until)


class Running(msgspec.Struct):
    """A timer that was set."""

    name: str
    set: int
    left: Countdown | None
    """The countdown when it was set; None if the same handler also ended it."""
    fired: int | None = None
    ended: int | None = None
    """The step in which it was cancelled, replaced, or lost in a crash."""

    def span(self, process: int, end: int, *, paused: bool) -> Span | None:
        """The allowed time until the timer ends, or until the step `end`; None if a pause makes it unlimited."""
        if self.left is None or (paused and self.fired is None):
            return None
        earliest, latest = self.left
        asked = self.left.asked if earliest < latest else 0
        if self.fired is None:
            unfired = Span(self.set, self.ended or end, latest - 1, timer=True, open=self.ended is None)
            return unfired._replace(process=process, asked=asked)
        most = LONG_US if paused else latest
        return Span(self.set, self.fired, most, earliest, timer=True, process=process, asked=asked)

    def rate(self, times: list[int], end: int, *, paused: bool) -> float | None:
        """The ratio of its duration to the requested one, within the drift; None if the clock was right, or if a pause
        explains the difference."""
        if self.left is None or self.left.earliest == self.left.latest:
            return None
        (earliest, latest), asked = self.left, self.left.asked
        lasted = self.lasts(times, end)
        if lasted == asked or (paused and lasted > asked):
            return None
        return min(max(lasted, earliest), latest) / asked

    def lasts(self, times: list[int], end: int) -> int:
        """Microseconds until it runs out. If it does not run out, a time after its end, or after `end`."""
        begin = times[self.set]
        if self.fired is not None:
            return times[self.fired] - begin
        over = end if self.ended is None else times[self.ended]
        asked, latest = (self.left.asked, self.left.latest) if self.left else (0, 0)
        for after in (*(asked * percent // 100 for percent in range(100, 200)), latest):
            if over < begin + after <= begin + latest:
                return after
        return times[-1] - begin


def in_ms(us: int) -> float:
    """Microseconds as milliseconds; a whole number if possible."""
    return us // 1000 if us % 1000 == 0 else us / 1000
