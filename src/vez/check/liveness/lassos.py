"""Liveness: properties that say that something happens eventually, and the runs in which it does not.

A run breaks such a property by ending (nothing must happen any more) or by going round in a cycle that is
fair. Both are found in the whole graph, never by luck: see `graph`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from vez.check.liveness.graph import Fairness, Graph, Mask, reaching
from vez.check.model.local import WAITING, Local
from vez.check.search.breadth_first import Search
from vez.check.search.layout import IS_WAITING
from vez.core.assumptions import Property

LIVENESS = (
    Property.DEADLOCK_FREEDOM,
    Property.STARVATION_FREEDOM,
    Property.TERMINATION,
    Property.AGREEMENT,
    Property.VALIDITY,
)


class Failure(msgspec.Struct, frozen=True):
    """How a property fails: in a state in which a run ends, or in a loop of states."""

    state: int
    loop: tuple[int, ...] = ()
    """Begins and ends in `state`; empty where the run ends."""


class Liveness:
    """Judges the liveness properties after a search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.model = search.model
        self.packed = search.packed
        self.given_up = False
        """True if the search for endless runs was interrupted."""
        self._graph: Graph | None = None
        self._fairness: Fairness | None = None
        self._everything: list[list[int]] | None = None
        self._stands_still: bool | None = None

    @property
    def graph(self) -> Graph:
        """All steps; built on first use."""
        if self._graph is None:
            self._graph = Graph.of(self.search)
        return self._graph

    @property
    def fairness(self) -> Fairness:
        if self._fairness is None:
            self._fairness = Fairness(self.graph)
        return self._fairness

    @property
    def may_be_endless(self) -> bool:
        """True if the reduced graph has a cycle; if it has none, neither has the whole graph."""
        if not self.search.cyclic:
            return False
        source, target = (np.concatenate([part[end] for part in self.search.followed]) for end in (0, 1))
        whole = Graph(source, target, np.zeros(len(source), dtype=np.int32), self.packed.store.count)
        return bool(len(whole.core().source))

    @property
    def stands_still(self) -> bool:
        """True if messages may go round for ever while a timer runs. Time passes only when none is under way, so what
        the timer would do was never seen, though it must happen some day."""
        if self._stands_still is None:
            self._stands_still = self.search.cyclic and self._has_standstill()
        return self._stands_still

    def _has_standstill(self) -> bool:
        states = self._timeless()
        if not states.any():
            return False
        if self.search.partial:  # fairness cannot be told there: any cycle is suspicious
            source, target = (np.concatenate([part[end] for part in self.search.followed]) for end in (0, 1))
            whole = Graph(source, target, np.zeros(len(source), dtype=np.int32), self.packed.store.count)
            return bool(len(whole.restricted(states).core().source))
        return bool(self.fairness.fair_components(self.graph.restricted(states)))

    def _timeless(self) -> Mask:
        """The states with a timer that runs and a message under way."""
        runs = self._mask_of(lambda local: any(left > 0 for _, left in local.timers), any_of=True)
        if not runs.any():
            return runs
        store = self.packed.store
        words = store.slice(0, store.count)
        moving = np.zeros(store.count, dtype=bool)
        for channel in self.packed.channels.values():
            moving |= store.values(words, channel.column) != 0
        return runs & moving

    def failure(self, name: Property) -> Failure | None:
        """The first state or loop in which a property fails."""
        state = self.failing_end(name)
        if state is not None:
            return Failure(state)
        loop = self._failing_loop(name) if self.search.cyclic else None
        if loop is not None and self.stands_still and self._timeless()[list(loop.loop)].all():
            return None  # a timer would end it
        return loop

    def failing_end(self, name: Property) -> int | None:
        """The first state in which a run may end such that the property is broken; None if there is none."""
        ends = self.search.end_states()
        if name in (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM):
            failing = ends[self._waiting_mask()[ends]]
            return int(failing[0]) if len(failing) else None
        return next((state for state in ends.tolist() if self.fails_at_end(name, state)), None)

    def fails_at_end(self, name: Property, state: int) -> bool:
        """True if a run that ends in this state breaks the property."""
        locals_ = self._locals(state)
        live = {p: local for p, local in zip(self.model.ids, locals_, strict=True) if local.alive}
        if name in (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM):
            return any(local.phase == WAITING for local in locals_)
        if not live:
            return False
        if name is Property.TERMINATION:
            return not any(local.led for local in locals_)
        views = {local.view[0] if local.view else None for local in live.values()}
        if name is Property.AGREEMENT:
            return len(views) > 1 or None in views
        named = views - {None}
        best = max(live) if getattr(self.model.configuration.algorithm, "best_wins", False) else None
        return any(leader not in live or (best is not None and leader != best) for leader in named)

    def point_of_no_return(self, states: list[int], bad: Mask) -> int | None:
        """The number of steps after which every continuation of the run fails; None if there is always a good one."""
        graph = self.graph
        good_ends = np.zeros(graph.size, dtype=bool)
        good_ends[self.search.end_states()] = True
        good_ends &= ~bad
        if self.search.cyclic:
            outside = graph.restricted(~bad)
            for component in self.fairness.fair_components(outside):
                good_ends[component] = True
        good = reaching(graph.restricted(~bad), good_ends)
        return next((place for place, state in enumerate(states) if not good[state]), None)

    def bad_states(self, name: Property, failure: Failure) -> Mask:
        """The states in which a run fails if it ends there or stays there."""
        bad = np.zeros(self.search.packed.store.count, dtype=bool)
        ends = self.search.end_states()
        if name in (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM):
            bad[ends] = self._waiting_mask()[ends]
        elif name in LIVENESS:
            bad[[state for state in ends.tolist() if self.fails_at_end(name, state)]] = True
        if failure.loop:
            bad |= self._waiting_mask() if self.model.configuration.algorithm.role == "mutex" else False
        elif name not in LIVENESS:
            bad |= self.search.violations(name)
        return bad

    # Cycles.

    def _failing_loop(self, name: Property) -> Failure | None:
        if name is Property.STARVATION_FREEDOM:
            found = [self._loop_in(self._waits(place)) for place in range(self.packed.n)]
        elif name is Property.DEADLOCK_FREEDOM:
            found = [self._loop_in(self._waiting_mask(), self._steps_without_entry())]
        elif name is Property.TERMINATION:
            found = [self._loop_in(~self._mask_of(lambda local: bool(local.led), any_of=True))]
        else:
            found = [self._loop_through(name)]
        failures = [failure for failure in found if failure is not None]
        return min(failures, key=lambda failure: failure.state, default=None)

    def _loop_in(self, states: Mask, steps: Mask | None = None) -> Failure | None:
        inside = self.graph.restricted(states, steps)
        components = self.fairness.fair_components(inside)
        if not components:
            return None
        first = min(components, key=lambda component: component[0])
        walk = self.fairness.lasso(inside, first, first[0])
        return Failure(first[0], tuple(walk))

    def _loop_through(self, name: Property) -> Failure | None:
        """A fair cycle with a state in which the live processes do not agree on a valid leader."""
        if self._everything is None:
            self._everything = self.fairness.fair_components(self.graph)
        for component in sorted(self._everything, key=lambda component: component[0]):
            for state in component:
                if self.fails_at_end(name, state):
                    return Failure(state, tuple(self.fairness.lasso(self.graph, component, state)))
        return None

    def _waits(self, place: int) -> Mask:
        store, table = self.packed.store, self.packed.processes[place]
        return (table.marks.array[store.values(store.slice(0, store.count), place)] & IS_WAITING) != 0

    def _waiting_mask(self) -> Mask:
        mask = self._waits(0)
        for place in range(1, self.packed.n):
            mask = mask | self._waits(place)
        return mask

    def _mask_of(self, says: Any, *, any_of: bool) -> Mask:
        store = self.packed.store
        words = store.slice(0, store.count)
        mask: Mask = np.zeros(store.count, dtype=bool)
        for place, table in enumerate(self.packed.processes):
            answers = np.array([says(self.model.locals[number]) for number in table.numbers], dtype=bool)
            mask = mask | answers[store.values(words, place)]
        return mask if any_of else ~mask

    def _steps_without_entry(self) -> Mask:
        """The steps in which no process enters."""
        graph, store = self.graph, self.packed.store
        words = store.slice(0, store.count)
        entry = np.zeros(len(graph.source), dtype=bool)
        for place, table in enumerate(self.packed.processes):
            inside = np.array([self.model.locals[number].phase for number in table.numbers])[store.values(words, place)]
            entry |= (inside[graph.source] != 2) & (inside[graph.target] == 2)
        return ~entry

    def _locals(self, number: int) -> list[Local]:
        words = self.packed.store.slice(number, number + 1)
        return [
            self.model.locals[table.numbers[int(self.packed.store.values(words, place)[0])]]
            for place, table in enumerate(self.packed.processes)
        ]
