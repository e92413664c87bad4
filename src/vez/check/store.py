"""Store: the set of visited states, exact and small.

A state is a few 64-bit words into which the columns (local states, channel contents, budgets) are packed.
The words are the identity: nothing is hashed away, so no state can be overlooked. A column starts narrow;
when a number does not fit any more, all states are packed anew with wider columns.

Membership is an open-addressing table of state numbers, probed for a whole batch of candidates at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Words = list[np.ndarray[Any, np.dtype[np.uint64]]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64)
_FIRST_CAPACITY = 1 << 14


class ColumnOverflow(Exception):
    """A number does not fit into its column: pack anew, then repeat the batch."""


class Column:
    """Where one part of the state lies."""

    __slots__ = ("bits", "mask", "shift", "word")

    def __init__(self, word: int, shift: int, bits: int) -> None:
        self.word = word
        self.shift = np.uint64(shift)
        self.bits = bits
        self.mask = np.uint64((1 << bits) - 1)


class Store:
    """Visited states, in the order in which they were found, each with the one it was found from."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.count = 0
        self.words: Words = []
        self.parents = np.zeros(_FIRST_CAPACITY, dtype=np.uint32)
        self._used: list[int] = []  # bits taken in each word
        self._table = np.full(2 * _FIRST_CAPACITY, -1, dtype=np.int32)

    def add_column(self, bits: int) -> int:
        """A new column; it is 0 in every state found so far."""
        word = next((word for word, used in enumerate(self._used) if used + bits <= 64), len(self._used))
        if word == len(self._used):
            self._used.append(0)
            self.words.append(np.zeros(len(self.parents), dtype=np.uint64))
            self._rehash()
        self.columns.append(Column(word, self._used[word], bits))
        self._used[word] += bits
        return len(self.columns) - 1

    def widen(self, wanted: dict[int, int]) -> None:
        """Give columns more bits, and pack every state anew."""
        old_columns, old_words, count = self.columns, self.words, self.count
        widths = [max(column.bits, wanted.get(place, 0)) for place, column in enumerate(old_columns)]
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
        """Add those that are new. Returns the number of every candidate's state."""
        size, base = len(parents), self.count
        self._reserve(size)
        for word, candidate in zip(self.words, candidates, strict=True):
            word[base : base + size] = candidate  # so that candidates can be compared with one another
        table, mask = self._table, len(self._table) - 1
        slots = (_mix(candidates) & np.uint64(mask)).view(np.int64)
        found = np.empty(size, dtype=np.int64)
        pending = np.arange(size)
        while pending.size:
            at = slots[pending]
            occupant = table[at]
            empty = np.flatnonzero(occupant < 0)
            if empty.size:
                first = pending[empty][::-1]  # of equal candidates the first one stays: the last to be written
                table[slots[first]] = base + first
                occupant = table[at]
            same = self.words[0][occupant] == candidates[0][pending]
            for word, candidate in zip(self.words[1:], candidates[1:], strict=True):
                same &= word[occupant] == candidate[pending]
            found[pending[same]] = occupant[same]
            pending = pending[~same]
            slots[pending] = (slots[pending] + 1) & mask
        return self._keep(candidates, parents, found, slots)

    def bytes_used(self) -> int:
        """Memory of the stored states, with the table and the parents."""
        return int(self.parents.nbytes + self._table.nbytes + sum(word.nbytes for word in self.words))

    def _keep(self, candidates: Words, parents: Numbers, found: Numbers, slots: Numbers) -> Numbers:
        base, size = self.count, len(parents)
        fresh = found == np.arange(base, base + size)
        winners = np.flatnonzero(fresh)
        for word, candidate in zip(self.words, candidates, strict=True):
            word[base : base + winners.size] = candidate[winners]
        self.parents[base : base + winners.size] = parents[winners]
        self._table[slots[winners]] = np.arange(base, base + winners.size)
        self.count = base + winners.size
        rank = np.cumsum(fresh) - 1
        later = found >= base
        found[later] = base + rank[found[later] - base]
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
        """Fill the table anew; all states differ, so only free slots matter."""
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
