"""Identity: two values are one only if they are equal and of the same types, all the way down.

Python says that 1 == True == 1.0, and that 0.0 == -0.0. A handler can tell them apart (`is not False`, `type`, `repr`,
division), so states in which they differ are different states. A class may also define `__eq__` itself and leave a part
out, so what such a value holds is compared part by part.
"""

from __future__ import annotations

from enum import Enum
from math import copysign
from typing import Any

import msgspec

_ATOMS = frozenset({int, str, bool, bytes, type(None)})
_COMPLETE: frozenset[Any] = frozenset(
    kind.__eq__
    for kind in (object, int, str, float, bytes, tuple, frozenset, msgspec.Struct)  # bool has that of int
)
"""The `__eq__` that compare all of a value."""


def identity(value: Any) -> Any:
    """A key that is equal for two values only if nothing can tell them apart."""
    return (value, shape(value))


def shape(value: Any) -> Any:
    """The types inside a value, and the sign of zero."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return kind
    if kind.__eq__ not in _COMPLETE:
        return (kind, _parts(value))
    if isinstance(value, tuple):
        return (kind, shapes(value))
    if isinstance(value, msgspec.Struct):
        return (kind, shapes(msgspec.structs.astuple(value)))
    if isinstance(value, frozenset):
        return (kind, frozenset([(part, shape(part)) for part in value]))
    if kind is float and not value:
        return (kind, copysign(1.0, value))
    return kind


def _parts(value: Any) -> Any:
    """All that a value of a class with its own `__eq__` holds, without that `__eq__`."""
    if isinstance(value, Enum):
        return id(value)  # each member exists once
    if isinstance(value, msgspec.Struct):
        return tuple(map(identity, msgspec.structs.astuple(value)))
    if isinstance(value, tuple):
        return tuple(map(identity, value))
    if isinstance(value, frozenset):
        return frozenset(map(identity, value))
    return next((plain.__repr__(value) for plain in (int, str, float, bytes) if isinstance(value, plain)), None)


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
