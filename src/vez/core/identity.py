"""Identity: two values are one only if they are equal and of the same types, all the way down.

Python says that 1 == True == 1.0, and that 0.0 == -0.0. A handler can tell them apart (`is not False`, `type`, `repr`,
division), so states in which they differ are different states. A class may also define `__eq__` itself and leave a part
out, so what such a value holds is compared part by part. That is possible only for kinds whose parts are known: those
that docs/reference/core.md allows. Any other value is refused, for its `__eq__` may hide something:
Decimal("1.0") == Decimal("1.00").
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
        """What is wrong; `who` did what: "Vote.on_ask of process 2 left promised at"."""
        found = article(type(self.value).__name__)
        return ProtocolBug(f"{who} {self.value!r}, {found}; expected {ALLOWED}", hint="use one of these kinds itself")


def identity(value: Any) -> Any:
    """A key that is equal for two values only if nothing can tell them apart."""
    return (value, shape(value))


def shape(value: Any) -> Any:
    """The types inside a value, and the sign of zero. Raises `ForeignValue` if there is one that may not be there."""
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
    """What tells two values with these parts apart, beside an `__eq__` that compares all of them, or does not."""
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
    """The shape of each value. Every new state passes here, so most values take one look."""
    kinds = tuple(map(type, values))
    if _ATOMS.issuperset(kinds):
        return kinds
    return tuple([kind if kind in _ATOMS else _known_shape(value) for kind, value in zip(kinds, values, strict=True)])


_KNOWN: dict[int, tuple[Any, Any]] = {}
_MOST_KNOWN = 1 << 15


def _known_shape(value: Any) -> Any:
    """The shape of a value, remembered for the object: a handler leaves most of the fields as they were."""
    known = _KNOWN.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    found = shape(value)
    _KNOWN[id(value)] = value, found
    return found
