"""Graph: the reachable states with their steps, and the cycles in which a run may stay for ever.

It is only built if the search found a step back to an earlier state: without one there is no cycle, and every run ends.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from vez.worlds.check.arrays import PLAIN, Mask, Numbers, compact, np
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.check.search.memory import Room
from vez.worlds.check.search.overlap import Overlap
from vez.worlds.check.search.packed import BATCH
from vez.worlds.check.search.successors import Candidates

STEP, STATE = (150, 200) if PLAIN else (44, 32)
"""Bytes that one question about a graph needs at most, for each step and each state; measured."""


class Graph:
    """The steps as arrays: source state, target state and class of fairness (-1 if the step need not happen)."""

    def __init__(self, source: Any, target: Any, fair: Any, size: int, room: Room | None = None) -> None:
        self.source, self.target, self.fair = source, target, fair
        self.size = size
        self.room = room

    def need(self, part: float = 1.0) -> None:
        """Raise `NoRoom` if the memory does not suffice for a question about this graph."""
        if self.room is not None:
            self.room.need(part * (STEP * len(self.source) + STATE * self.size))

    @classmethod
    def of(cls, search: Search) -> Graph:
        """Build the graph: expand every state again and keep the steps."""
        store, overlap = search.packed.store, Overlap(search.workers)
        parts: list[tuple[Numbers, Numbers, Numbers]] = []
        count, store.settle = store.count, overlap.settle
        search.room.need(search.transitions * STEP * 0.6)
        storing = 0

        def find(candidates: Candidates, sources: Numbers) -> None:
            numbers = store.insert(candidates.words, sources)
            parts.append((sources.astype(np.int32), numbers.astype(np.int32), candidates.fair.astype(np.int32)))

        search.packed.with_postponed = True
        try:
            for low in range(0, count, BATCH):
                search.make_room(min(BATCH, count - low), storing)
                candidates, _ = search.candidates(low, min(count, low + BATCH))
                overlap.settle()
                storing = store.growth(len(candidates.rows))
                search.room.need(storing)
                overlap.start(partial(find, candidates, candidates.rows + low), beside=low + BATCH < count)
            overlap.settle()
        finally:
            overlap.close()
            search.packed.with_postponed = False
        if store.count != count:
            raise RuntimeError("the second pass found states that the first did not")
        search.room.need(sum(len(part[0]) for part in parts) * STEP * 0.3)
        source, target, fair = (np.concatenate([part[place] for part in parts]) for place in range(3))
        return cls(source, target, fair, count, search.room)

    def restricted(self, states: Mask, steps: Mask | None = None) -> Graph:
        """The steps whose both ends are among the given states."""
        self.need(0.4)
        keep = states[self.source] & states[self.target]
        if steps is not None:
            keep &= steps
        return Graph(self.source[keep], self.target[keep], self.fair[keep], self.size, self.room)

    def core(self) -> Graph:
        """The graph without states that no step enters or no step leaves. It keeps all cycles."""
        graph = self
        while True:
            into, out = np.zeros(self.size, dtype=bool), np.zeros(self.size, dtype=bool)
            into[graph.target] = True
            out[graph.source] = True
            smaller = graph.restricted(into & out)
            if len(smaller.source) == len(graph.source):
                return graph
            graph = smaller

    def components(self) -> list[list[int]]:
        """The strongly connected components that contain a cycle (Tarjan, SIAM J. Computing 1(2), 1972)."""
        self.need()
        used: Mask = np.zeros(self.size, dtype=bool)
        used[self.source] = used[self.target] = True
        states = np.flatnonzero(used).astype(self.source.dtype)  # np.union1d would import numpy.ma first
        order = np.argsort(self.source, kind="stable")
        source = np.searchsorted(states, self.source[order])
        target = compact("i", np.searchsorted(states, self.target[order]))
        first = compact("q", np.searchsorted(source, np.arange(len(states) + 1)))
        own = set(np.searchsorted(states, self.source[self.source == self.target]).tolist())
        found = (members for members in _tarjan(first, target) if len(members) > 1 or members[0] in own)
        return [states[members].tolist() for members in found]


def _tarjan(first: Sequence[int], target: Sequence[int]) -> Iterator[list[int]]:
    """The strongly connected components. The steps of a state are at `first[state]` to `first[state + 1]`."""
    count = len(first) - 1
    index, low = array("i", bytes(4 * count)), array("i", bytes(4 * count))  # 0: not visited
    at = array("q", first[:count])
    on_stack, stack, visited = bytearray(count), array("i"), 0
    for root in range(count):
        if index[root]:
            continue
        work = [root]
        while work:
            state = work[-1]
            if not index[state]:
                visited += 1
                index[state] = low[state] = visited
                stack.append(state)
                on_stack[state] = 1
            place, end = at[state], first[state + 1]
            while place < end:
                successor = target[place]
                place += 1
                if not index[successor]:
                    work.append(successor)
                    break
                if on_stack[successor] and index[successor] < low[state]:
                    low[state] = index[successor]
            at[state] = place
            if work[-1] != state:
                continue
            work.pop()
            if work and low[state] < low[work[-1]]:
                low[work[-1]] = low[state]
            if low[state] == index[state]:
                yield _pop(stack, on_stack, state)


class Fairness:
    """Finds the cycles in which a fair run can stay for ever."""

    def __init__(self, graph: Graph, advance: int = -1, running: Mask | None = None) -> None:
        """`graph` has all steps: a class that is enabled in a state has a step from it.

        If time is modelled, `advance` is the class of the steps in which time passes, and `running` marks the states in
        which a clock runs.
        """
        graph.need()
        self.graph = graph
        self._advance, self._running = advance, running
        self.classes = int(graph.fair.max()) + 1 if len(graph.fair) else 0
        key = graph.source.astype(np.int64) * (self.classes + 1) + graph.fair
        pairs = np.sort(key[graph.fair >= 0])  # np.unique hashes, which takes ten times as long here
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs
        self._states, self._enabled = np.divmod(pairs, self.classes + 1)
        self._first = np.searchsorted(self._states, np.arange(graph.size + 1))

    def enabled(self, state: int) -> set[int]:
        """The classes of fairness that are enabled in a state."""
        return set(self._enabled[self._first[state] : self._first[state + 1]].tolist())

    def counts(self, states: Numbers) -> Numbers:
        """For each class, the number of these states in which it is enabled."""
        chosen = _mask(states, self.graph.size)[self._states]
        return np.bincount(self._enabled[chosen], minlength=self.classes)

    def fair_components(self, inside: Graph) -> list[list[int]]:
        """The components of `inside` in which a fair run can stay for ever.

        Every class must be disabled in some state of the component or happen in it. If a part of a component is fair,
        so is the whole, so only whole components are tested. If time is modelled, it must also pass without end: a tick
        passes in the component, or in one of its states no clock runs, so that any time may pass there.
        """
        core = inside.core()
        components = core.components()
        if not components:
            return []
        self.graph.need()
        belongs = np.full(self.graph.size, -1, dtype=np.int64)
        for number, states in enumerate(components):
            belongs[states] = number
        member = belongs[self._states] >= 0
        enabled, counts = _counted(belongs[self._states[member]] * self.classes + self._enabled[member])
        within = (belongs[core.source] == belongs[core.target]) & (belongs[core.source] >= 0) & (core.fair >= 0)
        taken, _ = _counted(belongs[core.source[within]] * self.classes + core.fair[within])
        sizes = np.array([len(states) for states in components])
        owed = enabled[counts == sizes[enabled // self.classes]]
        starved = owed[np.searchsorted(taken, owed) == np.searchsorted(taken, owed, "right")]
        fair = np.ones(len(components), dtype=bool)
        fair[starved // self.classes] = False
        if self._running is not None:
            calm = np.array([not self._running[states].all() for states in components], dtype=bool)
            if self._advance >= 0:
                calm[taken[taken % self.classes == self._advance] // self.classes] = True
            fair &= calm
        return [states for states, chosen in zip(components, fair, strict=True) if chosen]

    def lasso(self, inside: Graph, component: list[int], through: int) -> list[int]:
        """A fair cycle in a component that begins and ends in `through`."""
        inside.need()
        members = np.array(component)
        core = inside.restricted(_mask(members, inside.size))
        follow = _Follow(core)
        counts = self.counts(members)
        walk = [through]
        for fair in np.flatnonzero((counts > 0) & (counts < len(component))).tolist():
            if all(fair in self.enabled(state) for state in walk):  # visit a state in which it is disabled
                walk += self._to_disabled(follow, walk[-1], fair)
        if self._advance >= 0 and (core.fair == self._advance).any():  # time must pass in the loop
            counts[self._advance] = len(component)
        elif self._running is not None and self._running[walk].all():
            walk += _shortest(follow, walk[-1], (~self._running).__getitem__)[1:]
        for fair in np.flatnonzero(counts == len(component)).tolist():
            chosen = core.fair == fair
            source, target = core.source[chosen], core.target[chosen]
            if not _takes(walk, source, target, core.size):
                begins = _mask(source, core.size)
                walk += _shortest(follow, walk[-1], begins.__getitem__)[1:]
                walk.append(int(target[source == walk[-1]].min()))
        if len(walk) == 1:
            walk.append(min(follow(through)))
        return walk + _shortest(follow, walk[-1], lambda state: state == through)[1:]

    def _to_disabled(self, follow: _Follow, start: int, fair: int) -> list[int]:
        return _shortest(follow, start, lambda state: fair not in self.enabled(state))[1:]


class _Follow:
    """Successors of a state, computed on request: a component may have millions of states."""

    def __init__(self, graph: Graph) -> None:
        order = np.argsort(graph.source, kind="stable")
        self._source, self._target = graph.source[order], graph.target[order]

    def __call__(self, state: int) -> list[int]:
        low, high = np.searchsorted(self._source, (state, state + 1))
        successors: list[int] = self._target[low:high].tolist()
        return successors


def _counted(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys in ascending order, and how often each of them occurs."""
    keys = np.sort(keys)
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys
    return keys[first], np.append(first[1:], len(keys))[: len(first)] - first


