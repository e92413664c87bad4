"""State: a global state of the model in small integers, and a step from one to the next."""

from __future__ import annotations

from typing import Any, NamedTuple

from vez.worlds.check.model.configuration import BUDGETS
from vez.worlds.check.model.local import IDLE, Local, Transition

CRASHES, RECOVERIES, LOSSES, DUPLICATES, MISTAKES, WITHDRAWALS, CRASHES_INSIDE, PARTITIONS, PAUSES = range(len(BUDGETS))
NOTHING = Transition(Local((), False, 0, IDLE, None, None, (), (), ()))


class State(NamedTuple):
    """A global state in small integers: local states, channel contents, budgets, observer, the partitions in force.

    A message in transit is one number too: its own number, times the clock's `span`, plus the ticks that it has left.
    """

    locals: tuple[int, ...]
    channels: tuple[tuple[int, ...], ...]
    budget: tuple[int, ...]
    observer: int = 0
    partition: int = 0


class Step(NamedTuple):
    """One step of a run. `process` and `other` are places, not identifiers."""

    kind: str
    process: int
    state: State
    other: int = -1
    message: int = -1
    detail: Any = None  # for a message: the ticks that it had left; for time: the microseconds that pass
    transition: Transition = NOTHING
    fair: tuple[Any, ...] | None = None  # its class of fairness; None if the step need not happen


def put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """The values with one replaced."""
    return (*values[:place], value, *values[place + 1 :])


def spend(state: State, which: int) -> State:
    """The state after a fault was counted."""
    return state._replace(budget=put(state.budget, which, state.budget[which] - 1))


def born(state: State) -> State:
    """The state with one more process, before its `on_start`."""
    return state._replace(locals=(*state.locals, 0))


def owed(fair: tuple[Any, ...] | None, outcome: Transition) -> tuple[Any, ...] | None:
    """The class of fairness of a step; None for a crash inside a handler, which need not happen."""
    return None if outcome.crashed_after >= 0 else fair
