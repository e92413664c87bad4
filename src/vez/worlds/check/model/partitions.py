"""Partitions: the sets of cuts that may be in force at once, as numbers.

0 is a network without cuts. Single cuts follow in the order of the configuration, then sets of two and more. Each cut
of a set heals by itself, so two sets that cut the same channels are still different. A cut in force is not made again,
because that would be the same as a longer cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

from vez.errors import Misuse

MOST = 50_000
"""The largest number of sets of cuts. The search has a table with a row for each set."""


class Partitions:
    """Every set of at most `most` cuts. A cut is a set of channels."""

    def __init__(self, cuts: Sequence[frozenset[int]], most: int) -> None:
        most = min(most, len(cuts))
        count = sum(comb(len(cuts), size) for size in range(most + 1))
        if count > MOST:
            raise Misuse(
                f"{len(cuts)} ways to cut the network, up to {most} of them at once, are {count:,} sets",
                hint="name those that may happen with --partition or --cut",
            )
        numbers = range(1, len(cuts) + 1)
        self.sets = tuple(members for size in range(most + 1) for members in combinations(numbers, size))
        self.channels = tuple(frozenset[int]().union(*(cuts[cut - 1] for cut in members)) for members in self.sets)
        """The cut channels, by the number of a set."""
        self.number = {members: number for number, members in enumerate(self.sets)}
        self.count = len(cuts)

    def heals(self, number: int) -> list[tuple[int, int]]:
        """Each cut in force, with the number of the set after it heals."""
        members = self.sets[number]
        return [(cut, self.number[tuple(other for other in members if other != cut)]) for cut in members]

    def cuts(self, number: int) -> list[tuple[int, int]]:
        """Each cut that can be made, with the number of the set after it."""
        members = self.sets[number]
        grown = [(cut, tuple(sorted((*members, cut)))) for cut in range(1, self.count + 1) if cut not in members]
        return [(cut, self.number[after]) for cut, after in grown if after in self.number]