def _takes(walk: list[int], source: Any, target: Any, size: int) -> bool:
    """True if a walk contains one of these steps."""
    steps = np.sort(source.astype(np.int64) * size + target)
    taken = np.array([before * size + after for before, after in pairwise(walk)], dtype=np.int64)
    return bool((np.searchsorted(steps, taken, "right") > np.searchsorted(steps, taken, "left")).any())


def reaching(graph: Graph, goal: Mask) -> Mask:
    """The states from which some state of the goal can be reached."""
    graph.need(0.4)
    good = goal.copy()
    while True:
        before = int(good.sum())
        for high in range(len(graph.source), 0, -1_000_000):  # late states first: most steps lead onwards
            part = slice(max(0, high - 1_000_000), high)
            good[graph.source[part][good[graph.target[part]]]] = True
        if int(good.sum()) == before:
            return good


def _mask(states: Any, size: int) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[states] = True
    return mask


def _pop(stack: array[int], on_stack: bytearray, root: int) -> list[int]:
    component = []
    while True:
        state = stack.pop()
        on_stack[state] = 0
        component.append(state)
        if state == root:
            return sorted(component)


def _shortest(follow: _Follow, start: int, wanted: Callable[[int], bool]) -> list[int]:
    """The shortest walk from a state to a wanted one, including both ends."""
    came: dict[int, int] = {start: start}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if wanted(state):
            walk = [state]
            while came[walk[-1]] != walk[-1]:
                walk.append(came[walk[-1]])
            return walk[::-1]
        for successor in follow(state):
            if successor not in came:
                came[successor] = state
                queue.append(successor)
    raise RuntimeError("a strongly connected component is not connected")
