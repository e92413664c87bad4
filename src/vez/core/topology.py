"""Topologies: the channels between processes.

A topology is made from the identifiers of the processes, in order (along a ring, row by row in a grid).
Neighbours are returned in ascending order, so that nothing depends on the order of a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isqrt
from typing import ClassVar

from vez.errors import Misuse, ProtocolBug


class Topology:
    """Base class: the identifiers in order, and the queries of a process about the others."""

    name: ClassVar[str] = ""
    need: ClassVar[str] = "channels in both directions"
    """The channels that an algorithm for this topology needs, for error messages."""
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
        """The processes to which this one has a channel, ascending."""
        raise NotImplementedError  # pragma: no cover - every topology below overrides it

    def peers(self, process: int) -> tuple[int, ...]:
        """All other processes, ascending."""
        return tuple(sorted(other for other in self.ids if other != process))

    def right(self, process: int) -> int:
        """The next process in the order of the identifiers; the first one follows the last."""
        return self.ids[(self._index[process] + 1) % len(self.ids)]

    def left(self, process: int) -> int:
        """The previous process in that order."""
        return self.ids[self._index[process] - 1]

    def after(self, process: int, skipped: int) -> int:
        """The process to the right of `skipped`, for `process`, which must skip it."""
        return self.right(skipped)

    @property
    def hub(self) -> int:
        """The first process in that order."""
        return self.ids[0]

    def has_process(self, process: int) -> bool:
        """True if there is a process with this identifier."""
        return process in self._index

    def has_channel(self, process: int, other: int) -> bool:
        """True if `process` can send messages to `other`."""
        return other in self.neighbours(process)

    @classmethod
    def first_missing(cls, other: Topology) -> tuple[int, int] | None:
        """A channel that algorithms for this topology use and the other topology lacks; None if it lacks none."""
        own = cls(other.ids)
        channels = ((process, near) for process in own.ids for near in own.neighbours(process) if near != process)
        return next((channel for channel in channels if not other.has_channel(*channel)), None)

    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every channel, for pictures."""
        return tuple((process, other) for process in self.ids for other in self.neighbours(process))


class Complete(Topology):
    """Every process has a channel to every other."""

    name = "complete"
    need = "a channel between every two processes"
    __slots__ = ()

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self.peers(process)

    def has_channel(self, process: int, other: int) -> bool:
        return other in self._index


class Ring(Topology):
    """A ring of one direction: messages go to the right neighbour, or past it if it is dead.

    A process that must skip a neighbour asks `io.after` for the next one, and may send to it from then on. The topology
    does not check that the neighbour is really dead: a failure detector may be wrong.
    """

    name = "ring"
    need = "a channel from each process to the next"
    __slots__ = ("_past",)

    def __init__(self, ids: Sequence[int]) -> None:
        super().__init__(ids)
        self._past: set[tuple[int, int]] = set()  # (process, receiver): channels that `after` has opened

    def neighbours(self, process: int) -> tuple[int, ...]:
        return (self.right(process),)

    def left(self, process: int) -> int:
        raise ProtocolBug(
            f"process {process} asked for io.left, but messages of this ring go to the right only",
            hint="use io.right, or topology = BidirectionalRing",
        )

    def after(self, process: int, skipped: int) -> int:
        found = self.right(skipped)
        self._past.add((process, found))
        return found

    def has_channel(self, process: int, other: int) -> bool:
        return other in self.neighbours(process) or (process, other) in self._past


class BidirectionalRing(Ring):
    """A ring in which messages go both ways."""

    name = "ring2"
    need = "channels between each process and the next"
    __slots__ = ()
    left = Topology.left

    def neighbours(self, process: int) -> tuple[int, ...]:
        return tuple(sorted({self.left(process), self.right(process)} - {process}))


class _Undirected(Topology):
    """Base of undirected graphs. Their algorithms only ask for neighbours, so any graph with channels in both
    directions suits them."""

    __slots__ = ()

    @classmethod
    def first_missing(cls, other: Topology) -> tuple[int, int] | None:
        channels = ((near, process) for process in other.ids for near in other.neighbours(process))
        return next((channel for channel in channels if not other.has_channel(*channel)), None)


class Star(Topology):
    """A star: the first process is the hub, and every other process has a channel to it only."""

    name = "star"
    need = "channels between the first process and all others"
    __slots__ = ()

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self.peers(process) if process == self.hub else (self.hub,)


class Grid(_Undirected):
    """A grid that is as square as possible. The last row may be shorter. Channels go up, down, left and right."""

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


class Graph(_Undirected):
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
