"""Partitions: the cuts that may be in force at once, as numbers.

0 is a whole network, then come single cuts in the order of the configuration, then sets of two and more. Each cut of a
set heals by itself, so sets that cut the same channels are not the same. A cut that is in force is not made again: that
would be the same as to let it last longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

from vez.errors import Misuse

MOST = 50_000
"""Sets of cuts. The search has a table with a row for each of them."""


class Partitions:
    """Every set of at most `most` cuts; a cut is the set of the channels that it cuts."""

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
        """The channels that are cut, by the number of a set."""
        self.number = {members: number for number, members in enumerate(self.sets)}
        self.count = len(cuts)

    def heals(self, number: int) -> list[tuple[int, int]]:
        """Each cut in force, with the set that is left when it heals."""
        members = self.sets[number]
        return [(cut, self.number[tuple(other for other in members if other != cut)]) for cut in members]

    def cuts(self, number: int) -> list[tuple[int, int]]:
        """Each cut that can be made, with the set that is in force then."""
        members = self.sets[number]
        grown = [(cut, tuple(sorted((*members, cut)))) for cut in range(1, self.count + 1) if cut not in members]
        return [(cut, self.number[after]) for cut, after in grown if after in self.number]
