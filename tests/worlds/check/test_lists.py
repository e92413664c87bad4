"""The array operations on lists give what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy
import pytest

from vez.worlds.check.arrays import lists

OPERATIONS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda np, a, b, m: (a + b) * 3 - b // 4 % 5,
    "bits": lambda np, a, b, m: ((a & 6) | (b << 3)) >> 1,
    "compared": lambda np, a, b, m: (a == b) | (a != 3) & (a < b) | (b > 4) & (a >= 2),
    "mask": lambda np, a, b, m: ~m & (a > 2) | m,
    "chosen": lambda np, a, b, m: a[m],
    "looked up": lambda np, a, b, m: b[a % len(b)],
    "looked up by a list": lambda np, a, b, m: b[[0, 2, 1]],
    "slice": lambda np, a, b, m: a[1:4],
    "slice to the end": lambda np, a, b, m: a[2:],
    "a mask looked up": lambda np, a, b, m: m[a % len(m)],
    "flatnonzero": lambda np, a, b, m: np.flatnonzero(m),
    "flatnonzero of numbers": lambda np, a, b, m: np.flatnonzero(a),
    "where": lambda np, a, b, m: np.where(m, a, b),
    "where a number": lambda np, a, b, m: np.where(m, 0, b),
    "sort": lambda np, a, b, m: np.sort(a),
    "argsort": lambda np, a, b, m: np.argsort(a, kind="stable"),
    "searchsorted": lambda np, a, b, m: np.searchsorted(np.sort(a), b),
    "searchsorted right": lambda np, a, b, m: np.searchsorted(np.sort(a), b, "right"),
    "searchsorted two": lambda np, a, b, m: np.searchsorted(np.sort(a), (3, 4)),
    "bincount": lambda np, a, b, m: np.bincount(a, minlength=7),
    "unique": lambda np, a, b, m: np.concatenate(np.unique(a, return_index=True, return_inverse=True)),
    "unique alone": lambda np, a, b, m: np.unique(a),
    "divmod": lambda np, a, b, m: np.concatenate(np.divmod(a, 3)),
    "append": lambda np, a, b, m: np.append(True, a[1:] != a[:-1]),
    "append at the end": lambda np, a, b, m: np.append(a, 5),
    "made": lambda np, a, b, m: np.concatenate([np.zeros(3, dtype=np.int64), np.full(2, -1), np.arange(1, 4)]),
    "made of truth": lambda np, a, b, m: np.ones(len(a), dtype=bool) & np.array([True, *m[1:]], dtype=bool),
    "smallest": lambda np, a, b, m: np.array([a.min(), a.max(), int(a.sum()), int(m.sum()), a.size, len(a)]),
    "any": lambda np, a, b, m: np.array([m.any(), m.all(), a.any(), a.all()], dtype=bool),
    "copied": lambda np, a, b, m: a.copy().astype(np.int64).view(np.int64),
}


def set_slice(array: Any, other: Any, mask: Any) -> None:
    array[1:4] = other[1:4]
    array[4:] = 9


def or_slice(array: Any, other: Any, mask: Any) -> None:
    array[:] |= other


def set_chosen(array: Any, other: Any, mask: Any) -> None:
    array[mask] = 7
    array[~mask] = other[~mask]


def set_looked_up(array: Any, other: Any, mask: Any) -> None:
    array[other % len(array)] = 3
    array[[0, 1]] = 5
    array[2] = 6


def set_some_twice(array: Any, other: Any, mask: Any) -> None:
    """The last value stays."""
    array[other % 3] = array.copy()


ASSIGNMENTS = (set_slice, or_slice, set_chosen, set_looked_up, set_some_twice)


def given(random: Random) -> tuple[list[int], list[int], list[bool]]:
    size = random.randrange(5, 12)
    numbers = [[random.randrange(9) for _ in range(size)] for _ in range(2)]
    return numbers[0], numbers[1], [random.random() < 0.5 for _ in range(size)]


def arrays(np: Any, values: tuple[list[int], list[int], list[bool]]) -> list[Any]:
    kinds = (np.int64, np.int64, bool)
    return [np.array(some, dtype=kind) for some, kind in zip(values, kinds, strict=True)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_what_numpy_gives(name: str) -> None:
    random = Random(name)
    for _ in range(20):
        values = given(random)
        plain, true = (OPERATIONS[name](np, *arrays(np, values)) for np in (lists, numpy))
        assert plain.tolist() == true.tolist(), values
        assert plain.boolean == (true.dtype == bool)


@pytest.mark.parametrize("assign", ASSIGNMENTS)
def test_an_assignment_changes_what_numpy_changes(assign: Callable[[Any, Any, Any], None]) -> None:
    random = Random(assign.__name__)
    for _ in range(20):
        values = given(random)
        (plain, *others), (true, *same) = arrays(lists, values), arrays(numpy, values)
        assign(plain, *others)
        assign(true, *same)
        assert plain.tolist() == true.tolist(), values


def test_arrays_of_different_lengths_do_not_fit() -> None:
    """`map` would silently stop at the end of the shorter one."""
    with pytest.raises(ValueError, match="3 and 2"):
        lists.arange(3) + lists.arange(2)


def test_numbers_have_no_width() -> None:
    assert (lists.full(1, 1) << 200).tolist() == [1 << 200]
