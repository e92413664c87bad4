"""Ample: partial-order reduction. In a state in which some events of one process suffice, the others are not expanded.

Events of different processes commute: one takes from the head of a channel, another appends to its tail. Suppose that
some events of process p stay possible until one of them happens, commute with everything else that p may do before, and
are invisible. Then every run can be reordered so that one of them comes first, and only they need to be expanded
(Peled, CAV 1993; Clarke, Grumberg and Peled, Model Checking, chapter 10). Three choices are tried for every process:

- its `elect` event, or one message that it can receive, if `commute` finds that everything else that the process may do
  or receive makes no difference;
- all its events, if channels keep the order and every channel to the process holds a message: messages that others send
  queue up behind it. The search learns which channels lead to the process. If an unexpected one appears, the search
  begins again with it.

Entering, leaving and electing are visible: events that may be visible are not preferred. One of the preferred events
must always happen eventually, so that no run ends before them. So that no event is postponed for ever, a state is
expanded in full if all its preferred successors were expanded already.

The reduction keeps every safety verdict, every state in which a run can end, and the answer to whether an endless run
exists. Runs are no longer the shortest. With symmetry, the choice for the representative of an orbit is, by renaming, a
choice for the whole orbit (Emerson, Jha and Peled, TACAS 1997).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from vez.core.process import name_of
from vez.errors import Misuse
from vez.worlds.check.arrays import Numbers, distinct, np
from vez.worlds.check.model.configuration import Configuration
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.reduce.commute import Commuting
from vez.worlds.check.search.tables import UNKNOWN, ChannelTable, Grid, Growing

if TYPE_CHECKING:
    from vez.worlds.check.search.packed import Packed


ELECT = ("elect",)
WAYS = 64
"""The number of messages of one channel that are distinguished. Further ones are never preferred."""


class Unforeseen(Exception):
    """A choice turned out to be wrong: the search must start again."""


class Ample:
    """Chooses, for each state, a set of events that suffices."""

    def __init__(self, model: Model, commuting: Commuting, channels: frozenset[int]) -> None:
        refuse(model.configuration)
        self.model = model
        self.commuting = commuting
        self.channels = set(channels)
        self._alone: set[int] = set()  # the processes whose events sufficed in some state
        self._elect = [Growing(UNKNOWN) for _ in range(model.n)]
        self._deliveries: dict[int, Grid] = {}
        self._seen: dict[int, int] = {}  # by channel: the number of messages taken into account
        self._taken = [0] * model.n  # by process: the number of steps taken into account
        self._states = 0

    def choose(self, packed: Packed) -> Numbers:
        """For every state of the batch: the code of the events that suffice, or -1 if all must be expanded."""
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
        """Take the results of the last batch into account. Raises `Unforeseen` if a choice relied on their absence."""
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
        """True if `elect` suffices. Timers are not preferred: one that is set repeatedly would postpone all else."""
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
    """Code in the choice of `Ample`: only the event `elect` of a process. A process's place means all its events."""
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
