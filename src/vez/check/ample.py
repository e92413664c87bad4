"""Ample: partial-order reduction. Where the events of one process are enough, the others can wait.

Events of different processes commute: one takes from the head of a channel, another appends to its tail. So
if all that process p can do now stays what it can do until it moves, and nobody can see p move, then every
run can be reordered to let p move first, and only p's events need be followed (Peled, CAV 1993; Clarke,
Grumberg and Peled, Model Checking, chapter 10). For channels that keep the order this is so when every channel
that leads to p holds a message: what others send to p queues up behind it.

- Which channels lead to p at all is learnt from the search itself: if a channel shows up that was not counted
  on, the search starts again with it.
- Entering, leaving and electing are visible: a process whose next events might show is not preferred.
- So that nobody waits for ever, a state all of whose preferred successors were expanded already is expanded
  in full.

Kept by the reduction: every safety verdict, every state in which a run can end, and whether an endless run
exists at all. Runs are no longer the shortest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vez.check.configuration import Configuration
from vez.errors import Misuse

if TYPE_CHECKING:
    from vez.check.packed import Packed
    from vez.check.store import Numbers


class UnforeseenChannel(Exception):
    """A channel is used that was not counted on: begin again."""


class Ample:
    """Chooses the process whose events are enough."""

    def __init__(self, configuration: Configuration, channels: frozenset[int]) -> None:
        refuse(configuration)
        self.channels = channels
        n = len(configuration.ids)
        self._into = [[channel for channel in sorted(channels) if channel % n == place] for place in range(n)]

    def choose(self, packed: Packed) -> Numbers:
        """For every state of the batch, a process, or -1 where all must be expanded."""
        size = len(packed.column(0))
        chosen = np.full(size, -1, dtype=np.int64)
        for place, channels in enumerate(self._into):
            tables = [packed.channels.get(channel) for channel in channels]
            if not tables or any(table is None for table in tables):
                continue
            rows = np.flatnonzero(chosen < 0)
            for table in tables:
                if table is not None:
                    rows = rows[packed.column(table.column)[rows] > 0]
            rows = self._unseen(packed, place, rows)
            chosen[rows] = place
        return chosen

    def _unseen(self, packed: Packed, place: int, rows: Numbers) -> Numbers:
        """The rows in which nothing that the process might do next is visible."""
        process = packed.processes[place]
        heads = packed.own_heads(place, packed.column(place)[rows])
        rows = rows[(heads < 0) | (process.shown.array[heads] == 0)]
        for number in self._into[place] if rows.size else ():
            channel = packed.channels[number]
            messages = channel.options[0][0].array[packed.column(channel.column)[rows]]
            heads = packed.delivery_heads(channel, packed.column(place)[rows], messages)
            rows = rows[(heads >= 0) & (process.shown.array[heads] == 0)]
        return rows


def refuse(configuration: Configuration) -> None:
    """Say why this configuration cannot be reduced, if so."""
    reason = ""
    if not configuration.fifo:
        reason = "its channels do not keep the order, so that a message sent later may be handled first"
    elif any(configuration.budget.counts()):
        reason = "faults share one budget, so that they do not commute"
    elif configuration.synchronous and any(name.startswith("on_timer_") for name in dir(configuration.algorithm)):
        reason = "time passes for all processes at once, so that nobody moves alone"
    if reason:
        raise Misuse(f"{configuration.algorithm.name} cannot be reduced by partial order: {reason}")
