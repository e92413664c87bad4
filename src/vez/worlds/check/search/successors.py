"""Successors: the states after a batch, written as words.

An outcome changes a few columns: of the process, of the channels it sends on, of the budget, of the observer. The
changes are written into copies of the words. If a value does not fit into its column, the column is widened, and the
batch is expanded again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vez.worlds.check.arrays import Numbers, Words, np
from vez.worlds.check.model.local import INSIDE_A_HANDLER, Event
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import CRASHES_INSIDE
from vez.worlds.check.search.layout import Layout
from vez.worlds.check.search.tables import NONE, ProcessTable


class Candidates(NamedTuple):
    """Successors of a batch: their words, the row of the batch they come from, and their class of fairness."""

    words: Words
    rows: Numbers
    fair: Numbers


class Successors(Layout):
    """A batch of states, and the successors that were found so far."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._words: Words = []
        self._found: list[Candidates] = []
        self._unpacked: dict[int, Numbers] = {}
        self.with_postponed = False
        """True if a step that sets a due timer again is written twice, the second time as if the timer had fired. This
        is for fairness."""

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

    def _event(self, place: int, rows: Numbers, event: Event, *, changes: Any = (), fair: int | None = None) -> None:
        if rows.size:
            table = self.processes[place]
            before = self.column(place)[rows]
            heads = table.heads(event, before, lambda local: self._chain(place, local, [(event, False)]))
            self._emit(place, rows, heads, changes=list(changes), fair=fair)
            if self.may_crash_inside[place]:
                inside = (INSIDE_A_HANDLER, *event)
                heads = table.heads(inside, before, lambda local: self._chain(place, local, [(inside, False)]))
                self._emit_crashes(place, rows, heads, list(changes))

    def _emit_crashes(self, place: int, rows: Numbers, heads: Numbers, changes: Any) -> None:
        """Write the outcomes of crashes inside handlers, if the budget allows another one."""
        chosen = np.flatnonzero(self._has(CRASHES_INSIDE)[rows])
        rows, heads, changes, _ = _some(chosen, rows, heads, changes, None)
        if rows.size:
            self._emit(place, rows, heads, changes=[*changes, self._spend(CRASHES_INSIDE, rows)])

    def _emit(self, place: int, rows: Numbers, heads: Numbers, *, changes: Any = (), fair: Any = None) -> None:
        """Write one successor for each outcome in the chains."""
        table = self.processes[place]
        changes = list(changes)
        if heads.size and heads.min() < 0:  # states beyond a bound have no outcome
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
            growing.reach(len(table.outcomes))
            burst = growing.array[heads]
            if self.partition_column >= 0:
                burst = np.where(self._is_cut(channel, rows), 0, burst)
            if not burst.any():
                continue
            target = self.channels[channel]
            held = popped.get(target.column)
            held = self.column(target.column)[rows] if held is None else held
            after = target.appended.look_up(held, burst, target.append)
            if after.min() < 0:  # beyond the capacity of the channel
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
        if not isinstance(fair, np.ndarray):
            fair = np.full(rows.size, NONE if fair is None else fair, dtype=np.int64)
        self._found.append(Candidates(words, rows, fair))

    # Budgets, marks and classes of fairness.

    def _is_cut(self, channel: int, rows: Numbers) -> Any:
        return self.cut[channel][self.column(self.partition_column)[rows]]

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
