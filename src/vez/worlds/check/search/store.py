"""Store: the set of visited states, exact and small, with NumPy.

States are compared by their words, not by a hash, so no state can be overlooked.
Membership is an open-addressing table of state numbers, probed for a whole batch of candidates at once.
"""

from __future__ import annotations

from typing import Any

from vez.worlds.check.arrays import Numbers, Words, np
from vez.worlds.check.search.columns import Columns

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64)
_FIRST_CAPACITY = 1 << 14
INSERTING = 80
"""Bytes for each candidate while its place is looked for: hash, slot, occupant and number."""


class Store(Columns):
    """The set of visited states, in NumPy arrays."""

    def __init__(self) -> None:
        super().__init__(np.zeros(_FIRST_CAPACITY, dtype=np.uint32))
        self._table = np.full(2 * _FIRST_CAPACITY, -1, dtype=np.int32)

    def insert(self, candidates: Words, parents: Numbers) -> Numbers:
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

    def growth(self, more: int) -> int:
        need, width = self.count + more, len(self.words)
        arrays = self._capacity(need) * (8 * width + 4) if need > len(self.parents) else 0
        table = 16 * need if 2 * need > len(self._table) else 0
        return arrays + table + more * (8 * width + INSERTING)

    def bytes_used(self) -> int:
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
            capacity = self._capacity(need)
            self.words = [_grown(word, capacity, self.count) for word in self.words]
            self.parents = _grown(self.parents, capacity, self.count)
        if 2 * need > len(self._table):
            size = len(self._table)
            while size < 2 * need:
                size *= 2
            self._table = np.full(size, -1, dtype=np.int32)
            self._rehash()

    def _capacity(self, need: int) -> int:
        return max(need, len(self.parents) + (len(self.parents) >> 1))

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
