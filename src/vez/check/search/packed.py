"""Packed: breadth-first search of a model, a batch of states at a time.

Every process is a finite machine whose outcomes are remembered (`tables`), and a state is a few words
(`store`). A batch of states is expanded one event class after another: the columns that the event looks at
are unpacked, the outcomes looked up by fancy indexing, and the changed columns added into copies of the
words. No handler runs in the loop once its outcome is known, and no Python object exists for a state.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from vez.check.model.local import Event
from vez.check.model.semantics import CRASHES, DUPLICATES, LOSSES, MISTAKES, RECOVERIES, WITHDRAWALS, Model
from vez.check.reduce.ample import ELECT, Ample, delivery_code, elect_code
from vez.check.search.layout import ALIVE, BLOCKS_TIME, IS_WAITING, NEVER, Layout
from vez.check.search.store import Numbers, Words, distinct
from vez.check.search.tables import NONE, ChannelTable, ProcessTable

BATCH = 1 << 16
"""States expanded at once: so many that two threads seldom wait for the interpreter."""


class Candidates(NamedTuple):
    """Successors of a batch: their words, the row of the batch they come from, and their class of fairness."""

    words: Words
    rows: Numbers
    fair: Numbers


class Packed(Layout):
    """The reachable states of a model."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._words: Words = []
        self._only: Numbers | None = None
        self._found: list[Candidates] = []
        self._unpacked: dict[int, Numbers] = {}
        self.with_postponed = False
        """True if a step that sets a due timer anew is written once more, as if the timer had fired: for fairness."""

    # One batch.

    def expand(
        self, low: int, high: int, *, rows: Numbers | None = None, ample: Ample | None = None
    ) -> tuple[Candidates, np.ndarray[Any, np.dtype[np.bool_]]]:
        """All successors of a range of states (or of some rows of it), and which states have an event that must happen.

        With `ample`, states in which some events of one process are enough are expanded by those alone.
        """
        self._words = self.store.slice(low, high)
        if rows is not None:
            self._words = [word[rows] for word in self._words]
        self._unpacked, self._found = {}, []
        size = len(self._words[0])
        must = np.zeros(size, dtype=bool)
        quiet = np.ones(size, dtype=bool) if self.model.configuration.synchronous else None
        self._only = ample.choose(self) if ample is not None else None
        for place in range(self.n):
            self._spontaneous(place, must, quiet)
        for channel in sorted(self.channels):
            self._deliveries(self.channels[channel], must, quiet)
        if self.model.configuration.detector:
            self._detector(must, quiet)
        self._faults()
        if quiet is not None:
            self._advance(np.flatnonzero(quiet), must)
        return self._joined(), must

    @property
    def chosen(self) -> Numbers | None:
        """By row of the last batch: which events were enough, or -1; None without reduction."""
        return self._only

    def own_heads(self, place: int, locals_: Numbers) -> Numbers:
        """The first of a process's own events in some local states."""
        return self.processes[place].heads(("spontaneous",), locals_, partial(self._own_events, place))

    def delivery_heads(self, channel: ChannelTable, locals_: Numbers, messages: Numbers) -> Numbers:
        """The first outcome of taking some messages from a channel."""
        return channel.deliveries.look_up(locals_, messages, partial(self._delivery, channel))

    def _allowed(self, place: int, code: int, rows: Numbers) -> Numbers:
        """The rows in which some of a process's events are expanded at all."""
        if self._only is None:
            return rows
        only = self._only[rows]
        allowed: Numbers = rows[(only < 0) | (only == place) | (only == code)]
        return allowed

    def _joined(self) -> Candidates:
        parts = self._found
        width = len(self.store.words)
        for words, _, _ in parts:  # a channel first used in this batch may have opened a new word
            words.extend(np.zeros(len(words[0]), dtype=np.uint64) for _ in range(width - len(words)))
        empty = np.zeros(0, dtype=np.int64)
        return Candidates(
            [np.concatenate([part.words[w] for part in parts] or [empty.view(np.uint64)]) for w in range(width)],
            np.concatenate([part.rows for part in parts] or [empty]),
            np.concatenate([part.fair for part in parts] or [empty]),
        )

    def column(self, place: int) -> Numbers:
        """One column of the batch."""
        found = self._unpacked.get(place)
        if found is None:
            if self.store.columns[place].word >= len(self._words):
                return np.zeros(len(self._words[0]), dtype=np.int64)
            found = self._unpacked[place] = self.store.values(self._words, place)
        return found

    def _spontaneous(self, place: int, must: Any, quiet: Any) -> None:
        table, locals_ = self.processes[place], self.column(place)
        if quiet is not None:
            quiet &= (table.marks.array[locals_] & BLOCKS_TIME) == 0
        heads = self.own_heads(place, locals_)
        rows = np.flatnonzero(heads >= 0)
        self._mark_must(table, rows, heads[rows], must)
        if self._only is not None:
            self._event(place, np.flatnonzero(self._only == elect_code(self.n, place)), ELECT)
            rows = self._allowed(place, place, rows)
        self._emit(place, rows, heads[rows])

    def _deliveries(self, channel: ChannelTable, must: Any, quiet: Any) -> None:
        contents = self.column(channel.column)
        rows_with = np.flatnonzero(contents)
        if not rows_with.size:
            return
        must[rows_with] = True
        if quiet is not None:
            quiet[rows_with] = False
        number = channel.sender * self.n + channel.to
        for way in range(len(channel.options)):
            message, rest = channel.options[way]
            rows = self._allowed(channel.to, delivery_code(self.n, number, way), rows_with)
            held = contents[rows]
            taken = message.array[held]
            if way:
                keep = taken >= 0
                rows, held, taken = rows[keep], held[keep], taken[keep]
            locals_ = self.column(channel.to)[rows]
            heads = self.delivery_heads(channel, locals_, taken)
            fair = self._delivery_class(channel, taken)
            after = rest.array[held]
            self._emit(channel.to, rows, heads, fair=fair, changes=[(channel.column, held, after)])
            if channel.sender != channel.to:
                self._message_faults(channel, rows, heads, held, after)

    def _message_faults(
        self, channel: ChannelTable, rows: Numbers, heads: Numbers, held: Numbers, after: Numbers
    ) -> None:
        alive = self._marked(channel.to, ALIVE)[rows]
        for which in (LOSSES, DUPLICATES) if self.budget_column >= 0 else ():
            chosen = np.flatnonzero(alive & self._has(which)[rows])
            if not chosen.size:
                continue
            spent = self._spend(which, rows[chosen])
            if which == LOSSES:
                self._write(rows[chosen], [(channel.column, held[chosen], after[chosen]), spent], None)
            else:
                self._emit(channel.to, rows[chosen], heads[chosen], changes=[spent])

    def _detector(self, must: Any, quiet: Any) -> None:
        for place in range(self.n):
            table, locals_ = self.processes[place], self.column(place)
            alive = self._marked(place, ALIVE)
            for other in range(self.n):
                if other == place:
                    continue
                peer = self.model.ids[other]
                told = table.heads(("told", peer), locals_, partial(self._is_told, table, peer)) > 0
                lives = self._marked(other, ALIVE)
                heard = self._heard_out(other)
                for kind, when in (("suspect", ~told & ~lives), ("trust", told & lives)):
                    rows = np.flatnonzero(alive & when & heard)
                    must[rows] = True
                    if quiet is not None:
                        quiet[rows] = False
                    self._event(place, rows, (kind, peer), fair=self._class((kind, peer, place)))
                if self.initial_budget[MISTAKES]:
                    rows = np.flatnonzero(alive & ~told & lives & self._has(MISTAKES))
                    self._event(place, rows, ("suspect", peer), changes=[self._spend(MISTAKES, rows)])

    def _heard_out(self, place: int) -> Any:
        """The states in which the detector may report on a process; with known bounds, none of its messages flies."""
        heard = np.ones(len(self._words[0]), dtype=bool)
        if self.model.configuration.synchronous:
            for channel in self.channels.values():
                if channel.sender == place:
                    heard &= self.column(channel.column) == 0
        return heard

    def _faults(self) -> None:
        for place in range(self.n):
            alive = self._marked(place, ALIVE)
            if self.initial_budget[CRASHES] and self.model.ids[place] in self.model.configuration.victims:
                rows = np.flatnonzero(alive & self._has(CRASHES))
                self._event(place, rows, ("crash",), changes=[self._spend(CRASHES, rows)])
            if self.initial_budget[RECOVERIES]:
                rows = np.flatnonzero(~alive & self._has(RECOVERIES))
                for memory in (True, False) if self.model.configuration.amnesia else (True,):
                    self._event(place, rows, ("recover", memory), changes=[self._spend(RECOVERIES, rows)])

            if self.initial_budget[WITHDRAWALS]:
                rows = np.flatnonzero(self._marked(place, IS_WAITING) & self._has(WITHDRAWALS))
                self._event(place, rows, ("withdraw",), changes=[self._spend(WITHDRAWALS, rows)])

    def _advance(self, rows: Numbers, must: Any) -> None:
        left = np.full(rows.size, NEVER, dtype=np.int64)
        for place, table in enumerate(self.processes):
            np.minimum(left, table.left.array[self.column(place)[rows]], out=left)
        running = (left < NEVER) & (left > 0)
        rows, left = rows[running], left[running]
        for passed in distinct(left):
            some = rows[left == passed]
            changes = []
            for place, table in enumerate(self.processes):
                before = self.column(place)[some]
                event = ("advance", passed)
                heads = table.heads(event, before, partial(self._after_time, place, event))
                changes.append((place, before, table.local.array[heads]))
            must[some] = True
            self._write(some, changes, self._class(("advance",)))

    # Writing successors.

    def _event(self, place: int, rows: Numbers, event: Event, *, changes: Any = (), fair: int | None = None) -> None:
        if rows.size:
            table = self.processes[place]
            before = self.column(place)[rows]
            heads = table.heads(event, before, lambda local: self._chain(place, local, [(event, False)]))
            self._emit(place, rows, heads, changes=list(changes), fair=fair)

    def _emit(self, place: int, rows: Numbers, heads: Numbers, *, changes: Any = (), fair: Any = None) -> None:
        """Write one successor for each outcome in the chains."""
        table = self.processes[place]
        changes = list(changes)
        if heads.size and heads.min() < 0:  # what lies beyond a bound has no outcome
            rows, heads, changes, fair = _some(np.flatnonzero(heads >= 0), rows, heads, changes, fair)
        while rows.size:
            self._write_outcomes(table, rows, heads, changes, fair)
            heads = table.chain.array[heads]
            more = np.flatnonzero(heads >= 0)
            if not more.size:
                return
            rows, heads, changes, fair = _some(more, rows, heads, changes, fair)

    @staticmethod
    def _mark_must(table: ProcessTable, rows: Numbers, heads: Numbers, must: Any) -> None:
        while rows.size:
            must[rows[table.must.array[heads] > 0]] = True
            heads = table.chain.array[heads]
            more = heads >= 0
            rows, heads = rows[more], heads[more]

    def _write_outcomes(self, table: ProcessTable, rows: Numbers, heads: Numbers, changes: Any, fair: Any) -> None:
        all_changes = [(table.place, self.column(table.place)[rows], table.local.array[heads])]
        popped = {column: new for column, _, new in changes}
        for channel, growing in table.bursts.items():
            burst = growing.array[heads]
            if not burst.any():
                continue
            target = self.channels[channel]
            held = popped.get(target.column)
            held = self.column(target.column)[rows] if held is None else held
            after = target.appended.look_up(held, burst, target.append)
            if after.min() < 0:  # beyond the capacity that is followed
                kept = _some(np.flatnonzero(after >= 0), rows, heads, changes, fair)
                if kept[0].size:
                    self._write_outcomes(table, *kept)
                return
            all_changes.append((target.column, held, after))
        if self.observer_column >= 0:
            before = self.column(self.observer_column)[rows]
            seen = self._observed.look_up(before, table.visible.array[heads], self._observe)
            all_changes.append((self.observer_column, before, seen))
        if fair is None:
            fair = self._own_classes(table)[heads]
        self._write(rows, [*changes, *all_changes], fair)
        if self.with_postponed:
            self._write_postponed(table, rows, heads, [*changes, *all_changes])

    def _write_postponed(self, table: ProcessTable, rows: Numbers, heads: Numbers, changes: Any) -> None:
        for name, growing in table.postponed.items():
            growing.reach(len(table.outcomes))
            chosen = np.flatnonzero(growing.array[heads])
            if chosen.size:
                some = [(column, old[chosen], new[chosen]) for column, old, new in changes]
                self._write(rows[chosen], some, self._class(("fire", table.place, name)))

    def _write(self, rows: Numbers, changes: Any, fair: Any) -> None:
        words: list[Any] = [word[rows] for word in self._words]
        for place, old, new in changes:
            column = self.store.columns[place]
            while column.word >= len(words):
                words.append(np.zeros(rows.size, dtype=np.uint64))
            most = int(new.max()) if new.size else 0
            self.check_width(place, most)
            words[column.word] += (new - old).view(np.uint64) << column.shift
        if fair is None:
            fair = NONE
        self._found.append(Candidates(words, rows, np.broadcast_to(np.int64(fair), rows.shape)))

    # Budgets, marks and classes of fairness.

    def _marked(self, place: int, mark: int) -> Any:
        return (self.processes[place].marks.array[self.column(place)] & mark) != 0

    def _has(self, which: int) -> Any:
        left = self.column(self.budget_column) // self.radix[which]
        return left % (self.initial_budget[which] + 1) > 0

    def _spend(self, which: int, rows: Numbers) -> tuple[int, Numbers, Numbers]:
        before = self.column(self.budget_column)[rows]
        return self.budget_column, before, before - self.radix[which]


def _some(which: Numbers, rows: Numbers, heads: Numbers, changes: Any, fair: Any) -> tuple[Any, Any, Any, Any]:
    kept = [(column, old[which], new[which]) for column, old, new in changes]
    return rows[which], heads[which], kept, fair[which] if isinstance(fair, np.ndarray) else fair
