"""Topology cache: the peers and neighbours of each process, computed when first needed."""

from __future__ import annotations

from collections.abc import Callable

from vez.core.topology import Topology


class TopologyCache:
    """The topology of a run, with cached peers and neighbours.

    They are computed on demand, because the peers of a million processes would not fit into memory. They are kept,
    because a process that asks once usually asks again.
    """

    __slots__ = ("hub", "neighbours", "others", "peers", "topology")

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.hub = topology.hub
        self.others = len(topology.ids) - 1  # the number of peers of each process
        self.peers = _Remembered(topology.peers)
        self.neighbours = _Remembered(topology.neighbours)


class _Remembered(dict[int, tuple[int, ...]]):
    """A dictionary by process that computes missing values. Reading a known value makes no Python call."""

    def __init__(self, ask: Callable[[int], tuple[int, ...]]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, process: int) -> tuple[int, ...]:
        answer = self[process] = self._ask(process)
        return answer
