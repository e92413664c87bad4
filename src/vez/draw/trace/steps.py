"""Steps: the events of a trace in groups that belong together, so that one step of a player is one handler."""

from __future__ import annotations

from vez.core.trace import (
    AnyEvent,
    Cut,
    Elected,
    Entered,
    Healed,
    Left,
    Lost,
    Noted,
    Sent,
    Status,
    Trace,
    Viewed,
    Wrote,
)


def steps(trace: Trace) -> list[tuple[int, int]]:
    """The first and the last event of each step."""
    found: list[tuple[int, int]] = []
    for index, event in enumerate(trace.events):
        if found and _follows(trace.events[index - 1], event):
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return found


def _follows(before: AnyEvent, event: AnyEvent) -> bool:
    """True if an event is an effect of the event before it."""
    if before.at != event.at:
        return False
    if isinstance(event, Cut | Healed):
        return type(before) is type(event)
    if before.process != event.process:
        return False
    if isinstance(event, Lost):
        return isinstance(before, Sent) and before.message == event.message
    if isinstance(event, Left):
        return isinstance(before, Wrote)
    if isinstance(event, Wrote):
        return isinstance(before, Entered)
    return isinstance(event, Sent | Entered | Elected | Status | Viewed | Noted)
