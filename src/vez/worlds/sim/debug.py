"""Debug runs: every handler is run twice at once and a third time later, and its fields are checked afterwards.

The runs are on copies of the process, and their effects are only recorded. If two runs differ, the handler read
something other than its state and its event: a clock, a global, a set's order. Otherwise the effects are performed. The
third run happens after other handlers have run, because a global may be the same in two successive calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from vez.core import class_rules
from vez.core.effects import Choose, Effect, Send, call_words, perform
from vez.core.identity import ForeignValue, field_of, shape, shapes
from vez.core.purity import Call, Purity, alike
from vez.core.recorder import Recorder, Site
from vez.errors import MutableField, NotDeterministic, article
from vez.worlds.sim.choices import Choices
from vez.worlds.sim.node import Node


class Debug:
    """Runs handlers, and repeats them."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._purity = Purity(self._repeat)
        self._nodes: dict[int, Node] = {}

    def run(self, node: Node, handler: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Run a handler twice now, perform its effects once, and note it for a third time."""
        self._nodes[node.me] = node
        before = msgspec.structs.replace(node.process)
        effects = run_twice(node, self._choices, handler, arguments)
        chosen = tuple(effect.chosen for effect in effects if isinstance(effect, Choose))
        call = Call(node.me, before, handler, arguments, chosen)
        self._purity.note(call, effects, msgspec.structs.astuple(node.process))

    def settle(self) -> None:
        """Repeat the handlers that were not repeated yet."""
        self._purity.finish()

    def _repeat(self, call: Call) -> tuple[list[Effect], tuple[Any, ...]]:
        node = self._nodes[call.process]
        body = msgspec.structs.replace(call.body)
        chosen = iter(call.script)
        io = Recorder(_site(node), lambda count: min(next(chosen, 0), count - 1))
        call.handler(body, *call.arguments, io)
        return io.effects, msgspec.structs.astuple(body)


def run_twice(node: Node, choices: Choices, handler: Callable[..., None], arguments: tuple[Any, ...]) -> list[Effect]:
    """Run the handler twice on copies, compare the results, then perform its effects once."""
    first_process, second_process = (msgspec.structs.replace(node.process) for _ in range(2))
    site = _site(node)
    first = Recorder(site, lambda count: choices.pick(node.me, count))
    handler(first_process, *arguments, first)
    chosen = iter([effect.chosen for effect in first.effects if isinstance(effect, Choose)])
    second = Recorder(site, lambda count: min(next(chosen, 0), count - 1))
    handler(second_process, *arguments, second)
    where = f"{type(node.process).__name__}.{handler.__name__}"
    if not alike(first.effects, second.effects):
        ours, theirs = _first_difference(first.effects, second.effects)
        raise NotDeterministic(
            f"{where} did {ours} and then, in the same state with the same event, {theirs}",
            hint="use io.choose for chance and io.set_timer for time; sort sets before emitting",
        )
    before, after = msgspec.structs.asdict(first_process), msgspec.structs.asdict(second_process)
    for field, value in before.items():
        if not alike(value, after[field]):
            raise NotDeterministic(
                f"{where} left {field} at {value!r} and then, in the same state, at {after[field]!r}",
                hint="a handler may depend on its fields, its event and io.choose only",
            )
        if not class_rules.is_immutable(value) and not _can_be_hashed(value):
            raise MutableField(
                f"{where} put {value!r}, {article(type(value).__name__)}, into {field}",
                hint="use a tuple or frozenset",
            )
    _refuse_foreign(f"{where} of process {node.me}", before, first.effects)
    node.process = first_process
    for effect in first.effects:
        if isinstance(effect, Choose):
            node.chose(len(effect.options), effect.chosen)
        else:
            perform(effect, node)
    return first.effects


def _refuse_foreign(where: str, fields: dict[str, Any], effects: list[Effect]) -> None:
    """Refuse a value whose `__eq__` may ignore a difference. The error is the same as the checker's."""
    try:
        shapes(tuple(fields.values()))
    except ForeignValue as error:
        raise error.refusal(f"{where} left {field_of(fields)} at") from None
    for message in (effect.message for effect in effects if isinstance(effect, Send)):
        try:
            shape(message)
        except ForeignValue as error:
            field = field_of(msgspec.structs.asdict(message))
            raise error.refusal(f"{where} sent {type(message).__name__} with {field}") from None


def _can_be_hashed(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _site(node: Node) -> Site:
    return Site(type(node.process), node.services.topology_cache.topology, node.me)


def _first_difference(one: list[Effect], other: list[Effect]) -> tuple[str, str]:
    length = min(len(one), len(other))
    index = next((index for index in range(length) if not alike(one[index], other[index])), length)
    return _words(one, index), _words(other, index)


def _words(effects: list[Effect], index: int) -> str:
    if index >= len(effects):
        return "nothing more"
    return call_words(effects[index])
