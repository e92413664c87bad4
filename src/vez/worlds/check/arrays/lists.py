"""Lists: the array operations of the checker, on Python lists, for Python without NumPy.

It has only what the checker uses, with NumPy's names and meaning. There are two differences. Numbers have no fixed
width; of the types only truth values count, because a mask selects and numbers look up. And a slice is a copy.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import compress, repeat
from typing import Any


class ndarray:
    """A one-dimensional array."""

    __slots__ = ("boolean", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: list[Any], boolean: bool = False) -> None:
        self.values = values
        self.boolean = boolean
        """True if the values are truth values, so that indexing with them chooses."""

    def __class_getitem__(cls, _: Any) -> type[ndarray]:
        return cls

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def dtype(self) -> type:
        return bool if self.boolean else int

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    # Reading and writing elements.

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return self.values[key]
        if isinstance(key, slice):
            found = self.values[key]
        elif isinstance(key, ndarray) and key.boolean:
            found = list(compress(self.values, key.values))
        else:
            found = list(map(self.values.__getitem__, key))
        return ndarray(found, self.boolean)

    def __setitem__(self, key: Any, value: Any) -> None:
        values = self.values
        if isinstance(key, slice):
            low, high, _ = key.indices(len(values))
            values[low:high] = value.values if isinstance(value, ndarray) else repeat(value, high - low)
            return
        if isinstance(key, int):
            values[key] = value
            return
        places: Iterable[int] = key
        if isinstance(key, ndarray):
            places = compress(range(len(values)), key.values) if key.boolean else key.values
        if isinstance(value, ndarray):
            for place, one in zip(places, value.values, strict=True):
                values[place] = one
        else:
            for place in places:
                values[place] = value

    # Arithmetic, comparisons and logic, element by element.

    def _with(self, other: Any, operation: Callable[[Any, Any], Any], boolean: bool = False) -> ndarray:
        if isinstance(other, ndarray):
            if len(other.values) != len(self.values):
                raise ValueError(f"arrays of {len(self.values)} and {len(other.values)} elements")
            return ndarray(list(map(operation, self.values, other.values)), boolean)
        return ndarray(list(map(operation, self.values, repeat(other))), boolean)

    def __add__(self, other: Any) -> ndarray:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> ndarray:
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> ndarray:
        return self._with(other, operator.mul)

    def __floordiv__(self, other: Any) -> ndarray:
        return self._with(other, operator.floordiv)

    def __mod__(self, other: Any) -> ndarray:
        return self._with(other, operator.mod)

    def __lshift__(self, other: Any) -> ndarray:
        return self._with(other, operator.lshift)

    def __rshift__(self, other: Any) -> ndarray:
        return self._with(other, operator.rshift)

    def __and__(self, other: Any) -> ndarray:
        return self._with(other, operator.and_, self.boolean)

    def __or__(self, other: Any) -> ndarray:
        return self._with(other, operator.or_, self.boolean)

    def __invert__(self) -> ndarray:
        return ndarray(list(map(operator.not_, self.values)), True)

    def __eq__(self, other: object) -> ndarray:  # type: ignore[override]
        return self._with(other, operator.eq, True)

    def __ne__(self, other: object) -> ndarray:  # type: ignore[override]
        return self._with(other, operator.ne, True)

    def __lt__(self, other: Any) -> ndarray:
        return self._with(other, operator.lt, True)

    def __gt__(self, other: Any) -> ndarray:
        return self._with(other, operator.gt, True)

    def __ge__(self, other: Any) -> ndarray:
        return self._with(other, operator.ge, True)

    # The whole array.

    def min(self) -> Any:
        return min(self.values)

    def max(self) -> Any:
        return max(self.values)

    def sum(self) -> int:
        return sum(self.values)

    def any(self) -> bool:
        return any(self.values)

    def all(self) -> bool:
        return all(self.values)

    def tolist(self) -> list[Any]:
        return list(self.values)

    def copy(self) -> ndarray:
        return ndarray(self.tolist(), self.boolean)

    def astype(self, _: Any) -> ndarray:
        return self

    def view(self, _: Any) -> ndarray:
        return self


class dtype:
    """The type of elements, for annotations."""

    def __class_getitem__(cls, _: Any) -> type[dtype]:
        return cls


int32 = int64 = uint64 = int


def array(values: Iterable[Any], dtype: type = int) -> ndarray:
    return ndarray(list(values), dtype is bool)


def full(size: int, value: Any, dtype: type = int) -> ndarray:
    return ndarray([value] * size, dtype is bool)


def zeros(size: int, dtype: type = int) -> ndarray:
    return full(size, dtype(0), dtype)


def ones(size: int, dtype: type = int) -> ndarray:
    return full(size, dtype(1), dtype)


def arange(*bounds: int) -> ndarray:
    return ndarray(list(range(*bounds)))


def concatenate(parts: Iterable[ndarray]) -> ndarray:
    joined, boolean = [], False
    for part in parts:
        joined += part.values
        boolean = part.boolean
    return ndarray(joined, boolean)


def append(first: Any, rest: Any) -> ndarray:
    parts = [part if isinstance(part, ndarray) else ndarray([part], isinstance(part, bool)) for part in (first, rest)]
    return concatenate(parts)


def flatnonzero(values: ndarray) -> ndarray:
    return ndarray(list(compress(range(len(values.values)), values.values)))


def where(mask: ndarray, one: Any, other: Any) -> ndarray:
    first, second = (some.values if isinstance(some, ndarray) else repeat(some) for some in (one, other))
    return ndarray([left if chosen else right for chosen, left, right in zip(mask.values, first, second, strict=False)])


def sort(values: ndarray) -> ndarray:
    return ndarray(sorted(values.values), values.boolean)


def argsort(values: ndarray, kind: str = "stable") -> ndarray:
    return ndarray(sorted(range(len(values.values)), key=values.values.__getitem__))


def searchsorted(values: ndarray, wanted: Iterable[Any], side: str = "left") -> ndarray:
    find = bisect_left if side == "left" else bisect_right
    return ndarray([find(values.values, one) for one in wanted])


def divmod(values: ndarray, divisor: int) -> tuple[ndarray, ndarray]:
    return values // divisor, values % divisor


def bincount(values: ndarray, minlength: int = 0) -> ndarray:
    counts = [0] * max(minlength, max(values.values, default=-1) + 1)
    for value in values.values:
        counts[value] += 1
    return ndarray(counts)


def unique(values: ndarray, return_index: bool = False, return_inverse: bool = False) -> Any:
    places: dict[Any, int] = {}
    for place, value in enumerate(values.values):
        places.setdefault(value, place)
    ordered = sorted(places)
    number = {value: rank for rank, value in enumerate(ordered)}
    found = [ndarray(ordered)]
    if return_index:
        found.append(ndarray([places[value] for value in ordered]))
    if return_inverse:
        found.append(ndarray([number[value] for value in values.values]))
    return tuple(found) if len(found) > 1 else found[0]
