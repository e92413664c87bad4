"""Identity: two values are one only if they are equal and of the same types, all the way down.

Python says that 1 == True == 1.0, and that 0.0 == -0.0. A handler can tell them apart (`is not False`, `type`, `repr`,
division), so states in which they differ are different states.
"""

from __future__ import annotations

from math import copysign
from typing import Any

import msgspec

_PLAIN = frozenset({int, str, bytes, type(None)})


def identity(value: Any) -> Any:
    """A key that is equal for two values only if nothing can tell them apart."""
    return (value, _shape(value))


def _shape(value: Any) -> Any:
    """The types inside a value, and the sign of zero."""
    kind = type(value)
    if kind in _PLAIN:
        return kind
    if kind is float:
        return (kind, copysign(1.0, value)) if value == 0 else kind
    if isinstance(value, tuple):
        return (kind, *map(_shape, value))
    if isinstance(value, frozenset):
        return (kind, frozenset((part, _shape(part)) for part in value))
    if isinstance(value, msgspec.Struct):
        return (kind, *(_shape(getattr(value, name)) for name in value.__struct_fields__))
    return kind
