"""Directory: peers and neighbours of each process, computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable

from vez.core.topology import Topology


class Directory:
    """The topology of a run.

    The peers of all processes would not fit into memory if there are a million; a process that asks once asks again.
    """

    __slots__ = ("hub", "neighbours", "others", "peers", "topology")

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.hub = topology.hub
        self.others = len(topology.ids) - 1  # the number of peers of each process
        self.peers = _Remembered(topology.peers)
        self.neighbours = _Remembered(topology.neighbours)


class _Remembered(dict[int, tuple[int, ...]]):
    """Answers by process. Reading a known answer makes no Python call."""

    def __init__(self, ask: Callable[[int], tuple[int, ...]]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, process: int) -> tuple[int, ...]:
        answer = self[process] = self._ask(process)
        return answer
