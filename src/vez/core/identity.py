"""Identity: two values are identical only if they are equal and have the same types at every depth.

Python says that 1 == True == 1.0, and that 0.0 == -0.0. A handler can tell them apart (`is not False`, `type`, `repr`,
division), so states in which they differ are different states. A class may also define an `__eq__` that ignores a
part, so the parts of such a value are compared one by one. That is possible only for the kinds that
docs/reference/core.md allows, because their parts are known. Any other value is refused, because its `__eq__` may
ignore a difference: Decimal("1.0") == Decimal("1.00").
"""

from __future__ import annotations

from enum import Enum
from math import copysign
from typing import Any

import msgspec

from vez.errors import ProtocolBug, article

_ATOMS = frozenset({int, str, bool, bytes, type(None)})
ALLOWED = "None, bool, int, float, str, bytes, an enum, a tuple, a named tuple, a frozenset or a frozen msgspec.Struct"


class ForeignValue(Exception):
    """A value of a kind that fields and messages may not hold."""

    def __init__(self, value: object) -> None:
        super().__init__(value)
        self.value = value

    def refusal(self, who: str) -> ProtocolBug:
        """The error that reports the value.

        `who` is the error message up to the value, for example "Vote.on_ask of process 2 left promised at".
        """
        found = article(type(self.value).__name__)
        return ProtocolBug(f"{who} {self.value!r}, {found}; expected {ALLOWED}", hint="use one of these kinds itself")


def identity(value: Any) -> Any:
    """A key that is equal for two values only if no code can distinguish them."""
    return (value, shape(value))


def shape(value: Any) -> Any:
    """The types inside a value, and the sign of zero. Raises `ForeignValue` if a type is not allowed."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return kind
    if kind is tuple:
        return (kind, shapes(value))
    if kind is float:
        return kind if value else (kind, copysign(1.0, value))
    if kind is frozenset:
        return (kind, frozenset([(part, shape(part)) for part in value]))
    if isinstance(value, Enum):
        return (kind, id(value))  # each member exists once
    if isinstance(value, msgspec.Struct) and kind.__struct_config__.frozen and not kind.__dictoffset__:
        return (kind, _parts(kind.__eq__ is msgspec.Struct.__eq__, msgspec.structs.astuple(value)))
    if isinstance(value, tuple) and hasattr(kind, "_fields") and not kind.__dictoffset__:
        return (kind, _parts(kind.__eq__ is tuple.__eq__, tuple(value)))
    raise ForeignValue(value)


def _parts(compared: bool, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part of a shape that distinguishes values with different parts.

    The shapes of the parts suffice if `__eq__` compares every part (`compared`); otherwise their identities are needed.
    """
    return shapes(values) if compared else tuple(map(identity, values))


def field_of(fields: dict[str, Any]) -> str:
    """The name of the first field that holds a foreign value, at any depth; empty if none does."""
    for name, value in fields.items():
        try:
            shape(value)
        except ForeignValue:
            return name
    return ""


def shapes(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape of each value. This runs for every new state, so most values take one lookup."""
    kinds = tuple(map(type, values))
    if _ATOMS.issuperset(kinds):
        return kinds
    return tuple([kind if kind in _ATOMS else _known_shape(value) for kind, value in zip(kinds, values, strict=True)])


_KNOWN: dict[int, tuple[Any, Any]] = {}
_MOST_KNOWN = 1 << 15


def _known_shape(value: Any) -> Any:
    """The shape of a value, cached by object, because a handler leaves most fields unchanged."""
    known = _KNOWN.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    found = shape(value)
    _KNOWN[id(value)] = value, found
    return found
