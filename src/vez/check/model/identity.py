"""Identity: two values are one only if they are equal and of the same types, all the way down.

Python says that 1 == True == 1.0, and that 0.0 == -0.0. A handler can tell them apart (`is not False`, `type`, `repr`,
division), so states in which they differ are different states.
"""

from __future__ import annotations

from math import copysign
from typing import Any

import msgspec

_ATOMS = frozenset({int, str, bool, bytes, type(None)})


def identity(value: Any) -> Any:
    """A key that is equal for two values only if nothing can tell them apart."""
    return (value, shape(value))


def shape(value: Any) -> Any:
    """The types inside a value, and the sign of zero. Every new state passes here, so most values take one look."""
    kind = type(value)
    if kind in _ATOMS:
        return kind
    if isinstance(value, tuple):
        return _shape_of_all(kind, value)
    if isinstance(value, msgspec.Struct):
        return _shape_of_all(kind, msgspec.structs.astuple(value))
    if isinstance(value, frozenset):
        return (kind, frozenset([(part, shape(part)) for part in value]))
    if kind is float and not value:
        return (kind, copysign(1.0, value))
    return kind


def _shape_of_all(kind: type, values: tuple[Any, ...]) -> tuple[Any, ...]:
    kinds = tuple(map(type, values))
    return (kind, kinds if _ATOMS.issuperset(kinds) else tuple(map(shape, values)))
