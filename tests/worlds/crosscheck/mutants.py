"""Mutants: mistakes that a checker could contain, each of which the comparison must notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.worlds.crosscheck.timed_mutants import TIMED_MUTANTS, Mutant
from vez.core.process import Mutex
from vez.core.recorder import ActionRecorder
from vez.worlds.check.liveness import lassos
from vez.worlds.check.liveness.graph import Fairness, Graph
from vez.worlds.check.liveness.lassos import Liveness
from vez.worlds.check.model import local, semantics
from vez.worlds.check.model.local import Machine
from vez.worlds.check.model.partitions import Partitions
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.reduce.commute import Commuting
from vez.worlds.check.reduce.symmetry import Symmetry
from vez.worlds.check.search import breadth_first
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.check.search.packed import Packed
from vez.worlds.check.search.tables import ProcessTable


def forgotten_interleaving(patch: pytest.MonkeyPatch) -> None:
    """Of several possible own steps of a process, only the first is explored."""
    right = Model.spontaneous
    patch.setattr(Model, "spontaneous", lambda self, place, number: right(self, place, number)[:1])


def merged_states(patch: pytest.MonkeyPatch) -> None:
    """Equal states are merged even if their types differ."""
    patch.setattr(semantics, "identity", lambda value: value)
    patch.setattr(semantics, "shapes", lambda values: None)
    patch.setattr(local, "identity", lambda value: value)


def no_fairness(patch: pytest.MonkeyPatch) -> None:
    """A run may stay in any cycle."""
    patch.setattr(Fairness, "fair_components", lambda self, inside: inside.core().components())


def fairness_of_the_wrong_component(patch: pytest.MonkeyPatch) -> None:
    """A step anywhere in the graph counts as a step in the component."""

    def components(self: Fairness, inside: Graph) -> list[list[int]]:
        happens = set(self.graph.fair.tolist())
        found = inside.core().components()
        return [states for states in found if all(self.enabled(states[0]) <= happens for _ in states)]

    patch.setattr(Fairness, "fair_components", components)


def strong_fairness(patch: pytest.MonkeyPatch) -> None:
    """A step that is possible infinitely often must happen, although it is not possible all the time."""

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
    """A timer that is set again counts as due all the time."""
    patch.setattr(ProcessTable, "_note_postponed", lambda self, *rest: None)


def stuttering_is_progress(patch: pytest.MonkeyPatch) -> None:
    """A cycle of one state is not treated as a cycle."""
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
    right = Model.append
    patch.setattr(Model, "append", lambda self, content, number: tuple(sorted(right(self, content, number))))


def ends_forgotten(patch: pytest.MonkeyPatch) -> None:
    """One of the states in which a run ends is overlooked."""
    right = Search.end_states
    patch.setattr(Search, "end_states", lambda self: right(self)[1:])


def leaders_of_all_terms(patch: pytest.MonkeyPatch) -> None:
    """Two leaders count as two leaders even in different terms."""

    def two(one: Any, first: int, other: Any, second: int) -> bool:
        return bool(one.view and other.view and one.view[0] == first and other.view[0] == second)

    patch.setattr(breadth_first, "two_leaders", two)


def nothing_is_lost(patch: pytest.MonkeyPatch) -> None:
    """Messages are neither lost nor copied."""
    patch.setattr(Packed, "_message_faults", lambda self, *rest: None)


def nobody_withdraws(patch: pytest.MonkeyPatch) -> None:
    """A waiting process never withdraws."""
    right = Packed._event

    def event(self: Packed, place: int, rows: Any, event: Any, **words: Any) -> None:
        if event != ("withdraw",):
            right(self, place, rows, event, **words)

    patch.setattr(Packed, "_event", event)


def every_request_is_taken_back(patch: pytest.MonkeyPatch) -> None:
    """A process that withdraws no longer wants in, even if the protocol cannot take a request back."""
    patch.setattr(Mutex, "can_retract", lambda: True)


def symmetry_is_believed(patch: pytest.MonkeyPatch) -> None:
    """A declaration of symmetry is not tested."""
    patch.setattr(Symmetry, "_test", lambda self, *rest: None)


def everything_commutes(patch: pytest.MonkeyPatch) -> None:
    """The order of the events of a process does not matter."""
    patch.setattr(Commuting, "may_come_first", lambda self, *rest: True)


def handlers_are_all_or_nothing(patch: pytest.MonkeyPatch) -> None:
    """A process that crashes inside a handler has done nothing yet."""
    right = ActionRecorder.points
    patch.setattr(ActionRecorder, "points", lambda self: right(self)[:1])


def durable_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """A process that crashes inside a handler has written nothing yet."""
    patch.setattr(Machine, "_fields_at", lambda self, before, point: before.fields)


def what_is_under_way_survives_a_cut(patch: pytest.MonkeyPatch) -> None:
    """A cut channel loses messages that are sent, but still delivers those in transit."""
    right = Packed._deliveries

    def deliveries(self: Packed, *rest: Any) -> None:
        self.cut, cut = [np.zeros_like(one) for one in self.cut], self.cut
        right(self, *rest)
        self.cut = cut

    patch.setattr(Packed, "_deliveries", deliveries)


def partitions_never_heal(patch: pytest.MonkeyPatch) -> None:
    """A cut channel is never healed."""
    right = Packed._write

    def write(self: Packed, rows: Any, changes: Any, fair: Any) -> None:
        heals = [column for column, old, new in changes if column == self.partition_column and not new.any()]
        if not heals:
            right(self, rows, changes, fair)

    patch.setattr(Packed, "_write", write)


def one_partition_at_a_time(patch: pytest.MonkeyPatch) -> None:
    """A partition must heal before the next one."""
    right = Partitions.cuts
    patch.setattr(Partitions, "cuts", lambda self, number: [] if number else right(self, number))


def time_waits_for_the_paused(patch: pytest.MonkeyPatch) -> None:
    """Time does not pass while an event of a paused process is due."""

    def due(self: Model, number: int) -> bool:
        local = self.locals[number]
        return local.stay == 0 or any(left.latest == 0 for _, left in local.timers)

    patch.setattr(Model, "due", due)


def a_leader_is_always_owed(patch: pytest.MonkeyPatch) -> None:
    """An election counts as started although nobody was asked."""
    patch.setattr(lassos, "starts_election", lambda *state: True)


def only_who_is_asked_starts_an_election(patch: pytest.MonkeyPatch) -> None:
    """What a process sends or names without having been asked starts no election."""
    patch.setattr(local, "_takes_part", lambda effects: False)


MUTANTS: dict[Mutant, str] = {
    forgotten_interleaving: "untimed",
    merged_states: "untimed",
    no_fairness: "untimed",
    fairness_of_the_wrong_component: "untimed",
    strong_fairness: "untimed",
    postponing_is_forgotten: "untimed",
    stuttering_is_progress: "untimed",
    endless_runs_forgotten: "untimed",
    first_choice_only: "untimed",
    memory_survives_a_crash: "untimed",
    messages_overtake: "untimed",
    ends_forgotten: "untimed",
    leaders_of_all_terms: "untimed",
    nothing_is_lost: "untimed",
    handlers_are_all_or_nothing: "untimed",
    durable_at_the_end: "untimed",
    what_is_under_way_survives_a_cut: "untimed",
    partitions_never_heal: "untimed",
    one_partition_at_a_time: "untimed",
    time_waits_for_the_paused: "timed",
    nobody_withdraws: "untimed",
    every_request_is_taken_back: "untimed",
    symmetry_is_believed: "symmetric",
    everything_commutes: "untimed",
    a_leader_is_always_owed: "unasked",
    only_who_is_asked_starts_an_election: "unasked",
    **TIMED_MUTANTS,
}
"""The mutants, each with the kind of cases that must notice it."""
