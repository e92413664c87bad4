"""Clocks: converts the times of several hosts to one clock, as well as messages allow.

A message from host A to host B cannot arrive before it was sent. So messages in both directions bound the difference of
the two clocks from both sides, and the middle is used. This makes times readable; the order of events of different
hosts is still known only by happened-before.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vez.core.trace import Sent
from vez.worlds.node.cluster.journals import Life
from vez.worlds.node.journal import Received


def clocks_of(lives: Sequence[Life]) -> list[str]:
    """The clocks of a run, beginning with the clock of the first life."""
    return list(dict.fromkeys(life.head.clock for life in lives))


def on_one_clock(lives: Sequence[Life]) -> list[Life]:
    """The lives with all times converted to the clock of the first one."""
    clocks = clocks_of(lives)
    if len(clocks) == 1:
        return list(lives)
    moves = {clock: _move(lives, clocks[0], clock) for clock in clocks}
    moved = [
        life._replace(
            events=[msgspec.structs.replace(event, at=event.at + moves[life.head.clock]) for event in life.events]
        )
        for life in lives
    ]
    return sorted(moved, key=lambda life: life.events[0].at)


def _move(lives: Sequence[Life], first: str, clock: str) -> int:
    """The number of microseconds to add to the times of a clock."""
    if clock == first:
        return 0
    sent: dict[tuple[int, str, int], tuple[str, int]] = {}
    for life in lives:
        for event in life.events:
            if isinstance(event, Sent):
                sent[event.process, life.head.incarnation, event.number] = life.head.clock, event.at
    least, most = None, None
    for life in lives:
        for event in life.events:
            if not isinstance(event, Received):
                continue
            start = sent.get((event.sender, event.incarnation, event.number))
            if start is None:
                continue
            if (start[0], life.head.clock) == (first, clock):
                least = start[1] - event.at if least is None else max(least, start[1] - event.at)
            elif (start[0], life.head.clock) == (clock, first):
                most = event.at - start[1] if most is None else min(most, event.at - start[1])
    if least is not None and most is not None:
        return (least + most) // 2
    if least is not None or most is not None:
        return least if least is not None else most or 0
    begins = {name: min(life.events[0].at for life in lives if life.head.clock == name) for name in (first, clock)}
    return begins[first] - begins[clock]
