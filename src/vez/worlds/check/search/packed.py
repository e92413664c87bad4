"""Packed: breadth-first search of a model, a batch of states at a time.

Every process is a finite machine whose outcomes are cached (`tables`), and a state is a few words
(`store`). A batch of states is expanded one event class after another: the columns that the event needs
are unpacked, the outcomes are looked up by array indexing, and the changed columns are written into copies of the
words. No handler runs in the loop if its outcome is known, and no Python object exists for a state.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from vez.worlds.check.arrays import Numbers, np
from vez.worlds.check.model.local import INSIDE_A_HANDLER
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import (
    CRASHES,
    DUPLICATES,
    LOSSES,
    MISTAKES,
    PARTITIONS,
    PAUSES,
    RECOVERIES,
    WITHDRAWALS,
)
from vez.worlds.check.reduce.ample import ELECT, Ample, delivery_code, elect_code
from vez.worlds.check.search.layout import ALIVE, IS_DUE, IS_PAUSED, IS_WAITING, RUNS
from vez.worlds.check.search.successors import Candidates, Successors
from vez.worlds.check.search.tables import ChannelTable

BATCH = 1 << 16
"""The number of states expanded at once: enough that two threads seldom wait for the interpreter lock."""


class Clocks(NamedTuple):
    """By row of a batch: True if a clock runs, and True if something is due, so that time may not pass."""

    run: np.ndarray[Any, np.dtype[np.bool_]]
    due: np.ndarray[Any, np.dtype[np.bool_]]


class Packed(Successors):
    """The reachable states of a model."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._only: Numbers | None = None

    # One batch.

    def expand(
        self, low: int, high: int, *, rows: Numbers | None = None, ample: Ample | None = None
    ) -> tuple[Candidates, np.ndarray[Any, np.dtype[np.bool_]]]:
        """All successors of a range of states (or of some of its rows), and a mask: True if an event must happen.

        With `ample`, a state in which some events of one process suffice is expanded only by those.
        """
        self._words = self.store.slice(low, high)
        if rows is not None:
            self._words = [word[rows] for word in self._words]
        self._unpacked, self._found = {}, []
        size = len(self._words[0])
        must = np.zeros(size, dtype=bool)
        timed = self.model.configuration.synchronous
        clocks = Clocks(np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)) if timed else None
        self._only = ample.choose(self) if ample is not None else None
        for place in range(self.n):
            self._spontaneous(place, must, clocks)
        for channel in sorted(self.channels):
            self._deliveries(self.channels[channel], must, clocks)
        if self.model.configuration.detector:
            self._detector(must)
        if self.budget_column >= 0:
            self._faults()
        if self.partition_column >= 0:
            self._partitions()
        if clocks is not None:
            self._advance(np.flatnonzero(clocks.run & ~clocks.due), must)
        return self._joined(), must

    @property
    def chosen(self) -> Numbers | None:
        """By row of the last batch: the code of the events that sufficed, or -1; None without reduction."""
        return self._only

    def own_heads(self, place: int, locals_: Numbers) -> Numbers:
        """The first outcome of a process's own events in some local states."""
        return self.processes[place].heads(("spontaneous",), locals_, partial(self._own_events, place))

    def delivery_heads(self, channel: ChannelTable, locals_: Numbers, messages: Numbers) -> Numbers:
        """The first outcome of taking some messages from a channel."""
        return channel.deliveries.look_up(locals_, messages, partial(self._delivery, channel))

    def _allowed(self, place: int, code: int, rows: Numbers) -> Numbers:
        """The rows in which these events of a process are expanded."""
        if self._only is None:
            return rows
        only = self._only[rows]
        allowed: Numbers = rows[(only < 0) | (only == place) | (only == code)]
        return allowed

    def _spontaneous(self, place: int, must: Any, clocks: Clocks | None) -> None:
        table, locals_ = self.processes[place], self.column(place)
        if clocks is not None:
            marks = table.marks.array[locals_]
            clocks.run[:] |= (marks & RUNS) != 0
            clocks.due[:] |= (marks & IS_DUE) != 0
        heads = self.own_heads(place, locals_)
        rows = np.flatnonzero(heads >= 0)
        self._mark_must(table, rows, heads[rows], must)
        if self._only is not None:
            self._event(place, np.flatnonzero(self._only == elect_code(self.n, place)), ELECT)
            rows = self._allowed(place, place, rows)
        self._emit(place, rows, heads[rows])
        if self.may_crash_inside[place]:
            heads = table.heads((INSIDE_A_HANDLER,), locals_, partial(self._crashes_in_own_events, place))
            rows = np.flatnonzero(heads >= 0)
            self._emit_crashes(place, rows, heads[rows], [])

    def _deliveries(self, channel: ChannelTable, must: Any, clocks: Clocks | None) -> None:
        contents = self.column(channel.column)
        rows_with = np.flatnonzero(contents)
        if not rows_with.size:
            return
        must[rows_with] = True
        if clocks is not None:
            late = channel.must_arrive.array[contents[rows_with]] != 0
            if self.initial_budget[PAUSES]:
                late &= ~self._marked(channel.to, IS_PAUSED)[rows_with]
            clocks.due[rows_with] |= late
            if self.model.configuration.clock.delay_us:
                clocks.run[rows_with] = True
        number = channel.sender * self.n + channel.to
        for way in range(len(channel.options)):
            message, rest = channel.options[way]
            rows = self._allowed(channel.to, delivery_code(self.n, number, way), rows_with)
            held = contents[rows]
            taken = message.array[held]
            if way:
                keep = taken >= 0
                rows, held, taken = rows[keep], held[keep], taken[keep]
            fair = self._delivery_class(channel, way, held, taken)
            after = rest.array[held]
            if self.partition_column >= 0:
                cut = self._is_cut(number, rows)
                self._sever(channel, np.flatnonzero(cut), rows, held, after, fair)
                passes = np.flatnonzero(~cut)
                rows, held, after, taken = (some[passes] for some in (rows, held, after, taken))
                fair = fair[passes] if isinstance(fair, np.ndarray) else fair
            if self.initial_budget[PAUSES]:
                awake = np.flatnonzero(~self._marked(channel.to, IS_PAUSED)[rows])
                rows, held, after, taken = (some[awake] for some in (rows, held, after, taken))
                fair = fair[awake] if isinstance(fair, np.ndarray) else fair
            heads = self.delivery_heads(channel, self.column(channel.to)[rows], taken)
            self._emit(channel.to, rows, heads, fair=fair, changes=[(channel.column, held, after)])
            if self.may_crash_inside[channel.to]:
                self._crashes_in_deliveries(channel, rows, taken, [(channel.column, held, after)])
            if channel.sender != channel.to and self.budget_column >= 0:
                self._message_faults(channel, rows, heads, held, after, taken)

    def _message_faults(
        self, channel: ChannelTable, rows: Numbers, heads: Numbers, held: Numbers, after: Numbers, taken: Numbers
    ) -> None:
        alive = self._marked(channel.to, ALIVE)[rows]
        for which in (LOSSES, DUPLICATES):
            chosen = np.flatnonzero(alive & self._has(which)[rows])
            if not chosen.size:
                continue
            spent = self._spend(which, rows[chosen])
            if which == LOSSES:
                self._write(rows[chosen], [(channel.column, held[chosen], after[chosen]), spent], None)
            else:
                self._emit(channel.to, rows[chosen], heads[chosen], changes=[spent])
                if self.may_crash_inside[channel.to]:
                    self._crashes_in_deliveries(channel, rows[chosen], taken[chosen], [spent])

    def _crashes_in_deliveries(self, channel: ChannelTable, rows: Numbers, taken: Numbers, changes: Any) -> None:
        """Write the successors in which the receivers of some messages crash inside the handler."""
        locals_ = self.column(channel.to)[rows]
        heads = channel.crashes.look_up(locals_, taken, partial(self._crash_in_delivery, channel))
        self._emit_crashes(channel.to, rows, heads, changes)

    def _detector(self, must: Any) -> None:
        for place in range(self.n):
            table, locals_ = self.processes[place], self.column(place)
            alive = self._marked(place, ALIVE)
            if self.initial_budget[PAUSES]:
                alive &= ~self._marked(place, IS_PAUSED)
            for other in range(self.n):
                if other == place:
                    continue
                peer = self.model.ids[other]
                told = table.heads(("told", peer), locals_, partial(self._is_told, table, peer)) > 0
                lives = self._marked(other, ALIVE)
                unnoticed = alive & ~told & ~lives
                if np.flatnonzero(unnoticed).size:  # mostly there is none, and the look into all channels is long
                    unnoticed = unnoticed & self._heard_out(other)
                for kind, when in (("suspect", unnoticed), ("trust", alive & told & lives)):
                    rows = np.flatnonzero(when)
                    if rows.size:  # otherwise the verdicts would name a class of fairness without steps
                        must[rows] = True
                        self._event(place, rows, (kind, peer), fair=self._class((kind, peer, place)))
                if self.initial_budget[MISTAKES]:
                    rows = np.flatnonzero(alive & ~told & lives & self._has(MISTAKES))
                    self._event(place, rows, ("suspect", peer), changes=[self._spend(MISTAKES, rows)])

    def _heard_out(self, place: int) -> Any:
        """The states in which a crash may be reported.

        With known bounds, no message of the dead process is in transit; messages for a paused process count as arrived.
        """
        heard = np.ones(len(self._words[0]), dtype=bool)
        if self.model.configuration.synchronous:
            for channel in self.channels.values():
                if channel.sender == place:
                    contents = self.column(channel.column)
                    arrived = contents == 0
                    if self.initial_budget[PAUSES]:
                        arrived |= self._marked(channel.to, IS_PAUSED) & (channel.overdue.array[contents] != 0)
                    heard &= arrived
        return heard

    def _faults(self) -> None:
        for place in range(self.n):
            alive = self._marked(place, ALIVE)
            if self.initial_budget[PAUSES]:
                rows = np.flatnonzero(alive & ~self._marked(place, IS_PAUSED) & self._has(PAUSES))
                self._event(place, rows, ("pause",), changes=[self._spend(PAUSES, rows)])
            if self.initial_budget[CRASHES] and self.model.ids[place] in self.model.configuration.victims:
                rows = np.flatnonzero(alive & self._has(CRASHES))
                self._event(place, rows, ("crash",), changes=[self._spend(CRASHES, rows)])
            if self.initial_budget[RECOVERIES]:
                rows = np.flatnonzero(~alive & self._has(RECOVERIES))
                for memory in (True, False) if self.model.configuration.amnesia else (True,):
                    self._event(place, rows, ("recover", memory), changes=[self._spend(RECOVERIES, rows)])

            if self.initial_budget[WITHDRAWALS]:
                waiting = self._marked(place, IS_WAITING) & ~self._marked(place, IS_PAUSED)
                rows = np.flatnonzero(waiting & self._has(WITHDRAWALS))
                self._event(place, rows, ("withdraw",), changes=[self._spend(WITHDRAWALS, rows)])

    def _sever(
        self, channel: ChannelTable, cut: Numbers, rows: Numbers, held: Numbers, after: Numbers, fair: Any
    ) -> None:
        """Write the successors in which messages that arrive on a cut channel are lost."""
        lost = [(channel.column, held[cut], after[cut])]
        self._write(rows[cut], lost, fair[cut] if isinstance(fair, np.ndarray) else fair)

    def _partitions(self) -> None:
        """Write the successors in which a partition in force heals, or another one begins."""
        partition, may_begin = self.column(self.partition_column), self._has(PARTITIONS)
        for left in self.heals:
            rows = np.flatnonzero(left[partition] >= 0)
            if rows.size:
                self._write(rows, [(self.partition_column, partition[rows], left[partition[rows]])], None)
        for grown in self.begins if may_begin.any() else ():
            rows = np.flatnonzero((grown[partition] >= 0) & may_begin)
            if rows.size:
                cut = (self.partition_column, partition[rows], grown[partition[rows]])
                self._write(rows, [cut, self._spend(PARTITIONS, rows)], None)

    def _advance(self, rows: Numbers, must: Any) -> None:
        """Write the successors in which one tick passes, for these rows."""
        if not rows.size:
            return
        must[rows] = True
        event, changes = ("advance", self.model.configuration.clock.tick_us), []
        for place, table in enumerate(self.processes):
            before = self.column(place)[rows]
            heads = table.heads(event, before, partial(self._after_time, place, event))
            changes.append((place, before, table.local.array[heads]))
        for channel in self.channels.values():
            before = self.column(channel.column)[rows]
            changes.append((channel.column, before, channel.after_tick(before)))
        self._write(rows, changes, self._class(("advance",)))
