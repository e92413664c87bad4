"""Debug runs: every handler is run twice, and its fields are looked at afterwards.

The first run is a rehearsal on a copy whose effects are only written down; the second is real. If the two
differ, the handler read something that is not its state or its event: a clock, a global, a set's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from vez.core import guards
from vez.core.message import Message
from vez.errors import MutableField, NotDeterministic, article
from vez.sim.choices import Choices
from vez.sim.node import Node

T = TypeVar("T")
Effect = tuple[str, tuple[Any, ...]]


class Rehearsal:
    """An Io that does nothing and remembers what it was asked to do."""

    def __init__(self, node: Node, choices: Choices, replay: Sequence[int] = ()) -> None:
        self._node = node
        self._choices = choices
        self._replay = list(replay)
        self.effects: list[Effect] = []
        self.chosen: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def send(self, to: int, message: Message) -> None:
        self.effects.append(("send", (to, message)))

    def broadcast(self, message: Message) -> None:
        for peer in self._node.peers:
            self.send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        self.effects.append(("set_timer", (name, after_ms)))

    def cancel_timer(self, name: str) -> None:
        self.effects.append(("cancel_timer", (name,)))

    def enter(self, token: int | None = None) -> None:
        self.effects.append(("enter", (token,)))

    def elected(self, leader: int, term: int = 0) -> None:
        self.effects.append(("elected", (leader, term)))

    def note(self, text: str) -> None:
        self.effects.append(("note", (text,)))

    def choose(self, options: Sequence[T]) -> T:
        index = self._replay.pop(0) if self._replay else self._choices.pick(self._node.me, len(options))
        self.chosen.append(index)
        self.effects.append(("choose", (tuple(options), index)))
        return options[index]


def run_twice(node: Node, choices: Choices, handler: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Rehearse the handler twice, compare, then let its effects happen once."""
    first_process, second_process = (msgspec.structs.replace(node.process) for _ in range(2))
    first = Rehearsal(node, choices)
    handler(first_process, *arguments, first)
    second = Rehearsal(node, choices, first.chosen)
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
    for name, details in first.effects:
        if name != "choose":
            getattr(node, name)(*details)


def _first_difference(one: list[Effect], other: list[Effect]) -> tuple[str, str]:
    length = min(len(one), len(other))
    index = next((index for index in range(length) if one[index] != other[index]), length)
    return _words(one, index), _words(other, index)


def _words(effects: list[Effect], index: int) -> str:
    if index >= len(effects):
        return "nothing more"
    name, details = effects[index]
    return f"{name}({', '.join(map(str, details))})"
