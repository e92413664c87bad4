"""Columns: states packed into words, exact and small.

A column is one part of the state: a local state, the contents of a channel, a budget. It starts narrow; when a number
does not fit any more, all states are packed again with wider columns.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any

from vez.worlds.check.arrays import Numbers, Words, np


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


class Columns:
    """States in the order of discovery, each with the state from which it was found."""

    word_bits: float = 64

    def __init__(self, parents: MutableSequence[int] | Numbers) -> None:
        self.columns: list[Column] = []
        self.count = 0
        self.words: Words = []
        self.parents: Any = parents
        self.settle: Callable[[], None] = lambda: None
        """Called before the layout changes, because no thread may insert during that."""
        self._used: list[int] = []  # bits taken in each word

    def add_column(self, bits: int) -> int:
        """A new column; it is 0 in every state found so far."""
        self.settle()
        word = next((word for word, used in enumerate(self._used) if used + bits <= self.word_bits), len(self._used))
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
        if self._words_for(alike) == self._words_for(widths):  # columns of the same width will soon be too narrow too
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

    def way_to(self, state: int) -> list[int]:
        """A shortest path from an initial state to this one."""
        way = [state]
        while int(self.parents[way[-1]]) != way[-1]:
            way.append(int(self.parents[way[-1]]))
        return way[::-1]

    def insert(self, candidates: Words, parents: Numbers) -> Numbers:
        """Add the new candidates. Returns the state number of every candidate."""
        raise NotImplementedError

    def growth(self, more: int) -> int:
        """The most bytes that inserting so many candidates may allocate."""
        raise NotImplementedError

    def bytes_used(self) -> int:
        """Memory of the stored states, with what finds them and the parents."""
        raise NotImplementedError

    def _rehash(self) -> None:
        """Note that the words of all states have changed."""
        raise NotImplementedError

    def _words_for(self, widths: list[int]) -> int:
        """The number of words that the columns need if each is put into the first word with room."""
        used: list[int] = []
        for bits in widths:
            word = next((word for word, taken in enumerate(used) if taken + bits <= self.word_bits), len(used))
            used[word : word + 1] = [bits + (used[word] if word < len(used) else 0)]
        return len(used)
