"""Arrays: the part of NumPy that the checker uses, from NumPy, or from `lists` where NumPy is not installed.

The checker is written once, with array operations. `lists` has the same operations on Python lists. So both searches
find the same states in the same order, and the same runs; only their speed differs (docs/decisions/checker.md).
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    PLAIN = False
else:
    PLAIN = os.environ.get("VEZ_NUMPY") == "0"
    if not PLAIN:
        try:
            import numpy as np
        except ImportError:
            PLAIN = True
    if PLAIN:
        from vez.worlds.check.arrays import lists as np

__all__ = ["PLAIN", "Mask", "Numbers", "Words", "compact", "distinct", "np"]

Words = list[np.ndarray[Any, np.dtype[np.uint64]]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Mask = Any


def compact(code: str, numbers: Any) -> array[int]:
    """The numbers as an array of the standard library, which loops read faster."""
    return array(code, numbers.tolist()) if PLAIN else array(code, numbers.astype(code).tobytes())


def distinct(values: Numbers) -> list[int]:
    """The distinct values, in ascending order. (np.unique would import numpy.ma first, which takes longer.)"""
    if PLAIN:
        return sorted(set(values))
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])].tolist() if len(values) else []
