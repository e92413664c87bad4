"""The doorway: the moment from which a request counts as placed. Only a placed request can be overtaken.

A request is placed when every message that its `on_want` sent has arrived, and at once if it sent none. Lamport calls
the part of an entry protocol that waits for no other process the doorway (CACM 17(8), 1974): nothing is promised about
the order of requests that are still in it. `vez.worlds.check.model.doorway` applies the same rule in the checker.
"""

from __future__ import annotations

from collections.abc import Sequence

from vez.core.trace import (
    AnyEvent,
    Chose,
    Delivered,
    Elected,
    Entered,
    Lost,
    MessageId,
    Noted,
    Sent,
    Status,
    Stored,
    TimerCancelled,
    TimerSet,
    Viewed,
    Wanted,
    Wrote,
)

EFFECTS = frozenset(
    {Sent, Lost, Entered, Wrote, Elected, TimerSet, TimerCancelled, Chose, Stored, Noted, Status, Viewed}
)
"""The events that a handler causes at its own process. Any other event of the process ends the current handler."""


def placed(events: Sequence[AnyEvent], requests: Sequence[int]) -> list[int]:
    """For each request, given by the index of its first event: the index at which it was placed.

    A request that was never placed gets the number of events.
    """
    places = {index: place for place, index in enumerate(requests)}
    found = list(requests)
    asking: dict[int, int] = {}  # process → the request whose `on_want` it runs now
    under_way: dict[MessageId, int] = {}  # message of an `on_want` → its request
    missing = [0] * len(requests)
    for index, event in enumerate(events):
        if isinstance(event, Delivered):
            asking.pop(event.process, None)
            place = under_way.pop(event.message, None) if under_way else None
            if place is not None:
                missing[place] -= 1
                found[place] = len(events) if missing[place] else index
        elif isinstance(event, Wanted):
            asking[event.process] = places[index]
        elif event.process in asking:
            if isinstance(event, Sent):
                place = asking[event.process]
                under_way[event.message] = place
                missing[place] += 1
                found[place] = len(events)
            elif type(event) not in EFFECTS:
                del asking[event.process]
    return found
