"""Search: all states breadth-first; safety properties are checked on the way.

States are numbered in the order of discovery, so the first state that breaks a property ends a shortest run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

from vez.core.assumptions import Property
from vez.judge.words import Sentence, said
from vez.worlds.check.arrays import Numbers, Words, distinct, np
from vez.worlds.check.model.clock import FinerTick
from vez.worlds.check.model.local import Local, Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.reduce.ample import Ample, Unforeseen, refuse
from vez.worlds.check.reduce.commute import Commuting
from vez.worlds.check.reduce.symmetry import Symmetry
from vez.worlds.check.search import BY_USER
from vez.worlds.check.search.layout import HAS_LED, IS_INSIDE
from vez.worlds.check.search.limits import FIRST, RAISED, Limits
from vez.worlds.check.search.memory import Room, rare_collections
from vez.worlds.check.search.overlap import Frontier, Overlap
from vez.worlds.check.search.packed import BATCH, Packed
from vez.worlds.check.search.progress import Progress
from vez.worlds.check.search.successors import Candidates

SMALLEST = 1 << 10
ENOUGH = 1 << 14
"""The number of known states with which the search continues before the latest states are stored."""

PROGRESS_S = 0.25
FAN = 4.0
"""Successors of a state that the estimate of the first batch assumes."""
PROBE = 2000
"""The number of states from which a reduced search learns which channels are used."""


class Search:
    """A breadth-first search and what it found."""

    def __init__(
        self,
        model: Model,
        properties: tuple[Property, ...] = (),
        *,
        limits: Limits | None = None,
        first: bool = False,
        reduce: bool = False,
        symmetry: bool = False,
        workers: int = 0,
        watch: Callable[[Progress], None] | None = None,
    ) -> None:
        self.model = model
        self.packed = Packed(model)
        self.properties = properties
        self.limits = limits or Limits()
        self.watch = watch
        self.ends_of_layers: list[int] = []
        self.transitions = 0
        self.depth = 0
        self.first = first
        self.reduce = reduce
        """True if partial-order reduction is used; see `ample`."""
        self.symmetry = Symmetry(model, properties) if symmetry else None
        """The renamings under which states count as one; see `symmetry`."""
        self.workers = workers
        self.followed: list[tuple[Numbers, Numbers, Numbers]] = []
        """The steps of a reduced search: source, target and class. They cannot be computed again, so they are kept."""
        self._ample: Ample | None = None
        self.stopped: Sentence | None = None  # the reason, if the search stopped early
        self.room = Room(self.limits.memory_bytes, whole_process=self.limits.whole_process)
        self._fan = FAN  # successors of a state, in the batch that had most
        self.cyclic = False
        """True if a step led to its own or an earlier layer. Without such a step there are no cycles."""
        self.broken: dict[Property, int] = {}  # broken property → the first state that breaks it
        self.raising: int | None = None
        """The first state in which the handler of a possible event raises an exception; the search stops there."""
        self.erring: int | None = None
        """The first state in which the handler of a possible event breaks a rule; the search goes on."""
        self._bugs_seen = 0
        self.ends: list[Numbers] = []  # states in which no step must happen
        self.started = time.monotonic()
        self.seconds = 0.0
        self._shown = 0.0
        self._pairs: dict[tuple[int, int, int, int], bool] = {}

    @rare_collections()
    def run(self) -> Search:
        """Explore until all states are known, a limit is reached, or Ctrl-C."""
        if self.reduce:
            return self._run_reduced()
        while True:
            try:
                return self._run()
            except FinerTick:
                self.model.forget()
                self._begin_again()

    def _run_reduced(self) -> Search:
        channels = self._probe()
        ordered = self.symmetry is None
        commuting = Commuting(self.model, channels, ordered=ordered)
        while True:
            self._ample = Ample(self.model, commuting, channels)
            try:
                return self._run()
            except Unforeseen:
                if self._ample.channels != channels:
                    channels = frozenset(self._ample.channels)
                    commuting = Commuting(self.model, channels, ordered=ordered)
                self._begin_again()

    def _begin_again(self) -> None:
        self.packed = Packed(self.model)
        self.symmetry = Symmetry(self.model) if self.symmetry is not None else None
        self.transitions = self.depth = 0
        self.ends_of_layers = []
        self.broken, self.ends, self.followed, self.cyclic = {}, [], [], False
        self._pairs, self.raising, self.erring, self._bugs_seen, self.stopped = {}, None, None, 0, None

    def _probe(self) -> frozenset[int]:
        """The channels used by the first states, found without reduction."""
        refuse(self.model.configuration)
        probe = Search(self.model, limits=Limits(states=PROBE)).run()
        return frozenset(probe.packed.channels)

    def _run(self) -> Search:
        overlap = Overlap(self.workers)
        self.packed.store.settle = overlap.settle
        self.packed.insert_initial(self._stand_for)
        self._inspect(0, self.packed.store.count)
        try:
            if self.model.failed_starts():
                self.stopped = RAISED
            else:
                self._explore(overlap)
        except KeyboardInterrupt:
            self.stopped = BY_USER
        except MemoryError as error:
            self.stopped = self.room.full(error)
        finally:
            overlap.close()
        self.model.machine.purity.finish()
        self.seconds = time.monotonic() - self.started
        return self

    def _explore(self, overlap: Overlap) -> None:
        """Expand a batch while the states of the previous batch are stored, if enough states are known without them."""
        frontier, storing = Frontier(self.packed.store.count, self.ends_of_layers), 0
        while True:
            if not self._enough(frontier) and self._settle(overlap, frontier):
                return
            room = self.limits.states - frontier.known  # small batches near the limit, to exceed it only a little
            low, high = frontier.low, frontier.end_of_batch(max(SMALLEST, min(BATCH, room)))
            if low == high:
                return
            self.make_room(high - low, storing * frontier.pending)
            expanded = self.packed.retry(partial(self._expand, low, high))
            self._fan = max(self._fan, len(expanded[0].rows) / (high - low))
            stop = self._settle(overlap, frontier)
            self._find_erring(low, high)
            self._find_raising(low, high)
            if self.raising is None and stop:
                return
            self.depth = frontier.depth
            if self.raising is not None:
                return
            storing = self.packed.store.growth(len(expanded[0].rows))
            self.room.need(storing)
            job = partial(self._take_in, expanded, low, high, frontier.layer)
            frontier.advance(high)
            overlap.start(job, beside=self._enough(frontier))

    def make_room(self, states: int, more: float = 0) -> None:
        """Raise `NoRoom` if the memory does not suffice to expand so many states, and for what else is needed now."""
        self.room.need(more + states * self.packed.bytes_for_each(self._fan))

    def _enough(self, frontier: Frontier) -> bool:
        """True if the search can continue before the latest states are stored."""
        return frontier.known - frontier.low >= ENOUGH and not self.reduce

    def _settle(self, overlap: Overlap, frontier: Frontier) -> bool:
        """Wait until the states found so far are stored. True if the search must stop."""
        overlap.settle()
        if frontier.pending:
            frontier.settled(self.packed.store.count)
            self._check_limits(frontier.known - frontier.low)
        return bool(self.stopped)

    @property
    def complete(self) -> bool:
        """True if every reachable state was seen."""
        return not self.stopped

    def end_states(self) -> Numbers:
        """The states in which a run may end: no event must happen."""
        empty: Numbers = np.zeros(0, dtype=np.int64)
        return np.concatenate(self.ends) if self.ends else empty

    def candidates(self, low: int, high: int) -> tuple[Candidates, Any]:
        """The successors of some states."""
        found: tuple[Candidates, Any] = self.packed.retry(lambda: self.packed.expand(low, high))
        return found

    def _take_in(self, expanded: tuple[Candidates, Any], low: int, high: int, layer: int) -> None:
        """Store the successors of a batch and check the new states."""
        packed, before = self.packed, self.packed.store.count
        candidates, must = expanded
        numbers = self._insert(candidates, candidates.rows + low, layer)
        if self._ample is not None:
            self._complete_stuck(candidates, numbers, low, high, layer)
            self._find_raising(low, high)
            self._ample.foresee(packed)
        ended = np.flatnonzero(~must)
        if ended.size:
            self.ends.append(ended + low)
        self._inspect(before, packed.store.count)

    def _expand(self, low: int, high: int) -> tuple[Candidates, Any]:
        return self._standing(self.packed.expand(low, high, ample=self._ample))

    def _standing(self, expanded: tuple[Candidates, Any]) -> tuple[Candidates, Any]:
        candidates, must = expanded
        return candidates._replace(words=self._stand_for(candidates.words)), must

    def _stand_for(self, words: Words) -> Words:
        """The representative state of each orbit."""
        return words if self.symmetry is None else self.symmetry.smallest(self.packed, words)

    @property
    def partial(self) -> bool:
        """True if the searched graph is smaller than the graph of the model."""
        return self.reduce or self.symmetry is not None

    def _insert(self, candidates: Candidates, parents: Numbers, layer: int) -> Numbers:
        self.transitions += len(parents)
        numbers = self.packed.store.insert(candidates.words, parents)
        if not self.cyclic and numbers.size and int(numbers.min()) < layer:
            self.cyclic = True
        if self.partial:
            self.followed.append((parents, numbers, candidates.fair))
        return numbers

    def _complete_stuck(self, candidates: Candidates, numbers: Numbers, low: int, high: int, layer: int) -> None:
        """Expand states in full if their preferred events lead only to states that were expanded already."""
        chosen = self.packed.chosen
        if chosen is None:
            return
        onwards = np.zeros(high - low, dtype=bool)
        onwards[candidates.rows[numbers >= high]] = True
        rows = np.flatnonzero((chosen >= 0) & ~onwards)
        if rows.size:
            again, _ = self.packed.retry(lambda: self._standing(self.packed.expand(low, high, rows=rows)))
            self._insert(again, rows[again.rows] + low, layer)

    def _find_raising(self, low: int, high: int) -> None:
        """Stop at the first of these states in which a handler raises, if one did while they were expanded."""
        if self.raising is not None or not self.packed.raised:
            return
        self.raising = self._first_with(low, high, set(self.packed.raised), lambda done: bool(done.raised))
        if self.raising is None:
            raise RuntimeError("a handler raised an exception in a state that cannot be found again")
        self.stopped = RAISED

    def _find_erring(self, low: int, high: int) -> None:
        """Remember the first of these states in which a handler breaks a rule, if one did while they were expanded."""
        bugs = self.packed.bugs
        if self.erring is None and len(bugs) > self._bugs_seen:
            suspects = {(place, local) for place, local, _ in bugs}
            self.erring = self._first_with(low, high, suspects, lambda done: bool(done.bug))
        self._bugs_seen = len(bugs)

    def _first_with(
        self, low: int, high: int, suspects: set[tuple[int, int]], says: Callable[[Transition], bool]
    ) -> int | None:
        """The first of these states with a step for which `says` is true. `suspects` are places and local states."""
        store, chosen = self.packed.store, np.zeros(high - low, dtype=bool)
        words = store.slice(low, high)
        for place, local in suspects:
            chosen |= store.values(words, place) == local
        for row in np.flatnonzero(chosen).tolist():
            if any(says(step.transition) for step in self.model.steps(self.packed.unpack(low + row))):
                return low + int(row)
        return None

    def _inspect(self, low: int, high: int) -> None:
        """Look for broken safety properties among new states."""
        if low == high:
            return
        if Property.EXCLUSION in self.properties and Property.EXCLUSION not in self.broken:
            rows = self._crowded(low, high, IS_INSIDE)
            if rows.size:
                self.broken[Property.EXCLUSION] = low + int(rows[0])
        if Property.UNIQUENESS in self.properties and Property.UNIQUENESS not in self.broken:
            rows = self._two_leaders(low, high)
            if rows.size:
                self.broken[Property.UNIQUENESS] = low + int(rows[0])
        if self.model.observer is not None:
            self._ask_observer(low, high)

    def violations(self, name: Property) -> Any:
        """All states in which a safety property is broken."""
        count = self.packed.store.count
        mask = np.zeros(count, dtype=bool)
        if name is Property.EXCLUSION:
            mask[self._crowded(0, count, IS_INSIDE)] = True
        elif name is Property.UNIQUENESS:
            mask[self._two_leaders(0, count)] = True
        elif self.model.observer is not None:
            store = self.packed.store
            seen = store.values(store.slice(0, count), self.packed.observer_column)
            for state in distinct(seen):
                if name in self.model.observer.broken(state):
                    mask |= seen == state
        return mask

    def _crowded(self, low: int, high: int, mark: int) -> Numbers:
        """The rows of the states in which two or more processes have the mark."""
        store = self.packed.store
        words = store.slice(low, high)
        count: Numbers = np.zeros(high - low, dtype=np.int64)
        for place, table in enumerate(self.packed.processes):
            count += (table.marks.array[store.values(words, place)] & mark) != 0
        return np.flatnonzero(count > 1)

    def _two_leaders(self, low: int, high: int) -> Numbers:
        """The states in which two processes lead, judged once for each pair of local states."""
        crowded = self._crowded(low, high, HAS_LED)
        if not crowded.size:
            return crowded
        store, found = self.packed.store, np.zeros(crowded.size, dtype=bool)
        words = [word[crowded] for word in store.slice(low, high)]
        columns = [store.values(words, place) for place in range(self.packed.n)]
        for one, other in combinations(range(self.packed.n), 2):
            width = len(self.packed.processes[other].numbers)
            pairs, where = np.unique(columns[one] * width + columns[other], return_inverse=True)
            judged = [self._pair_leads(one, other, *divmod(pair, width)) for pair in pairs.tolist()]
            found |= np.array(judged, dtype=bool)[where]
        return crowded[found]

    def _pair_leads(self, one: int, other: int, first: int, second: int) -> bool:
        key = (one, first, other, second)
        if key not in self._pairs:
            tables, ids = self.packed.processes, self.model.ids
            left = self.model.locals[tables[one].numbers[first]]
            right = self.model.locals[tables[other].numbers[second]]
            self._pairs[key] = two_leaders(left, ids[one], right, ids[other])
        return self._pairs[key]

    def _ask_observer(self, low: int, high: int) -> None:
        observer = self.model.observer
        if observer is None:
            return
        store = self.packed.store
        seen = store.values(store.slice(low, high), self.packed.observer_column)
        for state in distinct(seen):
            for name in observer.broken(state):
                if name not in self.broken:
                    self.broken[Property(name)] = low + int(np.flatnonzero(seen == state)[0])

    def memory(self) -> int:
        """The bytes used so far: the table of states, or all memory since the search began, if that is more. The
        contents of channels can be the larger part if messages pile up."""
        return max(self.packed.store.bytes_used(), self.room.used())

    def _check_limits(self, queue: int) -> None:
        store, now = self.packed.store, time.monotonic()
        if store.count >= self.limits.states and queue:
            self.stopped = said("stopped_at_states", limit=self.limits.states)
        elif self.memory() > self.limits.memory_bytes and queue:
            self.stopped = self.room.full()
        elif self.limits.seconds and now - self.started > self.limits.seconds and queue:
            self.stopped = said("stopped_by_time", seconds=now - self.started)
        elif self.first and self.broken and queue:
            self.stopped = FIRST
        if self.watch is not None and now - self._shown > PROGRESS_S:
            self._shown = now
            self.watch(Progress(self, queue))


def two_leaders(one: Local, first: int, other: Local, second: int) -> bool:
    """True if both lead now without terms, or if both ever led the same term."""
    if set(one.led) & set(other.led) - {0}:
        return True
    return one.view == (first, 0) and other.view == (second, 0)
