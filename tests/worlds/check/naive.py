"""Naive search: breadth-first with tuples and a set, directly from the model's definition of a step. A reference for
tests."""

from __future__ import annotations

from typing import NamedTuple

from vez.worlds.check.model.clock import FinerTick
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State


class Naive(NamedTuple):
    states: int
    transitions: int
    depth: int
    ends: int
    first_two_inside: int | None
    """The smallest depth at which two processes are inside; None if they never are."""
    layers: list[int]
    """The number of states at the end of each layer."""
    all: frozenset[State]


def explore(model: Model) -> Naive:
    while True:
        try:
            return _explore(model)
        except FinerTick:
            continue  # the tick of the clock has become finer


def _explore(model: Model) -> Naive:
    frontier = model.initial()
    seen = set(frontier)
    transitions = depth = ends = 0
    layers = [len(seen)]
    crowded: int | None = None
    while frontier:
        following = []
        for state in frontier:
            if crowded is None and sum(model.locals[number].phase == 2 for number in state.locals) > 1:
                crowded = depth
            ended = True
            for step in model.steps(state):
                transitions += 1
                ended = ended and step.fair is None
                if step.state not in seen:
                    seen.add(step.state)
                    following.append(step.state)
            ends += ended
        depth += bool(following)
        layers.append(len(seen))
        frontier = following
    return Naive(len(seen), transitions, depth, ends, crowded, layers, frozenset(seen))
