"""Store: the set of visited states, exact and small.

A state is a few 64-bit words into which the columns (local states, channel contents, budgets) are packed.
States are compared by their words, not by a hash, so no state can be overlooked. A column starts narrow;
when a number does not fit any more, all states are packed again with wider columns.

Membership is an open-addressing table of state numbers, probed for a whole batch of candidates at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Words = list[np.ndarray[Any, np.dtype[np.uint64]]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64)
_FIRST_CAPACITY = 1 << 14


class ColumnOverflow(Exception):
    """A number does not fit into its column; the columns must be widened and the batch repeated."""


class Column:
    """Position of one part of the state in the words."""

    __slots__ = ("bits", "mask", "shift", "word")

    def __init__(self, word: int, shift: int, bits: int) -> None:
        self.word = word
        self.shift = np.uint64(shift)
        self.bits = bits
        self.mask = np.uint64((1 << bits) - 1)


class Store:
    """Visited states in the order of discovery, each with the state from which it was found."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.count = 0
        self.words: Words = []
        self.parents = np.zeros(_FIRST_CAPACITY, dtype=np.uint32)
        self.settle: Callable[[], None] = lambda: None
        """Called before the layout changes, because no thread may insert during that."""
        self._used: list[int] = []  # bits taken in each word
        self._table = np.full(2 * _FIRST_CAPACITY, -1, dtype=np.int32)

    def add_column(self, bits: int) -> int:
        """A new column; it is 0 in every state found so far."""
        self.settle()
        word = next((word for word, used in enumerate(self._used) if used + bits <= 64), len(self._used))
        if word == len(self._used):
            self._used.append(0)
            self.words.append(np.zeros(len(self.parents), dtype=np.uint64))
            self._rehash()
        self.columns.append(Column(word, self._used[word], bits))
        self._used[word] += bits
        return len(self.columns) - 1

    def widen(self, place: int, bits: int) -> None:
        """Give a column more bits, and pack every state again."""
        self.settle()
        old_columns, old_words, count = self.columns, self.words, self.count
        before = [column.bits for column in old_columns]
        widths = [*before[:place], bits, *before[place + 1 :]]
        alike = [bits if width == before[place] else width for width in before]
        if _words_for(alike) == _words_for(widths):  # columns of the same width will soon be too narrow too
            widths = alike
        self.columns, self._used, self.words = [], [], []
        self.count = 0
        for bits in widths:
            self.add_column(bits)
        self.count = count
        for new, old in zip(self.columns, old_columns, strict=True):
            value = (old_words[old.word][:count] >> old.shift) & old.mask
            self.words[new.word][:count] |= value << new.shift
        self._rehash()

    def values(self, words: Words, place: int) -> Numbers:
        """One column of some states."""
        column = self.columns[place]
        value: Numbers = ((words[column.word] >> column.shift) & column.mask).view(np.int64)
        return value

    def slice(self, low: int, high: int) -> Words:
        """The words of a range of states."""
        return [word[low:high] for word in self.words]

    def insert(self, candidates: Words, parents: Numbers) -> Numbers:
        """Add the new candidates. Returns the state number of every candidate."""
        size, base = len(parents), self.count
        self._reserve(size)
        for word, candidate in zip(self.words, candidates, strict=True):
            word[base : base + size] = candidate  # so that candidates can be compared with one another
        mask = len(self._table) - 1
        slots = (_mix(candidates) & np.uint64(mask)).view(np.int64)
        found = self._occupants(slots, np.arange(base, base + size))
        pending = self._differing(found, candidates)
        while pending.size:
            at = (slots[pending] + 1) & mask
            slots[pending] = at
            found[pending] = occupants = self._occupants(at, base + pending)
            pending = pending[self._differing(occupants, [candidate[pending] for candidate in candidates])]
        return self._keep(candidates, parents, found, slots)

    def _occupants(self, slots: Numbers, numbers: Numbers) -> Numbers:
        """The states in these slots. A candidate takes an empty slot; the first of several candidates gets it."""
        occupants = self._table.take(slots).astype(np.int64)
        empty = np.flatnonzero(occupants < 0)
        if empty.size:
            wanted = slots[empty]
            self._table[wanted[::-1]] = numbers[empty[::-1]]  # the last to be written stays
            occupants[empty] = self._table[wanted]
        return occupants

    def _differing(self, numbers: Numbers, candidates: Words) -> Numbers:
        """True where a state differs from its candidate."""
        differ = self.words[0].take(numbers) != candidates[0]
        for word, candidate in zip(self.words[1:], candidates[1:], strict=True):
            differ |= word.take(numbers) != candidate
        return np.flatnonzero(differ)

    def bytes_used(self) -> int:
        """Memory of the stored states, with the table and the parents."""
        return int(self.parents.nbytes + self._table.nbytes + sum(word.nbytes for word in self.words))

    def _keep(self, candidates: Words, parents: Numbers, found: Numbers, slots: Numbers) -> Numbers:
        """Append the new candidates, and number all candidates accordingly."""
        base = self.count
        late = np.flatnonzero(found >= base)
        offsets = found[late] - base
        winners = late[np.flatnonzero(offsets == late)]
        numbers = np.arange(base, base + winners.size)
        for word, candidate in zip(self.words, candidates, strict=True):
            word[base : base + winners.size] = candidate[winners]
        self.parents[base : base + winners.size] = parents[winners]
        self._table[slots[winners]] = numbers
        rank = np.empty(len(found), dtype=np.int64)
        rank[winners] = numbers
        found[late] = rank[offsets]
        self.count = base + winners.size
        return found

    def _reserve(self, more: int) -> None:
        need = self.count + more
        if need > len(self.parents):
            capacity = max(need, len(self.parents) + (len(self.parents) >> 1))
            self.words = [_grown(word, capacity, self.count) for word in self.words]
            self.parents = _grown(self.parents, capacity, self.count)
        if 2 * need > len(self._table):
            size = len(self._table)
            while size < 2 * need:
                size *= 2
            self._table = np.full(size, -1, dtype=np.int32)
            self._rehash()

    def _rehash(self) -> None:
        """Fill the table again. All states differ, so only free slots matter."""
        self._table.fill(-1)
        table, mask = self._table, len(self._table) - 1
        for low in range(0, self.count, 1 << 18):
            high = min(self.count, low + (1 << 18))
            slots = (_mix(self.slice(low, high)) & np.uint64(mask)).view(np.int64)
            pending = np.arange(high - low)
            while pending.size:
                at = slots[pending]
                free = pending[table[at] < 0]
                table[slots[free]] = low + free
                pending = pending[table[at] != low + pending]
                slots[pending] = (slots[pending] + 1) & mask


def distinct(values: Numbers) -> list[int]:
    """The distinct values, in ascending order. (np.unique would import numpy.ma first, which takes longer.)"""
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])].tolist() if len(values) else []


def _words_for(widths: list[int]) -> int:
    """The number of words that the columns need if each is put into the first word with room."""
    used: list[int] = []
    for bits in widths:
        word = next((word for word, taken in enumerate(used) if taken + bits <= 64), len(used))
        used[word : word + 1] = [bits + (used[word] if word < len(used) else 0)]
    return len(used)


def _mix(words: Words) -> np.ndarray[Any, np.dtype[np.uint64]]:
    mixed: np.ndarray[Any, np.dtype[np.uint64]] = words[0] * _ODD[0]
    for place, word in enumerate(words[1:], 1):
        mixed ^= mixed >> np.uint64(29)
        mixed += word
        mixed *= _ODD[place % len(_ODD)]
    mixed ^= mixed >> np.uint64(32)
    mixed *= _ODD[1]
    mixed ^= mixed >> np.uint64(29)
    return mixed


def _grown(array: Any, capacity: int, count: int) -> Any:
    grown = np.zeros(capacity, dtype=array.dtype)
    grown[:count] = array[:count]
    return grown
