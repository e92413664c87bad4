"""Dict store: the set of visited states, in a dict, for Python without NumPy.

A state is one whole number of any size, into which its columns are packed.
"""

from __future__ import annotations

import sys
from array import array

from vez.worlds.check.arrays import Numbers, Words, np
from vez.worlds.check.search.columns import Columns

ROOMY = 16
"""The number of bits that a column has at first. Bits cost nothing here, but packing again does."""
PER_STATE = 36 + 32 + 8 + 4
"""Bytes for the number of a state, its place in the list and its parent; its word and the dict are counted exactly."""


class DictStore(Columns):
    """The set of visited states, in a dict."""

    word_bits = float("inf")

    def __init__(self) -> None:
        super().__init__(array("I"))
        self._numbers: dict[int, int] = {}

    def add_column(self, bits: int) -> int:
        return super().add_column(max(bits, ROOMY))

    def insert(self, candidates: Words, parents: Numbers) -> Numbers:
        """Add the new candidates. Returns the state number of every candidate."""
        (words,), parent_of = candidates, self.parents
        kept: list[int] = self.words[0].values  # type: ignore[attr-defined] # an array of `arrays.lists`
        number_of, found = self._numbers.setdefault, []
        for word, parent in zip(words, parents, strict=True):
            number = number_of(word, len(kept))
            if number == len(kept):
                kept.append(word)
                parent_of.append(parent)
            found.append(number)
        self.count = len(kept)
        return np.array(found, dtype=np.int64)

    def values(self, words: Words, place: int) -> Numbers:
        column = self.columns[place]
        shift, mask = column.shift, column.mask
        return np.array([(word >> shift) & mask for word in words[0]], dtype=np.int64)

    def growth(self, more: int) -> int:
        slots = 8
        while 2 * slots < 3 * self.count:
            slots *= 2
        table = 80 * slots if 3 * (self.count + more) > 2 * slots else 0  # the new one has twice the slots
        return table + more * (sys.getsizeof(1 << sum(self._used)) + PER_STATE)

    def bytes_used(self) -> int:
        """Memory of the stored states, about."""
        word = sys.getsizeof(1 << sum(self._used))
        return sys.getsizeof(self._numbers) + self.count * (PER_STATE + word)

    def _rehash(self) -> None:
        self._numbers = dict(zip(self.words[0], range(self.count), strict=False))
