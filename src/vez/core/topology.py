"""Topologies: who has a channel to whom.

A topology is made from the identifiers of the processes, in the order in which they stand (round a ring,
row by row in a grid). Neighbours come in ascending order, so that nothing depends on the order of a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isqrt
from typing import ClassVar

from vez.errors import Misuse, ProtocolBug


class Topology:
    """The base: identifiers in standing order, and what every process may ask."""

    name: ClassVar[str] = ""
    __slots__ = ("_index", "ids")

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = tuple(ids)
        if not self.ids:
            raise Misuse("a topology needs at least one process")
        self._index = {process: index for index, process in enumerate(self.ids)}
        if len(self._index) != len(self.ids):
            twice = sorted(process for process in self._index if self.ids.count(process) > 1)
            raise Misuse(f"identifiers must be unique, found {twice} more than once")

    def neighbours(self, process: int) -> tuple[int, ...]:
        """Those to whom the process has a channel, ascending."""
        raise NotImplementedError  # pragma: no cover - every topology below says

    def peers(self, process: int) -> tuple[int, ...]:
        """All others, ascending."""
        return tuple(sorted(other for other in self.ids if other != process))

    def right(self, process: int) -> int:
        """The next in standing order, the last wrapping to the first."""
        return self.ids[(self._index[process] + 1) % len(self.ids)]

    def left(self, process: int) -> int:
        """The previous in standing order."""
        return self.ids[self._index[process] - 1]

    @property
    def hub(self) -> int:
        """The first in standing order."""
        return self.ids[0]

    def has_process(self, process: int) -> bool:
        """Whether there is a process with this identifier."""
        return process in self._index

    def has_channel(self, process: int, other: int) -> bool:
        """Whether a message from one to the other can be sent at all."""
        return other in self.neighbours(process)

    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every channel, for pictures."""
        return tuple((process, other) for process in self.ids for other in self.neighbours(process))


class Complete(Topology):
    """Everybody has a channel to everybody."""

    name = "complete"
    __slots__ = ()

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self.peers(process)

    def has_channel(self, process: int, other: int) -> bool:
        return other in self._index


class Ring(Complete):
    """A logical ring: messages go to the right, further right only past neighbours that are dead."""

    name = "ring"
    __slots__ = ()

    def neighbours(self, process: int) -> tuple[int, ...]:
        return (self.right(process),)

    def left(self, process: int) -> int:
        raise ProtocolBug(
            f"process {process} asked for io.left, but messages of this ring go to the right only",
            hint="use io.right, or topology = BidirectionalRing",
        )


class BidirectionalRing(Ring):
    """A logical ring in which messages go both ways."""

    name = "ring2"
    __slots__ = ()
    left = Topology.left

    def neighbours(self, process: int) -> tuple[int, ...]:
        return tuple(sorted({self.left(process), self.right(process)} - {process}))


class Star(Topology):
    """A hub, the first process, and everybody else around it."""

    name = "star"
    __slots__ = ()

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self.peers(process) if process == self.hub else (self.hub,)


class Grid(Topology):
    """Rows and columns as square as they can be, the last row perhaps shorter; channels up, down, left, right."""

    name = "grid"
    __slots__ = ("columns",)

    def __init__(self, ids: Sequence[int], columns: int | None = None) -> None:
        super().__init__(ids)
        if columns is not None and columns < 1:
            raise Misuse(f"a grid needs at least one column, found {columns}")
        self.columns = columns or isqrt(len(self.ids) - 1) + 1

    def neighbours(self, process: int) -> tuple[int, ...]:
        index, columns = self._index[process], self.columns
        near = [index - columns, index + columns]
        near += [index - 1] if index % columns else []
        near += [index + 1] if (index + 1) % columns else []
        return tuple(sorted(self.ids[other] for other in near if 0 <= other < len(self.ids)))


class Graph(Topology):
    """Any graph, from a list of undirected edges."""

    name = "graph"
    __slots__ = ("_neighbours",)

    def __init__(self, ids: Sequence[int], edges: Iterable[tuple[int, int]]) -> None:
        super().__init__(ids)
        near: dict[int, set[int]] = {process: set() for process in self.ids}
        for one, other in edges:
            for end in (one, other):
                if end not in near:
                    raise Misuse(f"edge {one}-{other}: there is no process {end}", hint=f"processes: {self.ids}")
            if one == other:
                raise Misuse(f"edge {one}-{other} joins a process to itself")
            near[one].add(other)
            near[other].add(one)
        self._neighbours = {process: tuple(sorted(others)) for process, others in near.items()}

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self._neighbours[process]


TOPOLOGIES: dict[str, type[Topology]] = {
    kind.name: kind for kind in (Complete, Ring, BidirectionalRing, Star, Grid, Graph)
}
