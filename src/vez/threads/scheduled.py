"""Scheduled execution at a fixed rate and at a fixed delay, and the behaviour of each when a run takes too long.

At a fixed rate, run k is planned at start + k · period. A run that takes longer than the period delays the next ones,
which then run without a break until they are on time again; two runs never overlap. With a fixed delay, a run begins
one delay after the end of the previous run, so an overrun delays everything that follows.

Camargos, Concorrência, "Java", has exchanged the two comments: it is the fixed delay that waits for the end of the
previous run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from vez.errors import Misuse
from vez.threads.recording import Recorder, Recording

Kind = Literal["fixed rate", "fixed delay"]
KINDS: tuple[Kind, ...] = ("fixed rate", "fixed delay")
INITIAL_S, PERIOD_S = 1.0, 5.0
"""Delay and period of the example in the text: after one second, every five seconds."""
RUNS_S = (2.0, 12.0, 2.0, 2.0, 2.0)
"""The duration of each run. The second is longer than the period."""


class Clock(Protocol):
    """The clock of a schedule."""

    def now(self) -> float: ...

    def sleep_until(self, time_s: float) -> None: ...


class Virtual:
    """A virtual clock: it jumps to the next time instead of sleeping."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """The time in seconds."""
        return self._now

    def sleep_until(self, time_s: float) -> None:
        """Jump to a time, if it is in the future."""
        self._now = max(self._now, time_s)


class Real:
    """Real time, in which a second takes `scale` seconds."""

    def __init__(self, scale: float = 1.0) -> None:
        if scale <= 0:
            raise Misuse(f"--sleep: real time needs more than 0 s for a second, found {scale:g}")
        self._scale, self._start = scale, time.perf_counter()

    def now(self) -> float:
        """The time in seconds, divided by the scale."""
        return (time.perf_counter() - self._start) / self._scale

    def sleep_until(self, time_s: float) -> None:
        """Sleep until a time, if it is in the future."""
        time.sleep(max(0.0, (time_s - self.now()) * self._scale))


class Execution(msgspec.Struct, frozen=True):
    """One run: the times at which it was planned, began and ended."""

    planned_s: float
    start_s: float
    end_s: float


def schedule(kind: Kind, clock: Clock, runs_s: Sequence[float] = RUNS_S) -> list[Execution]:
    """Run tasks of these durations one after the other, each at its planned time or as soon as possible after it."""
    done: list[Execution] = []
    planned = INITIAL_S
    for length in runs_s:
        clock.sleep_until(planned)
        start = clock.now()
        clock.sleep_until(start + length)
        end = clock.now()
        done.append(Execution(planned, start, end))
        planned = planned + PERIOD_S if kind == "fixed rate" else end + PERIOD_S
    return done


class Schedules(msgspec.Struct, frozen=True):
    """The executions of both kinds, expected and measured."""

    expected: dict[Kind, list[Execution]]
    measured: dict[Kind, list[Execution]]
    recording: Recording


def both(scale: float = 1.0, runs_s: Sequence[float] = RUNS_S) -> Schedules:
    """Run both kinds side by side on real threads."""
    recorder, clock = Recorder(), Real(scale)
    measured: dict[Kind, list[Execution]] = {}

    def worker(kind: Kind) -> None:
        measured[kind] = schedule(kind, clock, runs_s)
        for number, one in enumerate(measured[kind], 1):
            start, end, planned = (int(s * scale * 1e6) for s in (one.start_s, one.end_s, one.planned_s))
            recorder.add("works", start, f"run {number}", kind, end)
            recorder.add("planned", planned, f"planned start of run {number}", kind)

    workers = [threading.Thread(target=worker, args=(kind,), name=kind, daemon=True) for kind in KINDS]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    expected = {kind: schedule(kind, Virtual(), runs_s) for kind in KINDS}
    return Schedules(expected, measured, recorder.recording(KINDS))
