"""Interleavings: explores every order of the threads' turns, breadth-first, and finds violations.

The search is a simple one, because programs of threads are small. Like the packed search, it stops at limits and
reports the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from vez.errors import VezError
from vez.threads.operations import Map, Output
from vez.threads.program import Program
from vez.worlds.check.arrays import np
from vez.worlds.check.liveness.graph import STEP, Fairness, Graph
from vez.worlds.check.search import INTERRUPTED
from vez.worlds.check.search.memory import Room
from vez.worlds.check.threads.effects import is_variable
from vez.worlds.check.threads.machine import Moment, Threads, Turn
from vez.worlds.sim.blame import blame_function

LOOK_EVERY = 2048
"""The number of states between two checks of the limits."""
PROGRESS_S = 0.25


class Found(msgspec.Struct, frozen=True):
    """The result of exploring a program."""

    states: int
    transitions: int
    depth: int
    broken: dict[str, tuple[str, tuple[Turn, ...]]]
    """Broken property → the end in words, and the shortest interleaving."""
    wait_for: dict[str, tuple[str, str]]
    loop: int | None = None
    """If `termination` is broken: the number of turns before the part that repeats for ever."""
    stopped: str = ""
    """The reason, if the search stopped early."""
    ended: bool = True
    """True if an interleaving reaches its end, so that the claim at the end can be tested."""

    @property
    def complete(self) -> bool:
        """True if every interleaving was seen."""
        return not self.stopped


def explore(
    program: Program,
    max_states: int = 2_000_000,
    max_memory_mb: float = 4096,
    watch: Callable[[str], None] | None = None,
) -> Found:
    """Explore every interleaving. Checks the claim at the end, the invariant, deadlock, and threads that never end."""
    return _Exploration(program, max_states, max_memory_mb, watch).run()


class _Exploration:
    def __init__(
        self, program: Program, max_states: int, max_memory_mb: float, watch: Callable[[str], None] | None
    ) -> None:
        self.program = program
        self.threads = Threads(program)
        start = self.threads.initial()
        self.numbers: dict[Moment, int] = {start: 0}
        self.order = [start]
        self.parents: list[tuple[int, Turn]] = [(-1, Turn(0, "", start))]
        self.depths = [0]
        self.steps: list[tuple[int, int, int]] = []
        self.broken: dict[str, tuple[str, tuple[Turn, ...]]] = {}
        self.wait_for: dict[str, tuple[str, str]] = {}
        self.loop: int | None = None
        self.stopped = ""
        self.max_states, self.watch = max_states, watch
        self.room = Room(max_memory_mb * (1 << 20), whole_process=True)
        self.started = time.monotonic()
        self.ended = False  # True if an interleaving reaches its end

    def run(self) -> Found:
        at = 0
        try:
            while at < len(self.order) and not self.stopped:
                self._expand(at)
                at += 1
                if at % LOOK_EVERY == 0 or len(self.order) >= self.max_states:
                    self._look(at)
            self.threads.repeat()
        except KeyboardInterrupt:
            self.stopped = INTERRUPTED
        if not self.stopped and not {"claim", "deadlock_freedom"} & self.broken.keys():
            try:
                self._judge_cycles()
            except MemoryError as error:
                self.stopped = str(self.room.full(error))
        return Found(
            len(self.order), len(self.steps), max(self.depths), self.broken, self.wait_for, self.loop, self.stopped,
            self.ended,
        )  # fmt: skip

    def _expand(self, at: int) -> None:
        moment, any_turn = self.order[at], False
        program = self.program
        if (
            program.always is not None
            and "invariant" not in self.broken
            and not _asked(program.always, self.threads.memory(moment), "always")
        ):
            self.broken["invariant"] = (f"not so: {program.invariant}", self._way(at))
        for turn in self.threads.turns(moment):
            any_turn = True
            number = self.numbers.setdefault(turn.after, len(self.order))
            if number == len(self.order):
                self.order.append(turn.after)
                self.parents.append((at, turn))
                self.depths.append(self.depths[at] + 1)
            self.steps.append((at, number, turn.thread))
        if not any_turn:
            self._judge_end(at, self.threads.memory(moment))

    def _look(self, at: int) -> None:
        """Stop at a limit, or report progress."""
        states, left = len(self.order), len(self.order) - at
        if states >= self.max_states and left:
            self.stopped = f"past the limit of {self.max_states:,} states (--max-states)"
        elif self.room.used() > self.room.most and left:
            self.stopped = str(self.room.full())
        elif self.watch is not None:
            rate = len(self.steps) / max(1e-9, time.monotonic() - self.started)
            self.watch(f"{states:,} states, {rate:,.0f} transitions/s, depth {self.depths[-1]}, queue {left:,}")

    def _judge_end(self, at: int, memory: Mapping[str, Any]) -> None:
        threads, program, moment = self.threads, self.program, self.order[at]
        stuck = threads.unfinished(moment)
        if stuck and "deadlock_freedom" not in self.broken:
            self.wait_for.update(threads.waits_for(moment))
            words = f"{', '.join(stuck)} wait{'s' * (len(stuck) == 1)} for ever"
            self.broken["deadlock_freedom"] = (words, self._way(at))
        self.ended = self.ended or not stuck
        if stuck or program.at_end is None or "claim" in self.broken or _asked(program.at_end, memory, "at_end"):
            return
        parts = [_shown(name, program.shared[name], memory[name]) for name in threads.objects]
        values = ", ".join(filter(None, parts))
        self.broken["claim"] = (f"expected {program.claim}, and {values}", self._way(at))

    def _judge_cycles(self) -> None:
        """Find a fair run that never ends: every thread that can move does so again and again."""
        self.room.need(len(self.steps) * STEP)
        source, target, thread = (np.array([step[place] for step in self.steps], dtype=np.int64) for place in range(3))
        graph = Graph(source, target, thread, len(self.order), self.room)
        fairness = Fairness(graph)
        components = fairness.fair_components(graph)
        if components:
            component = min(components, key=lambda component: component[0])
            round_ = fairness.lasso(graph, component, component[0])
            way = self._way(component[0])
            self.loop = len(way)
            turns = tuple(self._turn(before, after) for before, after in pairwise(round_))
            self.broken["termination"] = ("the threads go round for ever", (*way, *turns))

    def _turn(self, before: int, after: int) -> Turn:
        return next(turn for turn in self.threads.turns(self.order[before]) if turn.after == self.order[after])

    def _way(self, number: int) -> tuple[Turn, ...]:
        way = []
        while number > 0:
            number, turn = self.parents[number]
            way.append(turn)
        return tuple(way[::-1])


def _shown(name: str, kind: Any, value: Any) -> str:
    """A shared object at the end, in words; empty for locks, conditions and queues, which no claim uses."""
    if isinstance(kind, Output):
        return f"{name} is " + ", ".join(f"{thread}: {line!r}" for thread, line in value)
    return f"{name} is {value}" if is_variable(kind) or isinstance(kind, Map) else ""


def _asked(claim: Callable[[Mapping[str, Any]], bool], memory: Mapping[str, Any], name: str) -> bool:
    try:
        return claim(memory)
    except VezError:
        raise
    except (Exception, SystemExit) as error:
        raise blame_function(error, claim, f"in {name}") from error
