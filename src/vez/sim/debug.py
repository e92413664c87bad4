"""Debug runs: every handler is run twice, and its fields are checked afterwards.

Both runs are on copies of the process, and their effects are only recorded. If the two differ, the handler read
something that is not its state or its event: a clock, a global, a set's order. If not, the effects are performed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from vez.core import guards
from vez.core.effects import Choose, Effect, call_words, perform
from vez.core.recorder import Recorder, Site
from vez.errors import MutableField, NotDeterministic, article
from vez.sim.choices import Choices
from vez.sim.node import Node


def run_twice(node: Node, choices: Choices, handler: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Run the handler twice on copies, compare the results, then perform its effects once."""
    first_process, second_process = (msgspec.structs.replace(node.process) for _ in range(2))
    site = Site(type(node.process), node.services.directory.topology, node.me)
    first = Recorder(site, lambda count: choices.pick(node.me, count))
    handler(first_process, *arguments, first)
    chosen = iter([effect.chosen for effect in first.effects if isinstance(effect, Choose)])
    second = Recorder(site, lambda count: min(next(chosen, 0), count - 1))
    handler(second_process, *arguments, second)
    where = f"{type(node.process).__name__}.{handler.__name__}"
    if first.effects != second.effects:
        ours, theirs = _first_difference(first.effects, second.effects)
        raise NotDeterministic(
            f"{where} did {ours} and then, in the same state with the same event, {theirs}",
            hint="use io.choose for chance and io.set_timer for time; sort sets before emitting",
        )
    before, after = msgspec.structs.asdict(first_process), msgspec.structs.asdict(second_process)
    for field, value in before.items():
        if value != after[field]:
            raise NotDeterministic(
                f"{where} left {field} at {value!r} and then, in the same state, at {after[field]!r}",
                hint="a handler may depend on its fields, its event and io.choose only",
            )
        if not guards.is_immutable(value):
            raise MutableField(
                f"{where} put {value!r}, {article(type(value).__name__)}, into {field}",
                hint="use a tuple or frozenset",
            )
    node.process = first_process
    for effect in first.effects:
        if isinstance(effect, Choose):
            node.chose(len(effect.options), effect.chosen)
        else:
            perform(effect, node)


def _first_difference(one: list[Effect], other: list[Effect]) -> tuple[str, str]:
    length = min(len(one), len(other))
    index = next((index for index in range(length) if one[index] != other[index]), length)
    return _words(one, index), _words(other, index)


def _words(effects: list[Effect], index: int) -> str:
    if index >= len(effects):
        return "nothing more"
    return call_words(effects[index])
