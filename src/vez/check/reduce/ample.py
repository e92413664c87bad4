"""Ample: partial-order reduction. Where some events of one process are enough, the others can wait.

Events of different processes commute: one takes from the head of a channel, another appends to its tail. So
if some events of process p stay possible until one of them happens, commute with whatever else p may do before, and
cannot be seen, then every run can be reordered to let one of them come first, and only they need be followed
(Peled, CAV 1993; Clarke, Grumberg and Peled, Model Checking, chapter 10). Three choices are tried for every process:

- that it is asked to elect, or one message that it can take, where `commute` says that the rest of what the process
  may do or hear makes no difference;
- all its events, where channels keep the order and every channel that leads to it holds a message: what others send
  queues up behind it. Which channels lead to it at all is learnt from the search: if one shows up that was not
  counted on, the search begins again with it.

Entering, leaving and electing are visible: events that might show are not preferred. Among the preferred is always
one that must happen some day, so that no run ends before them. So that nobody waits for ever, a state all of whose
preferred successors were expanded already is expanded in full.

Kept by the reduction: every safety verdict, every state in which a run can end, and whether an endless run
exists at all. Runs are no longer the shortest. With symmetry, the choice for the state that stands for an orbit is, by
renaming, a choice for the whole orbit (Emerson, Jha and Peled, TACAS 1997).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vez.check.model.configuration import Configuration
from vez.check.model.semantics import Model
from vez.check.reduce.commute import Commuting
from vez.check.search.store import distinct
from vez.check.search.tables import UNKNOWN, ChannelTable, Grid, Growing
from vez.core.process import name_of
from vez.errors import Misuse

if TYPE_CHECKING:
    from vez.check.search.packed import Packed
    from vez.check.search.store import Numbers


ELECT = ("elect",)
WAYS = 64
"""More messages of one channel than that are not told apart: the rest is never preferred."""


class Unforeseen(Exception):
    """A choice turned out to be wrong: the search must start again."""


class Ample:
    """Chooses, for each state, a set of events that is enough to expand."""

    def __init__(self, model: Model, commuting: Commuting, channels: frozenset[int]) -> None:
        refuse(model.configuration)
        self.model = model
        self.commuting = commuting
        self.channels = set(channels)
        self._alone: set[int] = set()  # the processes of which all events were enough somewhere
        self._elect = [Growing(UNKNOWN) for _ in range(model.n)]
        self._deliveries: dict[int, Grid] = {}
        self._seen: dict[int, int] = {}  # by channel: how many messages were counted on
        self._taken = [0] * model.n  # by process: how many of its steps
        self._states = 0

    def choose(self, packed: Packed) -> Numbers:
        """For every state of the batch the code of the events that are enough, or -1 where all must be expanded."""
        chosen = np.full(len(packed.column(0)), -1, dtype=np.int64)
        places, channels = range(packed.n), sorted(packed.channels)
        choices: list[tuple[Callable[[Packed, int, Numbers], None], Iterable[int]]] = [
            (self._choose_elect, places),
            (self._choose_delivery, channels),
            (self._choose_process, places if self.model.fifo else ()),
        ]
        for choose, numbers in choices:
            for number in numbers:
                if int(chosen.min()) >= 0:
                    return chosen
                choose(packed, number, chosen)
        return chosen

    def foresee(self, packed: Packed) -> None:
        """Take what the last batch found into account; raise `Unforeseen` if a choice relied on its absence."""
        commuting, grown = self.commuting, False
        commuting.allow(packed.store.count - self._states)
        self._states = packed.store.count
        for channel, table in packed.channels.items():
            if len(table.messages) > self._seen.get(channel, 0):
                self._seen[channel], grown = len(table.messages), True
                commuting.count_on(channel, table.messages)
        for place, process in enumerate(packed.processes):
            known, self._taken[place] = self._taken[place], len(process.outcomes)
            grown = grown or known < len(process.outcomes)
            for number in range(known, len(process.outcomes)) if commuting.orders else ():
                before = process.numbers[process.before[number]]
                commuting.count_on_step(place, before, process.events[number], process.outcomes[number])
        fresh = packed.channels.keys() - self.channels
        self.channels |= fresh
        relied_on = self._alone | commuting.orders.keys()
        if any(channel % packed.n in relied_on for channel in fresh) or (grown and not commuting.stands()):
            raise Unforeseen

    def _choose_elect(self, packed: Packed, place: int, chosen: Numbers) -> None:
        rows = np.flatnonzero(chosen < 0)
        locals_ = packed.column(place)[rows]
        table, known = packed.processes[place], self._elect[place]
        known.reach(len(table.numbers))
        found = known.array[locals_]
        for local in distinct(locals_[found == UNKNOWN]):
            known.array[local] = self._elect_first(place, table.numbers[local])
        chosen[rows[known.array[locals_] > 0]] = elect_code(packed.n, place)

    def _elect_first(self, place: int, local: int) -> bool:
        """Timers are not preferred: one that is set again and again would keep everybody else waiting."""
        asked = any(event == ELECT for event, _ in self.model.spontaneous(place, local))
        return asked and self.commuting.may_come_first(place, local, ELECT)

    def _choose_delivery(self, packed: Packed, number: int, chosen: Numbers) -> None:
        channel = packed.channels[number]
        grid = self._deliveries.setdefault(number, Grid())
        for way, (message, _) in enumerate(channel.options[:WAYS]):
            rows = np.flatnonzero(chosen < 0)
            rows = rows[packed.column(channel.column)[rows] > 0]
            messages = message.array[packed.column(channel.column)[rows]]
            rows, messages = rows[messages >= 0], messages[messages >= 0]
            found = grid.look_up(
                packed.column(channel.to)[rows], messages, partial(self._delivery_first, packed, channel)
            )
            chosen[rows[found > 0]] = delivery_code(packed.n, number, way)

    def _delivery_first(self, packed: Packed, channel: ChannelTable, local: int, message: int) -> int:
        event = ("deliver", self.model.ids[channel.sender], channel.messages[message])
        number = packed.processes[channel.to].numbers[local]
        return self.commuting.may_come_first(channel.to, number, event)

    def _choose_process(self, packed: Packed, place: int, chosen: Numbers) -> None:
        into = [channel for channel in sorted(self.channels) if channel % packed.n == place]
        tables = [packed.channels[channel] for channel in into if channel in packed.channels]
        if not tables or len(tables) < len(into):
            return
        rows = np.flatnonzero(chosen < 0)
        for table in tables:
            rows = rows[packed.column(table.column)[rows] > 0]
        rows = self._unseen(packed, place, tables, rows)
        if rows.size:
            self._alone.add(place)
            chosen[rows] = place

    def _unseen(self, packed: Packed, place: int, tables: list[ChannelTable], rows: Numbers) -> Numbers:
        """The rows in which no next event of the process is visible."""
        process = packed.processes[place]
        heads = packed.own_heads(place, packed.column(place)[rows])
        rows = rows[(heads < 0) | (process.shown.array[heads] == 0)]
        for channel in tables if rows.size else ():
            messages = channel.options[0][0].array[packed.column(channel.column)[rows]]
            heads = packed.delivery_heads(channel, packed.column(place)[rows], messages)
            rows = rows[(heads >= 0) & (process.shown.array[heads] == 0)]
        return rows


def elect_code(n: int, place: int) -> int:
    """Code in the choice of `Ample`: only the event `elect` of a process. Its place stands for all its events."""
    return n + place


def delivery_code(n: int, channel: int, way: int) -> int:
    """Code in the choice of `Ample`: only this delivery from this channel."""
    return 2 * n + channel * WAYS + way


def refuse(configuration: Configuration) -> None:
    """Raise `Misuse` if this configuration cannot be reduced."""
    reason = ""
    if any(configuration.budget.counts()):
        reason = "faults share one budget, so that they do not commute"
    elif configuration.capacity:
        reason = "a channel that takes no more makes its two ends depend on each other"
    elif configuration.timed:
        reason = "time passes for all processes at once, so that nobody moves alone"
    if reason:
        raise Misuse(f"{name_of(configuration.algorithm)} cannot be reduced by partial order: {reason}")
