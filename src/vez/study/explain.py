"""Explain: the parts of a broken run that its picture would not explain.

A crash of a process that has not done anything can break a property just as a crash of the process with the token, but
the picture shows nothing of it. So the shrinker prefers runs in which every fault has a visible effect:

- a crash: the process took part before (sent, received, asked, was named as a leader), or misses a message; a
  process that is dead from the beginning was never there;
- a pause: something waited for its end;
- a partition: a message was lost in it.

Losses, copies and recoveries are events of their own, so they can always be seen. A suspicion is explained by a crash.
A violation should also last for some time, so that the picture can mark it.
"""

from __future__ import annotations

from typing import NamedTuple

from vez.core.assumptions import Property
from vez.core.trace import (
    INTERNAL,
    Asked,
    Crashed,
    Cut,
    Delivered,
    Elected,
    Fired,
    Lost,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Suspected,
    Trace,
    Wanted,
)
from vez.judge.properties import Verdict

TOOK_PART = (Sent, Delivered, Wanted, Asked, Fired, Elected)


class Unexplained(NamedTuple):
    """The number of things that the picture of a broken run does not explain. Fewer is better."""

    faults: int = 0
    """Faults without an effect that can be seen."""
    suspicions: int = 0
    """Suspicions of processes that are up."""
    instant: int = 0
    """1 if the violation takes no time."""

    def is_worse_than(self, other: Unexplained) -> bool:
        """True if `other` explains something that this does not."""
        return any(here > there for here, there in zip(self, other, strict=True))


def unexplained(trace: Trace, verdict: Verdict) -> Unexplained:
    """Count the things that the picture of this broken run would not explain."""
    together = all if verdict.name in (Property.EXCLUSION, Property.UNIQUENESS) else any
    lasts = bool(verdict.spans) and together(span.end > span.start for span in verdict.spans)
    idle = len(idle_crashes(trace)) + _idle_pauses(trace) + _idle_cuts(trace)
    return Unexplained(idle, _wrong_suspicions(trace), int(not lasts))


def shown_events(trace: Trace) -> int:
    """Number of events that pictures show. The others only serve to validate a run."""
    return sum(not isinstance(event, INTERNAL) for event in trace.events)


def idle_crashes(trace: Trace) -> list[Crashed]:
    """The crashes that change nothing that can be seen."""
    idle: list[Crashed] = []
    active: set[int] = set()  # processes that took part, or were named as a leader
    sent = trace.messages()
    missed = {
        (sent[event.message].to, event.at) for event in trace if isinstance(event, Lost) and event.reason == "crash"
    }
    for event in trace:
        if isinstance(event, TOOK_PART):
            active.add(event.process)
            if isinstance(event, Elected) and event.leader is not None:
                active.add(event.leader)
        elif isinstance(event, Crashed):
            misses = any(process == event.process and at >= event.at for process, at in missed)
            if event.at == 0 or (event.process not in active and not misses):
                idle.append(event)
    return idle


def _idle_pauses(trace: Trace) -> int:
    """Number of pauses that delayed nothing. The events that waited for a pause happen at its end."""
    idle, resumed = 0, {(event.process, event.at) for event in trace if isinstance(event, Resumed)}
    busy = {
        (event.process, event.at)
        for event in trace
        if not isinstance(event, Resumed) and (event.process, event.at) in resumed
    }
    for event in trace:
        if isinstance(event, Paused):
            end = min((at for process, at in resumed if process == event.process and at >= event.at), default=None)
            idle += end is not None and (event.process, end) not in busy
    return idle


def _idle_cuts(trace: Trace) -> int:
    cut = any(isinstance(event, Cut) for event in trace)
    return cut and not any(isinstance(event, Lost) and event.reason == "partition" for event in trace)


def _wrong_suspicions(trace: Trace) -> int:
    wrong, down = 0, set[int]()
    for event in trace:
        if isinstance(event, Crashed):
            down.add(event.process)
        elif isinstance(event, Recovered):
            down.discard(event.process)
        elif isinstance(event, Suspected):
            wrong += event.peer not in down
    return wrong
