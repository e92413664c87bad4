"""Timed mutants: mistakes about time that a checker could contain, each of which the comparison must notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vez.worlds.check.liveness.graph import Fairness, Graph
from vez.worlds.check.liveness.lassos import Liveness
from vez.worlds.check.model.clock import Clock, Countdown
from vez.worlds.check.model.local import Event, Local, Machine, Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search.tables import ChannelTable

Mutant = Callable[[pytest.MonkeyPatch], None]


def time_passes_late_messages(patch: pytest.MonkeyPatch) -> None:
    """Time goes on although a message is at its latest moment."""

    def after_tick(self: ChannelTable, contents: Any) -> Any:
        span = self.model.configuration.clock.span
        aged = [tuple(one - (one % span > 0) for one in self.contents[content]) for content in contents.tolist()]
        return np.array([self.index(content) for content in aged], dtype=contents.dtype)

    patch.setattr(Model, "must_arrive", lambda self, content: False)
    patch.setattr(ChannelTable, "after_tick", after_tick)


def stays_exceed_their_bound(patch: pytest.MonkeyPatch) -> None:
    """Time goes on although a stay must end."""
    right = Machine.react

    def react(self: Machine, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        (after, *more) = right(self, process, local, event)
        if event[0] == "advance" and after.local.stay == 0:
            after = after._replace(local=after.local._replace(stay=local.stay))
        return (after, *more)

    patch.setattr(Machine, "react", react)


def a_loop_without_time_counts(patch: pytest.MonkeyPatch) -> None:
    """A loop is taken for an endless run although no time passes in it."""
    right = Fairness.__init__
    patch.setattr(Fairness, "__init__", lambda self, graph, *rest: right(self, graph))


def a_loop_needs_a_tick(patch: pytest.MonkeyPatch) -> None:
    """A loop in which no tick passes is no endless run, although no clock runs in some of its states."""
    right = Fairness.__init__

    def begin(self: Fairness, graph: Graph, advance: int = -1, running: Any = None) -> None:
        right(self, graph, advance, None if running is None else np.ones_like(running))

    patch.setattr(Fairness, "__init__", begin)


def time_never_stands_still(patch: pytest.MonkeyPatch) -> None:
    """A protocol that stops time is judged as if it did not."""
    patch.setattr(Liveness, "_standstill", lambda self: ())


def ticks_are_too_long(patch: pytest.MonkeyPatch) -> None:
    """The first bound is the tick, and whatever is shorter is a whole tick."""

    def timer(self: Clock, after_us: int) -> Countdown:
        self.tick_us = self.tick_us or after_us
        left = -(-after_us // self.tick_us) * self.tick_us if after_us else 0
        return Countdown(left, left)

    patch.setattr(Clock, "timer", timer)


def starts_of_the_coarser_tick(patch: pytest.MonkeyPatch) -> None:
    """When the tick becomes finer, the messages of `on_start` keep the codes that they had."""
    patch.setattr(Model, "forget", lambda self: None)


def messages_never_age(patch: pytest.MonkeyPatch) -> None:
    """A tick leaves the messages under way as they were."""
    patch.setattr(ChannelTable, "after_tick", lambda self, contents: contents)


def timers_run_on(patch: pytest.MonkeyPatch) -> None:
    """A timer that is set anew keeps the time that it had left."""
    right = Machine._outcome

    def outcome(self: Machine, process: int, local: Local, *rest: Any) -> Transition:
        found = right(self, process, local, *rest)
        timers = {**dict(found.local.timers), **{name: left for name, left in local.timers if name in found.set_timers}}
        return found._replace(local=found.local._replace(timers=tuple(sorted(timers.items()))))

    patch.setattr(Machine, "_outcome", outcome)


def timers_are_never_due(patch: pytest.MonkeyPatch) -> None:
    """Time goes on although a timer has run out."""
    patch.setattr(Model, "due", lambda self, number: self.locals[number].stay == 0)


def timers_never_run_out_early(patch: pytest.MonkeyPatch) -> None:
    """Of what drift allows, only the latest moment is seen."""
    right = Clock.timer
    patch.setattr(Clock, "timer", lambda self, after_us: Countdown(*[right(self, after_us).latest] * 2))


def timers_never_run_out_late(patch: pytest.MonkeyPatch) -> None:
    """Of what drift allows, only the earliest moment is seen."""
    right = Clock.timer
    patch.setattr(Clock, "timer", lambda self, after_us: Countdown(*[right(self, after_us).earliest] * 2))


TIMED_MUTANTS: dict[Mutant, str] = {
    time_passes_late_messages: "timed",
    stays_exceed_their_bound: "timed",
    a_loop_without_time_counts: "timed",
    a_loop_needs_a_tick: "timed",
    time_never_stands_still: "timed",
    ticks_are_too_long: "timed",
    starts_of_the_coarser_tick: "timed",
    messages_never_age: "timed",
    timers_run_on: "timed",
    timers_are_never_due: "timed",
    timers_never_run_out_early: "timed",
    timers_never_run_out_late: "timed",
}
