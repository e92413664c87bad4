"""Mutants: mistakes that a checker could contain, each of which the comparison must notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vez.check.liveness.graph import Fairness, Graph
from vez.check.liveness.lassos import Liveness
from vez.check.model import local, semantics
from vez.check.model.local import Machine
from vez.check.model.semantics import Model
from vez.check.search import breadth_first
from vez.check.search.breadth_first import Search
from vez.check.search.packed import Packed
from vez.check.search.tables import ProcessTable

Mutant = Callable[[pytest.MonkeyPatch], None]


def forgotten_interleaving(patch: pytest.MonkeyPatch) -> None:
    """Of several things that a process can do by itself, only the first is tried."""
    right = Model.spontaneous
    patch.setattr(Model, "spontaneous", lambda self, place, number: right(self, place, number)[:1])


def merged_states(patch: pytest.MonkeyPatch) -> None:
    """States are one if they are equal, whatever their types."""
    patch.setattr(semantics, "identity", lambda value: value)
    patch.setattr(semantics, "shape", lambda value: None)
    patch.setattr(local, "identity", lambda value: value)


def no_fairness(patch: pytest.MonkeyPatch) -> None:
    """A run may stay in any cycle."""
    patch.setattr(Fairness, "fair_components", lambda self, inside: inside.core().components())


def fairness_of_the_wrong_component(patch: pytest.MonkeyPatch) -> None:
    """What happens anywhere in the graph counts as happening in the component."""

    def components(self: Fairness, inside: Graph) -> list[list[int]]:
        happens = set(self.graph.fair.tolist())
        found = inside.core().components()
        return [states for states in found if all(self.enabled(states[0]) <= happens for _ in states)]

    patch.setattr(Fairness, "fair_components", components)


def strong_fairness(patch: pytest.MonkeyPatch) -> None:
    """What is possible again and again must happen, although it is not possible all the time."""

    def components(self: Fairness, inside: Graph) -> list[list[int]]:
        found = []
        for states in inside.core().components():
            within = np.isin(inside.source, states) & np.isin(inside.target, states)
            happens = set(inside.fair[within].tolist())
            if set().union(*map(self.enabled, states)) <= happens:
                found.append(states)
        return found

    patch.setattr(Fairness, "fair_components", components)


def postponing_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A timer that is set anew counts as due all the time."""
    patch.setattr(ProcessTable, "_note_postponed", lambda self, *rest: None)


def stuttering_is_progress(patch: pytest.MonkeyPatch) -> None:
    """A cycle of one state is no cycle."""
    right = Graph.components
    patch.setattr(Graph, "components", lambda self: [states for states in right(self) if len(states) > 1])


def endless_runs_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Only runs that end are judged."""
    patch.setattr(Liveness, "_failing_loop", lambda self, name: None)


def first_choice_only(patch: pytest.MonkeyPatch) -> None:
    """A handler that chooses has one outcome."""
    right = Machine._run
    patch.setattr(Machine, "_run", lambda self, *rest, **words: right(self, *rest, **words)[:1])


def memory_survives_a_crash(patch: pytest.MonkeyPatch) -> None:
    """A process comes back with all its fields."""
    patch.setattr(Machine, "_mix", lambda self, fresh, old: old)


def messages_overtake(patch: pytest.MonkeyPatch) -> None:
    """The order of a channel is not kept."""
    patch.setattr(Model, "append", lambda self, content, number: tuple(sorted((*content, number))))


def ends_forgotten(patch: pytest.MonkeyPatch) -> None:
    """One of the states in which a run ends is overlooked."""
    right = Search.end_states
    patch.setattr(Search, "end_states", lambda self: right(self)[1:])


def leaders_of_all_terms(patch: pytest.MonkeyPatch) -> None:
    """Two leaders are two leaders, whatever their terms."""

    def two(one: Any, first: int, other: Any, second: int) -> bool:
        return bool(one.view and other.view and one.view[0] == first and other.view[0] == second)

    patch.setattr(breadth_first, "two_leaders", two)


def nothing_is_lost(patch: pytest.MonkeyPatch) -> None:
    """Messages are neither lost nor copied."""
    patch.setattr(Packed, "_message_faults", lambda self, *rest: None)


MUTANTS: tuple[Mutant, ...] = (
    forgotten_interleaving,
    merged_states,
    no_fairness,
    fairness_of_the_wrong_component,
    strong_fairness,
    postponing_is_forgotten,
    stuttering_is_progress,
    endless_runs_forgotten,
    first_choice_only,
    memory_survives_a_crash,
    messages_overtake,
    ends_forgotten,
    leaders_of_all_terms,
    nothing_is_lost,
)
