"""Purity: checks that a handler depends only on its fields, its event and `io.choose`.

The checker runs every handler once for each local state and event, and remembers the outcome. If a handler reads a
clock, a random number, a global or the order of a set, the remembered outcome is arbitrary, and so is the verdict. So
every call is repeated, later and in another order, from equal fields whose sets are iterated backwards, and the two
outcomes are compared. A debug run of the simulator does the same. docs/decisions/core.md lists what this finds and
what it cannot find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import copysign
from operator import is_not
from typing import Any, NamedTuple, TypeVar

import msgspec

from vez.core.effects import Effect, Send
from vez.core.message import Message
from vez.core.process import PARAMETER, Process, marked
from vez.errors import NotDeterministic, ProtocolBug

BATCH = 256
"""The number of calls after which all are repeated: enough for a counter or a cache to have changed meanwhile."""

FEWEST, ROUNDS = 512, 64
"""If fewer than FEWEST calls were made, they are repeated up to ROUNDS times, until there are about FEWEST calls."""

Fields = tuple[Any, ...]
T = TypeVar("T")


class Call(NamedTuple):
    """One call of a handler: the process, its state, the arguments, and the choices that were made."""

    process: int
    body: Any  # a Process that no handler has touched; each call gets a copy
    handler: Callable[..., None]
    arguments: tuple[Any, ...]
    script: tuple[int, ...]


class Backwards(frozenset[T]):
    """An equal set that is iterated in the opposite order. Sets that are computed from it are reversed too.

    A copy by C code (`{*names}`) does not call `__iter__`. So the members are also inserted in the opposite order:
    members whose hashes collide then come out in another order.
    """

    order: tuple[T, ...]

    def __new__(cls, members: Iterable[T] = ()) -> Backwards[T]:
        order = tuple(members)[::-1]
        made = super().__new__(cls, order)
        made.order = order
        return made

    def __iter__(self) -> Iterator[T]:
        return iter(self.order)


def _keep_turned(name: str) -> None:
    """Replace a set operation of `Backwards` by one that returns a `Backwards` too."""
    plain = getattr(frozenset, name)

    def turned(self: Backwards[Any], *others: Any) -> Any:
        made = plain(self, *others)
        return Backwards(made) if isinstance(made, frozenset) else made

    setattr(Backwards, name, turned)


for _operation in (
    "__or__", "__ror__", "__and__", "__rand__", "__sub__", "__rsub__", "__xor__", "__rxor__",
    "union", "intersection", "difference", "symmetric_difference", "copy",
):  # fmt: skip
    _keep_turned(_operation)


class Purity:
    """The recorded calls, each with its effects and the fields after it."""

    def __init__(self, repeat: Callable[[Call], tuple[list[Effect], Fields]], *, in_order: bool = False) -> None:
        """`in_order`: the order of messages to different processes matters, because a crash may occur between them."""
        self._repeat = repeat
        self._in_order = in_order
        self._once: list[tuple[Call, list[Effect], Fields]] = []
        self._made = 0

    def note(self, call: Call, effects: list[Effect], fields: Fields) -> None:
        """Remember a call until it is repeated."""
        self._once.append((call, effects, fields))
        if len(self._once) >= BATCH:
            self.settle()

    def settle(self) -> None:
        """Repeat every call, the latest first; raise `NotDeterministic` if one differs."""
        once, self._once = self._once[::-1], []
        self._made += len(once)
        for call, _, fields in once:
            kind: type[Process] = type(call.body)
            if _parameters(kind):
                _refuse_assigned_parameters(call, kind, fields)
        self._repeat_all(once)

    def finish(self) -> None:
        """Repeat the remaining calls. If there were few, repeat them several times, to find values that change after
        many calls."""
        once = self._once
        self.settle()
        for number in range(min(ROUNDS, FEWEST // max(1, self._made))):
            stride = 1 + (number // 2) % max(1, len(once))  # so that each call comes after many others
            order = [call for first in range(stride) for call in once[first::stride]]
            self._repeat_all(order if number % 2 == 0 else order[::-1])

    def _repeat_all(self, calls: list[tuple[Call, list[Effect], Fields]]) -> None:
        turned: dict[int, Any] = {}
        for call, effects, fields in calls:
            again, after = self._repeat(_turned(call, turned))
            same = alike(again, effects) or (not self._in_order and alike(_by_receiver(again), _by_receiver(effects)))
            if not same or not alike(after, fields):
                raise _difference(call, (effects, fields), (again, after), same)


def _refuse_assigned_parameters(call: Call, kind: type[Process], fields: Fields) -> None:
    """Refuse a handler that assigned a parameter: parameters survive crashes, and processes may share them."""
    for place in _parameters(kind):
        before = getattr(call.body, kind.__struct_fields__[place])
        if fields[place] is not before and fields[place] != before:
            raise ProtocolBug(
                f"{call.handler.__qualname__} of process {call.process} assigned {kind.__struct_fields__[place]}, "
                f"a Parameter, which was {before!r} and is {fields[place]!r}",
                hint="a Parameter never changes; declare a field without it for what does",
            )


@cache
def _parameters(kind: type[Process]) -> tuple[int, ...]:
    names = marked(kind, PARAMETER)
    return tuple(place for place, name in enumerate(kind.__struct_fields__) if name in names)


def _turned(call: Call, known: dict[int, Any]) -> Call:
    """A call from an equal state: sets in its fields and in its message are iterated backwards.

    `known` caches the reversed values by object: neighbouring calls begin in the same state or share a message.
    """
    process, body, handler, arguments, script = call
    turned = known.get(id(body))
    if turned is None:
        turned = known[id(body)] = _with_sets_backwards(body)
    if arguments and isinstance(arguments[0], Message):
        message = known.get(id(arguments[0]))
        if message is None:
            message = known[id(arguments[0])] = _with_sets_backwards(arguments[0])
        if message is not arguments[0]:
            return Call(process, turned, handler, (message, *arguments[1:]), script)
    return call if turned is body else Call(process, turned, handler, arguments, script)


def _with_sets_backwards(value: Any) -> Any:
    """An equal value whose sets, at any depth, are iterated backwards; the value itself if it contains no set."""
    kind = type(value)
    if kind is frozenset:
        return Backwards(map(_with_sets_backwards, value)) if value else value
    if kind is tuple:
        parts = tuple(map(_with_sets_backwards, value)) if not _PLAIN.issuperset(map(type, value)) else value
        return parts if any(map(is_not, parts, value)) else value
    if not isinstance(value, msgspec.Struct):
        return value
    if _PLAIN.issuperset(map(type, msgspec.structs.astuple(value))):
        return value
    fields = msgspec.structs.asdict(value)
    changed = {name: _with_sets_backwards(one) for name, one in fields.items()}
    changed = {name: one for name, one in changed.items() if one is not fields[name]}
    return msgspec.structs.replace(value, **changed) if changed else value


_PLAIN = {int, bool, str, float, bytes, type(None)}
"""Types whose values contain no set."""


def alike(one: Any, other: Any) -> bool:
    """True if two values are equal and have the same types at every depth: a handler can tell 1 from True."""
    return bool(one == other) and _kinds(one) == _kinds(other)


def _kinds(value: Any) -> Any:
    """The types inside a value. A set that is iterated backwards counts as a set."""
    kind = type(value)
    if kind is float:
        return kind if value else (kind, copysign(1.0, value))
    if kind in _PLAIN:
        return kind
    if isinstance(value, frozenset):
        return frozenset([(part, _kinds(part)) for part in value])
    if isinstance(value, (tuple, list)):
        return (kind, tuple(map(_kinds, value)))
    if isinstance(value, dict):
        return {key: _kinds(part) for key, part in value.items()}
    if isinstance(value, msgspec.Struct):
        return (kind, tuple(map(_kinds, msgspec.structs.astuple(value))))
    return kind


def _by_receiver(effects: list[Effect]) -> tuple[dict[int, list[Message]], list[Effect]]:
    """The effects without the order of messages to different processes, which no process can see."""
    sent: dict[int, list[Message]] = {}
    rest: list[Effect] = []
    for effect in effects:
        if type(effect) is Send:
            sent.setdefault(effect.to, []).append(effect.message)
        else:
            rest.append(effect)
    return sent, rest


def _difference(call: Call, one: tuple[Any, ...], other: tuple[Any, ...], same_effects: bool) -> NotDeterministic:
    what = f"did {one[0]} and then {other[0]}"
    if same_effects or one[1] != other[1]:
        what = f"left {one[1]} and then {other[1]}"
    hint = "use io.choose for chance and io.set_timer for time; sort sets before emitting; keep state in fields"
    if repr(one) == repr(other):
        hint = "a value is not equal to itself, as nan: no two states with it are the same"
    return NotDeterministic(
        f"{call.handler.__qualname__} of process {call.process}, in the same state with the same event, {what}",
        hint=hint,
    )
