"""Graph: the reachable states with their steps, and the cycles in which a run may stay for ever.

It is only built when the search met a step back: without one there is no cycle, and every run ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from vez.check.overlap import Overlap
from vez.check.packed import BATCH, Candidates
from vez.check.search import Search
from vez.check.store import Numbers

Mask = Any


class Graph:
    """Steps as arrays: from, to, and the class of fairness (-1 for what need not happen)."""

    def __init__(self, source: Any, target: Any, fair: Any, size: int) -> None:
        self.source, self.target, self.fair = source, target, fair
        self.size = size

    @classmethod
    def of(cls, search: Search) -> Graph:
        """Expand every state once more, this time keeping the steps."""
        store, overlap = search.packed.store, Overlap(search.workers)
        parts: list[tuple[Numbers, Numbers, Numbers]] = []
        count, store.settle = store.count, overlap.settle

        def find(candidates: Candidates, sources: Numbers) -> None:
            parts.append((sources, store.insert(candidates.words, sources), candidates.fair))

        try:
            for low in range(0, count, BATCH):
                candidates, _ = search.candidates(low, min(count, low + BATCH))
                overlap.settle()
                overlap.start(partial(find, candidates, candidates.rows + low), beside=low + BATCH < count)
            overlap.settle()
        finally:
            overlap.close()
        if store.count != count:
            raise RuntimeError("the second pass found states that the first did not")
        source, target, fair = (np.concatenate([part[place] for part in parts]).astype(np.int32) for place in range(3))
        return cls(source, target, fair, count)

    def restricted(self, states: Mask, steps: Mask | None = None) -> Graph:
        """The steps between some of the states."""
        keep = states[self.source] & states[self.target]
        if steps is not None:
            keep &= steps
        return Graph(self.source[keep], self.target[keep], self.fair[keep], self.size)

    def core(self) -> Graph:
        """Without the states that lie on no cycle and between no two: those nothing leads to, or from."""
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
        follow = _adjacency(self)
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        found: list[list[int]] = []
        for root in follow:
            if root in index:
                continue
            work = [(root, iter(follow[root]))]
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            while work:
                state, successors = work[-1]
                for successor in successors:
                    if successor not in index:
                        index[successor] = low[successor] = len(index)
                        stack.append(successor)
                        on_stack.add(successor)
                        work.append((successor, iter(follow.get(successor, ()))))
                        break
                    if successor in on_stack:
                        low[state] = min(low[state], index[successor])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[state])
                    if low[state] == index[state]:
                        component = _pop(stack, on_stack, state)
                        if len(component) > 1 or state in follow[state]:
                            found.append(component)
        return found


class Fairness:
    """Which cycles a fair run may stay in for ever."""

    def __init__(self, graph: Graph) -> None:
        """`graph` has all steps: a class that is enabled in a state has a step from it."""
        self.graph = graph
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
        """In how many of some states each class is enabled."""
        chosen = _mask(states, self.graph.size)[self._states]
        return np.bincount(self._enabled[chosen], minlength=self.classes)

    def fair_components(self, inside: Graph) -> list[list[int]]:
        """The components of a part of the graph in which a run may stay and be fair.

        Every class must be disabled somewhere in it or happen in it. If a part of a component is fair then
        so is the whole, hence only whole components are looked at.
        """
        core = inside.core()
        components = core.components()
        if not components:
            return []
        belongs = np.full(self.graph.size, -1, dtype=np.int64)
        for number, states in enumerate(components):
            belongs[states] = number
        width, total = self.classes, len(components)
        member = belongs[self._states] >= 0
        enabled = np.bincount(belongs[self._states[member]] * width + self._enabled[member], minlength=total * width)
        within = (belongs[core.source] == belongs[core.target]) & (belongs[core.source] >= 0) & (core.fair >= 0)
        taken = np.bincount(belongs[core.source[within]] * width + core.fair[within], minlength=total * width)
        sizes = np.array([len(states) for states in components])
        starved = (enabled.reshape(total, width) == sizes[:, None]) & (taken.reshape(total, width) == 0)
        return [states for states, unfair in zip(components, starved.any(axis=1), strict=True) if not unfair]

    def lasso(self, inside: Graph, component: list[int], through: int) -> list[int]:
        """A fair closed walk in a component: it begins and ends in `through`."""
        members = np.array(component)
        core = inside.restricted(_mask(members, inside.size))
        follow = _adjacency(core)
        counts = self.counts(members)
        walk = [through]
        for fair in np.flatnonzero((counts > 0) & (counts < len(component))).tolist():
            if all(fair in self.enabled(state) for state in walk):  # it must pass a state without it
                walk += self._to_disabled(follow, walk[-1], fair)
        for fair in np.flatnonzero(counts == len(component)).tolist():
            chosen = core.fair == fair
            steps = set(zip(core.source[chosen].tolist(), core.target[chosen].tolist(), strict=True))
            if not any(step in steps for step in pairwise(walk)):
                sources = {source for source, _ in steps}
                walk += _shortest(follow, walk[-1], sources.__contains__)[1:]
                walk.append(min(target for source, target in steps if source == walk[-1]))
        if len(walk) == 1:
            walk.append(min(follow[through]))
        return walk + _shortest(follow, walk[-1], lambda state: state == through)[1:]

    def _to_disabled(self, follow: dict[int, list[int]], start: int, fair: int) -> list[int]:
        return _shortest(follow, start, lambda state: fair not in self.enabled(state))[1:]


def reaching(graph: Graph, goal: Mask) -> Mask:
    """The states from which some state of the goal can be reached."""
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


def _adjacency(graph: Graph) -> dict[int, list[int]]:
    follow: dict[int, list[int]] = {}
    for source, target in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        follow.setdefault(source, []).append(target)
    return follow


def _pop(stack: list[int], on_stack: set[int], root: int) -> list[int]:
    component = []
    while True:
        state = stack.pop()
        on_stack.discard(state)
        component.append(state)
        if state == root:
            return sorted(component)


def _shortest(follow: dict[int, list[int]], start: int, wanted: Callable[[int], bool]) -> list[int]:
    """The shortest walk from a state to one that is wanted, both ends included."""
    came: dict[int, int] = {start: start}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if wanted(state):
            walk = [state]
            while came[walk[-1]] != walk[-1]:
                walk.append(came[walk[-1]])
            return walk[::-1]
        for successor in follow.get(state, ()):
            if successor not in came:
                came[successor] = state
                queue.append(successor)
    raise RuntimeError("a strongly connected component is not connected")
