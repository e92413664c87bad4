"""Steps: a trace, split into one step for each run of a handler.

A step is an event that makes a process run a handler, and the events of that handler: the stored fields, its effects in
the order of its calls, and its new status and view. Steps of different processes may be interleaved in the trace.
Events of the world (loss, cuts, pauses, crashes, writes to the protected resource) belong to no step.
"""

from __future__ import annotations

import msgspec

from vez.core.trace import (
    AnyEvent,
    Asked,
    Chose,
    Crashed,
    Delivered,
    Elected,
    Entered,
    Fired,
    Left,
    MessageId,
    Noted,
    Recovered,
    Sent,
    Started,
    Status,
    Stored,
    Suspected,
    TimerCancelled,
    TimerSet,
    Trace,
    Trusted,
    Viewed,
    Wanted,
    Withdrew,
)

INPUTS = (Started, Wanted, Withdrew, Asked, Left, Delivered, Fired, Suspected, Trusted, Recovered)
"""Events that make a process run a handler."""
OUTCOMES = (Sent, Entered, Elected, TimerSet, TimerCancelled, Chose, Stored, Status, Viewed, Noted)
"""Events that a handler causes."""


class Step(msgspec.Struct):
    """One run of one handler. Indices are positions in the trace; a start that was not recorded has index -1."""

    index: int
    cause: AnyEvent
    outcomes: list[int] = []
    crashed: bool = False
    """True if the next event of the process was a crash."""
    is_last: bool = True
    """True if this is the last step of the process."""


def split(trace: Trace) -> tuple[dict[int, Step], list[Step], int | None]:
    """Steps by the index of their cause, starts that were not recorded, and the first outcome without a cause."""
    steps: dict[int, Step] = {}
    current: dict[int, Step] = {}
    starts: list[Step] = []
    if "started" in trace.header.unseen:
        starts = [Step(-1, Started(0, process)) for process in trace.header.ids]
        current = {step.cause.process: step for step in starts}
    for index, event in enumerate(trace.events):
        kind = type(event)
        if kind in _OUTCOMES:
            if event.process not in current:
                return steps, starts, index
            current[event.process].outcomes.append(index)
        elif kind in _INPUTS:
            if event.process in current:
                current[event.process].is_last = False
            steps[index] = current[event.process] = Step(index, event)
        elif kind is Crashed and event.process in current:
            step = current.pop(event.process)
            step.crashed, step.is_last = True, False
    return steps, starts, None


_INPUTS, _OUTCOMES = frozenset(INPUTS), frozenset(OUTCOMES)


def arrived(trace: Trace) -> set[MessageId]:
    """The messages that were delivered."""
    return {event.message for event in trace.events if isinstance(event, Delivered)}
