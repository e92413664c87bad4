"""Explorer: every reachable world, and verdicts found in the most obvious way.

Breadth-first search over a dict, strongly connected components by repeated reachability within a restricted set (with
Kosaraju's two passes), weak fairness by its definition. Nothing here is packed, reduced or cached. A run in which a
clock runs and time stops does not count: it breaks no property, and if fairness allows it, no property holds either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd
from typing import NamedTuple

from tests.worlds.crosscheck.semantics import Semantics
from tests.worlds.crosscheck.world import FinerTick, Move, Rules, World

Allowed = Callable[[World, Move], bool]
FOREVER = -1


class TooLarge(Exception):
    """More worlds than were allowed."""


class Opinion(NamedTuple):
    """The result of the explorer."""

    states: int
    depth: int
    ends: int
    broken: dict[str, int | None]
    """The broken properties, each with the length of its shortest run; None for liveness."""
    time_stops: bool = False
    """True if in some fair run time never passes, although a clock runs. Properties that are not broken are then
    undecided."""
    tick: int = 0


class Explorer:
    """All worlds of some rules."""

    def __init__(self, rules: Rules, most: int = 20_000) -> None:
        self.rules = rules
        self.semantics = Semantics(rules)
        while True:
            try:
                self._explore(most)
                return
            except FinerTick as found:
                self.semantics = Semantics(rules, gcd(self.semantics.tick, found.us))

    def _explore(self, most: int) -> None:
        self.depth: dict[World, int] = {}
        self.moves: dict[World, list[Move]] = {}
        layer = sorted(self.semantics.starts(), key=repr)
        at = 0
        while layer:
            self.depth.update(dict.fromkeys(layer, at))
            following: dict[World, None] = {}
            for world in layer:
                self.moves[world] = list(self.semantics.moves(world))
                following.update(dict.fromkeys(move.to for move in self.moves[world]))
                if len(self.moves) > most:
                    raise TooLarge
            layer = [world for world in following if world not in self.depth]
            at += 1

    def opinion(self) -> Opinion:
        """All results that can be compared."""
        ends = [world for world, moves in self.moves.items() if all(move.fair is None for move in moves)]
        broken: dict[str, int | None] = {}
        for name, shows in self._safety().items():
            lengths = [self.depth[world] for world in self.moves if shows(world)]
            if lengths:
                broken[name] = min(lengths)
        for name, stuck in self._bad_ends().items():
            if any(stuck(world) for world in ends) or self._endless(name):
                broken[name] = None
        depth = max(self.depth.values())
        return Opinion(len(self.moves), depth, len(ends), broken, self._time_stops(), self.semantics.tick)

    # Safety and the ends of runs.

    def _safety(self) -> dict[str, Callable[[World], bool]]:
        if self.rules.algorithm.role == "mutex":
            return {"exclusion": lambda world: sum(proc.phase == "inside" for proc in world.procs) > 1}
        return {"uniqueness": self._two_leaders}

    def _two_leaders(self, world: World) -> bool:
        for one in range(len(world.procs)):
            for other in range(one):
                if (world.procs[one].led & world.procs[other].led) - {0}:
                    return True
                ids = self.semantics.ids
                if world.procs[one].view == (ids[one], 0) and world.procs[other].view == (ids[other], 0):
                    return True
        return False

    def _bad_ends(self) -> dict[str, Callable[[World], bool]]:
        if self.rules.algorithm.role == "mutex":
            return {"deadlock_freedom": _somebody_waits, "starvation_freedom": _somebody_waits}
        return {
            "termination": self.owes_a_leader,
            "agreement": lambda world: self.has_started(world) and self._disagree(world),
            "validity": self._invalid,
        }

    def _disagree(self, world: World) -> bool:
        views = {proc.view[0] if proc.view else None for proc in world.procs if proc.alive}
        return len(views) > 1 or any(view not in self._live_ids(world) for view in views)

    def has_leader(self, world: World) -> bool:
        """True if a live process leads, or if one has led and no process names a dead leader."""
        ids = self.semantics.ids
        live = [(process, proc) for process, proc in zip(ids, world.procs, strict=True) if proc.alive]
        for process, proc in live:
            if proc.view is not None and proc.view[0] == process:
                return True
        for _, proc in live:
            if proc.view is not None and proc.view[0] not in self._live_ids(world):
                return False
        return any(proc.led for _, proc in live)

    def has_started(self, world: World) -> bool:
        """True if an election has started: a process was asked, or sent a message or named a leader unasked."""
        for process, proc in zip(self.semantics.ids, world.procs, strict=True):
            requests = self.rules.requests[process]
            if requests == FOREVER or proc.left < requests or proc.spoke:
                return True
        return False

    def owes_a_leader(self, world: World) -> bool:
        """True if an election has started, somebody lives, and there is no leader."""
        return _live(world) > 0 and self.has_started(world) and not self.has_leader(world)

    def _live_ids(self, world: World) -> list[int]:
        return [process for process, proc in zip(self.semantics.ids, world.procs, strict=True) if proc.alive]

    def _invalid(self, world: World) -> bool:
        live = self._live_ids(world)
        named = {proc.view[0] for proc in world.procs if proc.alive and proc.view}
        best = getattr(self.rules.algorithm, "best_wins", False)
        return any(leader not in live or (best and leader != max(live)) for leader in named)

    # Endless runs.

    def _endless(self, name: str) -> bool:
        """True if a fair run repeats a loop for ever and breaks the property."""
        if name == "starvation_freedom":
            return any(
                self._fair_cycles(lambda world, place=place: world.procs[place].phase == "waiting")  # type: ignore[misc]
                for place in range(len(self.semantics.ids))
            )
        if name == "deadlock_freedom":
            return bool(self._fair_cycles(_somebody_waits, lambda world, move: not _gets_in(world, move.to)))
        if name == "termination":
            return bool(self._fair_cycles(self.owes_a_leader))
        bad = self._bad_ends()[name]
        return any(bad(world) for cycle in self._fair_cycles(lambda world: True) for world in cycle)

    def _fair_cycles(self, inside: Callable[[World], bool], allowed: Allowed = lambda *_: True) -> list[set[World]]:
        """The components of the fair runs in which time does not stop."""
        steps = self._restricted(inside, allowed)
        found = [component for component in _components(steps) if self._is_fair(component, steps)]
        return [component for component in found if self._time_goes_on(component, steps)]

    def _time_goes_on(self, component: set[World], steps: dict[World, list[Move]]) -> bool:
        """True if time passes in the component, or no clock runs in one of its worlds, so that any time may pass
        there."""
        return any(
            not self._runs(world) or any(move.what == ("advance",) and move.to in component for move in steps[world])
            for world in component
        )

    def _restricted(self, inside: Callable[[World], bool], allowed: Allowed) -> dict[World, list[Move]]:
        chosen = {world for world in self.moves if inside(world)}
        return {
            world: [move for move in self.moves[world] if move.to in chosen and allowed(world, move)]
            for world in chosen
        }

    def _runs(self, world: World) -> bool:
        """True if a clock runs; always False without time."""
        return self.rules.timed and bool(self.semantics.clocks(world))

    def _time_stops(self) -> bool:
        """True if a fair run can stay for ever where a clock runs and time cannot pass."""

        def frozen(world: World) -> bool:
            return self._runs(world) and all(move.what != ("advance",) for move in self.moves[world])

        steps = self._restricted(frozen, lambda *_: True)
        return any(self._is_fair(component, steps) for component in _components(steps))

    def _is_fair(self, component: set[World], steps: dict[World, list[Move]]) -> bool:
        """Every class is disabled somewhere in the component, or happens or is postponed within it."""
        within = [move for world in component for move in steps[world] if move.to in component]
        happens = {move.fair for move in within}.union(*(move.postponed for move in within))
        always = set.intersection(*({move.fair for move in self.moves[world]} for world in component))
        return not (always - happens - {None})


def _components(steps: dict[World, list[Move]]) -> Iterable[set[World]]:
    """Strongly connected components with a cycle (Kosaraju): finish times forwards, then reachability backwards."""
    order, seen = [], set()  # type: list[World], set[World]
    for root in steps:
        stack = [(root, iter(steps[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            world, rest = stack[-1]
            move = next((move for move in rest if move.to not in seen), None)
            if move is None:
                order.append(world)
                stack.pop()
            else:
                seen.add(move.to)
                stack.append((move.to, iter(steps[move.to])))
    before: dict[World, list[World]] = {world: [] for world in steps}
    for world, moves in steps.items():
        for move in moves:
            before[move.to].append(world)
    assigned: set[World] = set()
    for root in reversed(order):
        if root in assigned:
            continue
        component, work = set(), [root]
        assigned.add(root)
        while work:
            world = work.pop()
            component.add(world)
            for source in before[world]:
                if source not in assigned:
                    assigned.add(source)
                    work.append(source)
        if len(component) > 1 or any(move.to == root for move in steps[root]):
            yield component


def _somebody_waits(world: World) -> bool:
    return any(proc.phase == "waiting" for proc in world.procs)


def _gets_in(before: World, after: World) -> bool:
    pairs = zip(before.procs, after.procs, strict=True)
    return any(old.phase != "inside" and new.phase == "inside" for old, new in pairs)


def _live(world: World) -> int:
    return sum(proc.alive for proc in world.procs)
