"""Liveness: properties that say that something happens eventually, and the runs in which it does not.

A run breaks such a property by ending (no step must happen any more) or by repeating a fair cycle. Both are found by an
exhaustive search of the graph: see `graph`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vez.core.assumptions import Property
from vez.judge.words import Sentence, said
from vez.worlds.check.arrays import Mask, np
from vez.worlds.check.liveness.elections import has_live_leader, starts_election, unasked_states
from vez.worlds.check.liveness.graph import STEP, Fairness, Graph, reaching
from vez.worlds.check.model.local import WAITING, Local
from vez.worlds.check.model.starters import may_go_unasked
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.check.search.layout import IS_WAITING, RUNS

LIVENESS = (
    Property.DEADLOCK_FREEDOM,
    Property.STARVATION_FREEDOM,
    Property.TERMINATION,
    Property.AGREEMENT,
    Property.VALIDITY,
)


class Failure(msgspec.Struct, frozen=True):
    """The failure of a property: a state in which a run ends, or a loop of states."""

    state: int
    loop: tuple[int, ...] = ()
    """The loop, which begins and ends in `state`; empty if the run ends."""


class Liveness:
    """Judges the liveness properties after a search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.model = search.model
        self.packed = search.packed
        self.given_up: Sentence | None = None
        """The reason, if the search for endless runs was ended before its end."""
        self._graph: Graph | None = None
        self._fairness: Fairness | None = None
        self._everything: list[list[int]] | None = None
        self._stands_still: tuple[Sentence, ...] | None = None

    def give_up(self, why: Sentence) -> None:
        """Look for endless runs no longer, and free the memory that this took."""
        self.given_up, self._graph, self._fairness, self._everything = why, None, None, None

    @property
    def graph(self) -> Graph:
        """All steps; built on first use."""
        if self._graph is None:
            self._graph = Graph.of(self.search)
        return self._graph

    @property
    def fairness(self) -> Fairness:
        if self._fairness is None:
            running = self._running() if self.model.configuration.timed else None
            self._fairness = Fairness(self.graph, self._advance, running)
        return self._fairness

    @property
    def _advance(self) -> int:
        """The class of fairness of the steps in which time passes; -1 if there are none."""
        return self.packed.fair_numbers.get(("advance",), -1)

    @property
    def may_be_endless(self) -> bool:
        """True if the reduced graph has a cycle; if it has none, neither has the whole graph."""
        return self.search.cyclic and bool(len(self._followed().core().source))

    def _followed(self) -> Graph:
        """The graph of a reduced search."""
        self.search.room.need(self.search.transitions * STEP)
        source, target, fair = (np.concatenate([part[place] for part in self.search.followed]) for place in range(3))
        return Graph(source, target, fair, self.packed.store.count, self.search.room)

    @property
    def may_stand_still(self) -> bool:
        """True if it is not known whether time may stop."""
        return self._stands_still is None and self.search.cyclic and self.model.configuration.timed

    @property
    def stands_still(self) -> tuple[Sentence, ...]:
        """The reasons why later events may not have been explored, because time may stop; empty if time cannot stop."""
        if self._stands_still is None:
            timed = self.search.cyclic and self.model.configuration.timed
            self._stands_still = self._standstill() if timed else ()
        return self._stands_still

    def _standstill(self) -> tuple[Sentence, ...]:
        running = self._running()
        if not running.any():
            return ()
        states = running.copy()
        graph = self._followed() if self.search.partial else self.graph
        if self._advance >= 0:  # otherwise no tick passes, and -1 is the class of steps that need not happen
            states[graph.source[graph.fair == self._advance]] = False
        if not self._stops(graph.restricted(states)):
            return ()
        if not self.model.configuration.clock.delay_us and self._stops(graph.restricted(states & self._moving())):
            return (said("messages_go_round"),)
        return (said("protocol_stops_time"),)

    def _stops(self, still: Graph) -> bool:
        """True if a fair run can stay for ever among these states, in which a clock runs and no tick can pass."""
        if self.search.partial:  # fairness is not known in a reduced graph: any cycle counts
            return bool(len(still.core().source))
        return bool(Fairness(self.graph).fair_components(still))

    def _running(self) -> Mask:
        """The states in which a clock runs."""
        runs = self._marked(RUNS)
        return runs | self._moving() if self.model.configuration.clock.delay_us else runs

    def _moving(self) -> Mask:
        """The states with a message under way."""
        store = self.packed.store
        words = store.slice(0, store.count)
        moving = np.zeros(store.count, dtype=bool)
        for channel in self.packed.channels.values():
            moving |= store.values(words, channel.column) != 0
        return moving

    def _marked(self, mark: int) -> Mask:
        """The states in which a process has the mark."""
        store = self.packed.store
        words = store.slice(0, store.count)
        mask: Mask = np.zeros(store.count, dtype=bool)
        for place, table in enumerate(self.packed.processes):
            mask |= (table.marks.array[store.values(words, place)] & mark) != 0
        return mask

    def failure(self, name: Property) -> Failure | None:
        """The first state or loop in which a property fails."""
        state = self.failing_end(name)
        if state is not None:
            return Failure(state)
        return self._failing_loop(name) if self.search.cyclic else None

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
        able = [process for process in self.model.configuration.candidates if process in live]
        if not able and not any(local.view for local in live.values()):
            return False  # no live process may lead
        if not any(map(self._starts, self.model.ids, locals_)):
            return False  # no election has started
        if name is Property.TERMINATION:
            return not has_live_leader(live)
        views = {local.view[0] if local.view else None for local in live.values()}
        if name is Property.AGREEMENT:
            return len(views) > 1 or not views <= live.keys()
        named = views - {None}
        best_wins = getattr(self.model.configuration.algorithm, "best_wins", False)
        return any(leader not in able or (best_wins and leader != able[-1]) for leader in named)

    @property
    def owes_nothing(self) -> bool:
        """True if a run can end, or go on for ever, without an election, although a process that may lead lives."""
        if not may_go_unasked(self.model.configuration):
            return False
        unasked = unasked_states(self.search)
        if unasked[self.search.end_states()].any():
            return True
        return self.search.cyclic and bool(self.fairness.fair_components(self.graph.restricted(unasked)))

    def _starts(self, process: int, local: Local) -> bool:
        return starts_election(self.model.configuration, process, local)

    def hopeless(self, name: Property) -> Mask:
        """The states from which every continuation breaks the property.

        A continuation keeps the property if it ends without breaking it, or reaches a fair component in which the
        property can be kept for ever.
        """
        graph = self.graph
        kept: Mask = np.zeros(graph.size, dtype=bool)
        if name not in LIVENESS:
            kept[self.search.end_states()] = True
            graph = graph.restricted(~self.search.violations(name))
            for component in self.fairness.fair_components(graph) if self.search.cyclic else ():
                kept[component] = True
            return ~reaching(graph, kept & ~self.search.violations(name))
        ends = self.search.end_states()
        kept[ends] = ~self._fails(name)[ends]
        for component in self._keeping(name) if self.search.cyclic else ():
            kept[component] = True
        return ~reaching(graph, kept)

    def _keeping(self, name: Property) -> list[list[int]]:
        """The fair components in which a run can stay for ever and keep a liveness property."""
        if name in (Property.AGREEMENT, Property.VALIDITY):
            return self.fairness.fair_components(self.graph.restricted(~self._fails(name)))
        if name is Property.STARVATION_FREEDOM:
            waits = [self._waits(place) for place in range(self.packed.n)]
            return [states for states in self._fair if not any(mask[states].all() for mask in waits)]
        if name is Property.TERMINATION:
            led = ~self._fails(name)
            return [states for states in self._fair if led[states].any()]
        waiting, entries = self._waiting_mask(), ~self._steps_without_entry()
        source, target = self.graph.source[entries], self.graph.target[entries]
        kept = []
        for states in self._fair:
            inside = np.zeros(self.graph.size, dtype=bool)
            inside[states] = True
            if not waiting[states].all() or (inside[source] & inside[target]).any():
                kept.append(states)
        return kept

    # Cycles.

    def _failing_loop(self, name: Property) -> Failure | None:
        if name is Property.STARVATION_FREEDOM:
            found = [self._loop_in(self._waits(place)) for place in range(self.packed.n)]
        elif name is Property.DEADLOCK_FREEDOM:
            found = [self._loop_in(self._waiting_mask(), self._steps_without_entry())]
        elif name is Property.TERMINATION:
            found = [self._loop_in(self._fails(name))]
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

    @property
    def _fair(self) -> list[list[int]]:
        """The fair components of the whole graph."""
        if self._everything is None:
            self._everything = self.fairness.fair_components(self.graph)
        return self._everything

    def _loop_through(self, name: Property) -> Failure | None:
        """A fair cycle with a state in which the live processes do not agree on a valid leader."""
        for component in sorted(self._fair, key=lambda component: component[0]):
            for state in component:
                if self.fails_at_end(name, state):
                    return Failure(state, tuple(self.fairness.lasso(self.graph, component, state)))
        return None

    def _waits(self, place: int) -> Mask:
        store, table = self.packed.store, self.packed.processes[place]
        return (table.marks.array[store.values(store.slice(0, store.count), place)] & IS_WAITING) != 0

    def _waiting_mask(self) -> Mask:
        return self._marked(IS_WAITING)

    def _fails(self, name: Property) -> Mask:
        """The states in which a run fails if it ends there. States that are equal for the property are judged once."""
        if name in (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM):
            return self._waiting_mask()
        store = self.packed.store
        words = store.slice(0, store.count)
        alike = np.zeros(store.count, dtype=np.int64)
        for place, table in enumerate(self.packed.processes):
            kinds: dict[tuple[Any, ...], int] = {}
            locals_ = [self.model.locals[number] for number in table.numbers]
            process = self.model.ids[place]
            told = [(one.alive, one.view, bool(one.led), self._starts(process, one)) for one in locals_]
            seen = [kinds.setdefault(one, len(kinds)) for one in told]
            if int(alike.max()) * len(kinds) >= 1 << 62:  # make the numbers small again
                alike = np.unique(alike, return_inverse=True)[1]
            alike = alike * len(kinds) + np.array(seen)[store.values(words, place)]
        _, first, which = np.unique(alike, return_index=True, return_inverse=True)
        return np.array([self.fails_at_end(name, state) for state in first.tolist()], dtype=bool)[which]

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
