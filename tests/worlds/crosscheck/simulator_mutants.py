"""Simulator mutants: mistakes that the simulator could contain, each of which the comparison with the checker must
notice: a property breaks that holds, or a run is not one of the model. And mistakes of the checker: a fault that it does
not explore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.worlds.crosscheck.mutants import memory_survives_a_crash, nothing_is_lost
from tests.worlds.crosscheck.timed_mutants import Mutant
from vez.core.process import PARAMETER, marked
from vez.core.recorder import ActionRecorder, Point
from vez.worlds.check.model.clock import Countdown
from vez.worlds.check.model.partitions import Partitions
from vez.worlds.check.search.packed import Packed
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.detection import PerfectDetection
from vez.worlds.sim.faults import Faults
from vez.worlds.sim.harness import Harness, Stay
from vez.worlds.sim.network import NetworkModel
from vez.worlds.sim.suspicions import Suspicions
from vez.worlds.sim.timers import Timers

LEDGER = "ledger"


def loses_one_more(patch: pytest.MonkeyPatch) -> None:
    """The third message of every channel is lost."""
    right = NetworkModel._fate

    def fate(self: NetworkModel, channel: tuple[int, int]) -> tuple[bool, list[int]]:
        lost, delays = right(self, channel)
        return (True, []) if self._counts[channel] == 3 else (lost, delays)

    patch.setattr(NetworkModel, "_fate", fate)


def copies_once_more(patch: pytest.MonkeyPatch) -> None:
    """A message that is copied is copied twice."""
    right = NetworkModel._fate

    def fate(self: NetworkModel, channel: tuple[int, int]) -> tuple[bool, list[int]]:
        lost, delays = right(self, channel)
        return lost, delays + delays[1:]

    patch.setattr(NetworkModel, "_fate", fate)


def overtakes(patch: pytest.MonkeyPatch) -> None:
    """A channel that keeps the order does not."""
    right = NetworkModel.transmit

    def transmit(self: NetworkModel, *sending: Any) -> None:
        self._fifo = False
        right(self, *sending)

    patch.setattr(NetworkModel, "transmit", transmit)


def late_messages(patch: pytest.MonkeyPatch) -> None:
    """A message takes up to twice its longest time."""
    right = NetworkModel._fate

    def fate(self: NetworkModel, channel: tuple[int, int]) -> tuple[bool, list[int]]:
        lost, delays = right(self, channel)
        return lost, [2 * delay for delay in delays]

    patch.setattr(NetworkModel, "_fate", fate)


def leaks_one_way(patch: pytest.MonkeyPatch) -> None:
    """A partition lets messages through from a higher process to a lower one."""
    right = NetworkModel.cut

    def cut(self: NetworkModel, channels: list[tuple[int, int]]) -> None:
        right(self, channels)
        for sender, to in channels:
            self._cuts[sender, to] -= sender > to

    patch.setattr(NetworkModel, "cut", cut)
    patch.setattr(NetworkModel, "heal", lambda self, channels: None)


def under_way_when_cut(patch: pytest.MonkeyPatch) -> None:
    """A message that is under way passes a partition."""

    def arrive(self: NetworkModel, node: Any, *message: Any) -> None:
        cuts, self._cuts = self._cuts, type(self._cuts)(int)
        right(self, node, *message)
        self._cuts = cuts

    right = NetworkModel._arrive
    patch.setattr(NetworkModel, "_arrive", arrive)


def early_timers(patch: pytest.MonkeyPatch) -> None:
    """A timer runs out after nine tenths of its time."""
    _timers(patch, lambda us: max(1, us * 9 // 10))


def late_timers(patch: pytest.MonkeyPatch) -> None:
    """A timer runs out a tenth too late."""
    _timers(patch, lambda us: us + us // 10)


def _timers(patch: pytest.MonkeyPatch, change: Callable[[int], int]) -> None:
    right = Timers.find

    def find(self: Timers, process: int, name: str, after_ms: float) -> Any:
        timer, us = right(self, process, name, after_ms)
        timer.known.clear()
        return timer, change(us)

    patch.setattr(Timers, "find", find)


def timers_survive_a_crash(patch: pytest.MonkeyPatch) -> None:
    """The timers of an earlier life run on."""
    patch.setattr(Timers, "forget", lambda self, process: None)


def forgets_what_is_durable(patch: pytest.MonkeyPatch) -> None:
    """A process that recovers with its memory has lost its durable fields."""
    right = Faults._recover

    def recover(self: Faults, node: Any, memory: bool) -> None:
        self._keeps = marked(self._setup.algorithm, PARAMETER)
        right(self, node, memory)

    patch.setattr(Faults, "_recover", recover)


def remembers_everything(patch: pytest.MonkeyPatch) -> None:
    """A process that recovers has all its fields."""
    right = Faults._recover

    def recover(self: Faults, node: Any, memory: bool) -> None:
        self._keeps = self._setup.algorithm.__struct_fields__
        right(self, node, memory)

    patch.setattr(Faults, "_recover", recover)


def writes_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """A process that crashes inside a handler has written none of its durable fields."""
    right = ActionRecorder.points

    def points(self: ActionRecorder) -> list[Point]:
        found = right(self)
        return [point._replace(durable=found[0].durable) for point in found]

    patch.setattr("vez.worlds.sim.handler_crashes.ActionRecorder", _recorder(points))


def finishes_the_handler(patch: pytest.MonkeyPatch) -> None:
    """A process that crashes inside a handler crashes after it."""
    right = ActionRecorder.points

    def points(self: ActionRecorder) -> list[Point]:
        found = right(self)
        return [point._replace(effects=len(self.effects)) for point in found]

    patch.setattr("vez.worlds.sim.handler_crashes.ActionRecorder", _recorder(points))


def _recorder(points: Callable[[Any], list[Point]]) -> type[ActionRecorder]:
    return type("Recorder", (ActionRecorder,), {"points": points, "__slots__": ()})


def works_while_paused(patch: pytest.MonkeyPatch) -> None:
    """A paused process handles its messages."""
    patch.setattr(Availability, "is_paused", lambda self, process: False)


def works_while_dead(patch: pytest.MonkeyPatch) -> None:
    """A process that has crashed handles its messages."""
    patch.setattr(NetworkModel, "_arrive", lambda self, *message: self._deliver(*message))


def reports_at_once(patch: pytest.MonkeyPatch) -> None:
    """The detector reports a crash before the messages of the dead process have arrived."""
    right = PerfectDetection._plan_word

    def plan(self: PerfectDetection, *word: Any, dead: bool) -> None:
        self._delay_us = 1
        right(self, *word, dead=dead)

    patch.setattr(PerfectDetection, "_plan_word", plan)


def reports_twice(patch: pytest.MonkeyPatch) -> None:
    """A process hears a second time that a peer is dead."""
    right = Suspicions._tell

    def tell(self: Suspicions, node: Any, peer: int, dead: bool) -> None:
        right(self, node, peer, dead)
        if dead:
            self._told[node.me].discard(peer)
            right(self, node, peer, dead)

    patch.setattr(Suspicions, "_tell", tell)


def stays_too_long(patch: pytest.MonkeyPatch) -> None:
    """A stay takes twice its time."""
    right = Harness._want

    def want(self: Harness, node: Any, stay: Stay, life: int) -> None:
        longer = stay._replace(inside_us=2 * stay.inside_us)
        self._current[node.me] = longer
        right(self, node, longer, life)

    patch.setattr(Harness, "_want", want)


def wants_once_more(patch: pytest.MonkeyPatch) -> None:
    """A process whose request is over asks again."""
    right = Harness._leave

    def leave(self: Harness, node: Any, life: int) -> None:
        stay = self._current.get(node.me)
        right(self, node, life)
        if stay is not None and node.me not in self._current:
            self._plans[node.me].append(stay)
            self._next(node)

    patch.setattr(Harness, "_leave", leave)


SIMULATOR_MUTANTS: dict[Mutant, str] = {
    loses_one_more: "vez check coordinator",
    copies_once_more: "vez check coordinator-lease --duplicates 1",
    overtakes: "vez check lamport",
    late_messages: "vez check bully --crashes 1",
    leaks_one_way: "vez check chang-roberts --partitions 1",
    under_way_when_cut: "vez check chang-roberts --partitions 1",
    early_timers: "vez check coordinator-lease",
    late_timers: "vez check bully-stable",
    timers_survive_a_crash: "vez check bully-stable --crashes 1 --recoveries 1",
    forgets_what_is_durable: "vez check coordinator-lease --crashes 1 --recoveries 1",
    remembers_everything: "vez check lamport --crashes 1 --recoveries 1",
    writes_at_the_end: LEDGER,
    finishes_the_handler: "vez check ricart-agrawala --crashes-inside 1",
    works_while_paused: "vez check coordinator-lease --pauses 1",
    works_while_dead: "vez check coordinator --crashes 1",
    reports_at_once: "vez check bully --crashes 1",
    reports_twice: "vez check chang-roberts --crashes 1",
    stays_too_long: "vez check coordinator-lease",
    wants_once_more: "vez check ricart-agrawala --property request_order",
}
"""The mutants, each with the row that must notice it. `LEDGER` is no row: its durable fields differ at every moment."""


def _unexplored(patch: pytest.MonkeyPatch, kind: str) -> None:
    right = Packed._event

    def event(self: Packed, place: int, rows: Any, event: Any, **words: Any) -> None:
        if event[0] != kind:
            right(self, place, rows, event, **words)

    patch.setattr(Packed, "_event", event)


def nobody_crashes(patch: pytest.MonkeyPatch) -> None:
    """The checker explores no crash."""
    _unexplored(patch, "crash")


def nobody_recovers(patch: pytest.MonkeyPatch) -> None:
    """The checker explores no recovery."""
    _unexplored(patch, "recover")


def nobody_pauses(patch: pytest.MonkeyPatch) -> None:
    """The checker explores no pause."""
    _unexplored(patch, "pause")


def nothing_is_cut(patch: pytest.MonkeyPatch) -> None:
    """The checker explores no partition."""
    patch.setattr(Partitions, "cuts", lambda self, number: [])


def clocks_are_right(patch: pytest.MonkeyPatch) -> None:
    """The checker explores no drift."""
    patch.setattr(Countdown, "__new__", lambda cls, first, last: tuple.__new__(cls, [(first + last) // 2] * 2))


UNEXPLORED: dict[Mutant, str] = {
    nobody_crashes: "vez check coordinator --crashes 1",
    nobody_recovers: "vez check coordinator --crashes 1 --recoveries 1",
    nobody_pauses: "vez check coordinator-lease --pauses 1",
    nothing_is_cut: "vez check chang-roberts --partitions 1",
    clocks_are_right: "vez check coordinator-lease --drift 0.25",
    nothing_is_lost: "vez check coordinator --losses 1",
    memory_survives_a_crash: "vez check coordinator --crashes 1 --recoveries 1",
}
"""Mistakes of the checker that the samples of a row must notice, without the explorer."""
