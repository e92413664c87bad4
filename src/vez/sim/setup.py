"""Setup: a scenario made concrete, and refused where it makes no sense.

Everything here happens before virtual time starts: identifiers, topology, processes with their parameters,
and the random faults of the nemesis turned into a list.
"""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from vez.core import guards
from vez.core.assumptions import Assumption
from vez.core.process import PARAMETER, Election, Mutex, Process, marked
from vez.core.topology import TOPOLOGIES, Complete, Graph, Topology
from vez.detectors import MONITORS
from vez.errors import BadData, Misuse, MutableField, UnknownName
from vez.sim.delays import parse_delay, us
from vez.sim.scenario import DEFAULT_DELAY, Partition, Scenario

DEFAULT_N = 5
_ID = re.compile(r"-?[0-9]{1,18}")


class Setup:
    """What a scenario means for one algorithm."""

    def __init__(self, scenario: Scenario, algorithm: type[Process]) -> None:
        self.scenario = scenario
        self.algorithm = algorithm
        if not guards.check_fields(algorithm, "process"):
            raise MutableField(f"{algorithm.__name__}: the types of its fields cannot be resolved")
        guards.check_defaults(algorithm, "process")
        network = scenario.network
        self.delay = parse_delay(DEFAULT_DELAY if network.delay is None else network.delay)
        self.message_us = max(1, us(self.delay.mean_ms))
        self.fifo = Assumption.FIFO in algorithm.assumes if network.fifo is None else network.fifo
        self.topology = self._topology()
        self.ids = self.topology.ids
        self.lacks_channels = self._check_channels()
        """Whether the algorithm was written for channels that this graph does not have; it may not use them."""
        self.values = self._values()
        self._check_processes()

    @property
    def has_faults(self) -> bool:
        """Whether anything may happen to a message or a process beyond the delay."""
        s = self.scenario
        return bool(
            s.network.loss or s.network.duplicate or s.network.reorder or s.message or s.crash or s.pause
            or s.partition or s.suspect or s.drift or s.nemesis != type(s.nemesis)()
            or s.detector.kind in MONITORS
        )  # fmt: skip

    def stream(self, purpose: str) -> Random:
        """An independent source of chance; what one purpose draws does not shift another."""
        return Random(f"{self.scenario.seed}/{purpose}")

    def process(self, process: int) -> Process:
        """A new process with its parameters and its initial fields."""
        return self.algorithm(**self.values.get(process, self.values[None]))

    def processes(self) -> Iterator[tuple[int, int, Process]]:
        """Each identifier with its right neighbour's and a new process, in standing order."""
        ids, algorithm, common = self.ids, self.algorithm, self.values[None]
        rights = (*ids[1:], ids[0])
        if len(self.values) == 1:
            return ((me, right, algorithm(**common)) for me, right in zip(ids, rights, strict=True))
        return ((me, right, self.process(me)) for me, right in zip(ids, rights, strict=True))

    def _topology(self) -> Topology:
        scenario = self.scenario
        ids = scenario.ids or tuple(range(1, (scenario.n or DEFAULT_N) + 1))
        if scenario.ids and scenario.n is not None and scenario.n != len(ids):
            raise Misuse(f"n = {scenario.n}, but {len(ids)} ids are given", hint="give one of the two")
        name = scenario.topology or ("graph" if scenario.edges else self.algorithm.topology.name)
        if name not in TOPOLOGIES:
            raise UnknownName("topology", name, TOPOLOGIES)
        if len(ids) < self.algorithm.smallest():
            least = self.algorithm.smallest()
            raise Misuse(
                f"{scenario.algorithm} needs at least {least} processes, found {len(ids)}",
                hint=f"use -n {least} or more, or longer ids",
            )
        if name == Graph.name:
            if not scenario.edges:
                raise Misuse("a graph needs edges", hint="edges = [[1, 2], [2, 3]], or --edges 1-2,2-3")
            return Graph(ids, scenario.edges)
        if scenario.edges:
            raise Misuse(f"edges are given, but the topology is {name}", hint='set topology = "graph"')
        return TOPOLOGIES[name](ids)

    def _check_channels(self) -> bool:
        """Refuse a topology without the channels that the algorithm needs, unless it was given edge by edge."""
        kind, topology = self.algorithm.topology, self.topology
        if topology.name == kind.name or topology.name == Complete.name:
            return False
        missing = kind.first_missing(topology)
        if missing is not None and topology.name != Graph.name:
            raise Misuse(
                f"{self.scenario.algorithm} needs {kind.need} ({kind.name}): "
                f"there is no channel from {missing[0]} to {missing[1]} in the {topology.name}",
                hint=f"leave the topology out: it is {kind.name} then",
            )
        return missing is not None

    def _values(self) -> dict[int | None, dict[str, Any]]:
        """The constructor's arguments: under None for everybody, and for those with initial fields."""
        parameters = marked(self.algorithm, PARAMETER)
        common = self._convert(self.scenario.parameters, parameters, "parameter")
        values: dict[int | None, dict[str, Any]] = {None: common}
        states = tuple(field for field in self.algorithm.__struct_fields__ if field not in parameters)
        for key, fields in self.scenario.initial.items():
            if not _ID.fullmatch(key) or int(key) not in self.ids:
                raise Misuse(f"initial.{key}: there is no process {key}", hint=f"processes: {_few(self.ids)}")
            values[int(key)] = common | self._convert(fields, states, "field")
        return values

    def _convert(self, given: dict[str, Any], known: tuple[str, ...], what: str) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        hints = typing.get_type_hints(self.algorithm) if given else {}  # slow, and most runs give nothing
        for name, value in given.items():
            if name not in known:
                if known:
                    raise UnknownName(f"{what} of {self.scenario.algorithm}", name, known)
                raise Misuse(f"{self.scenario.algorithm} has no {what} {name!r}", hint=f"it has no {what}s at all")
            try:
                converted[name] = msgspec.convert(value, hints[name], strict=not isinstance(value, str))
            except (msgspec.ValidationError, RecursionError) as error:
                choices = typing.get_args(hints[name]) if typing.get_origin(hints[name]) is typing.Literal else ()
                hint = f"known: {', '.join(map(str, choices))}" if choices else ""
                raise BadData(f"{what} {name} of {self.scenario.algorithm}: {error}", hint=hint) from error
            if not _is_finite(converted[name]):
                raise BadData(
                    f"{what} {name} of {self.scenario.algorithm}: expected a finite number, found {value}",
                    hint="a very large one does for infinity",
                )
        return converted

    def _check_processes(self) -> None:
        """Nobody is named who does not exist, and nobody is asked what its role cannot do."""
        s = self.scenario
        known = set(self.ids)
        named: list[tuple[str, int]] = []
        for what in ("want", "elect", "crash", "pause", "drift", "suspect", "choice", "timer"):
            named += [(what, item.process) for item in getattr(s, what)]
        named += [("suspect", item.peer) for item in s.suspect]
        named += [("message", end) for item in s.message for end in (item.sender, item.to)]
        for partition in s.partition:
            named += [("partition", end) for group in (*partition.groups, *partition.one_way) for end in group]
        for what, process in named:
            if process not in known:
                raise Misuse(f"{what}: there is no process {process}", hint=f"processes: {_few(self.ids)}")
        if s.want and not issubclass(self.algorithm, Mutex):
            raise Misuse(f"{s.algorithm} is not a mutual exclusion algorithm: nobody can want in")
        if s.elect and not issubclass(self.algorithm, Election):
            raise Misuse(f"{s.algorithm} is not an election: nobody can be asked to elect")
        self._check_faults()

    def _check_faults(self) -> None:
        """Faults that could never happen, or only by mistake."""
        s = self.scenario
        for partition in s.partition:
            _check_partition(partition)
        if s.loop_ms is not None and s.loop_ms[0] >= s.loop_ms[1]:
            raise Misuse(f"loop_ms: {s.loop_ms[1]:g} ms is not after {s.loop_ms[0]:g} ms")
        for crash in s.crash:
            if crash.recover_ms is not None and crash.recover_ms <= crash.at_ms:
                raise Misuse(f"process {crash.process} recovers at {crash.recover_ms:g} ms, not after its crash")
        if any(item.process == item.peer for item in s.suspect):
            raise Misuse("suspect: a process does not suspect itself", hint="--suspect 1:3@5..9, process 1 suspects 3")
        if s.suspect and not hasattr(self.algorithm, "on_suspect"):
            raise Misuse(f"{s.algorithm} listens to no failure detector: it has no on_suspect")
        drifting = [item.process for item in s.drift]
        if len(set(drifting)) != len(drifting):
            raise Misuse("drift: a process has one clock, and two rates are given for one")


def _is_finite(value: object) -> bool:
    """Whether a value holds no infinity and nothing that is not a number."""
    if isinstance(value, float):
        return math.isfinite(value)
    return all(map(_is_finite, value)) if isinstance(value, tuple | frozenset) else True


def _check_partition(partition: Partition) -> None:
    if not partition.groups and not partition.one_way:
        raise Misuse("a partition needs groups or one_way channels", hint="groups = [[1, 2], [3]]")
    members = [process for group in partition.groups for process in group]
    if len(set(members)) != len(members):
        raise Misuse("partition: a process is on two sides", hint="each process belongs to one group")
    if any(one == other for one, other in partition.one_way):
        raise Misuse("cut: a process has no channel to itself that could be cut")
    if partition.until_ms is not None and partition.until_ms <= partition.at_ms:
        raise Misuse(f"a partition from {partition.at_ms:g} to {partition.until_ms:g} ms heals before it cuts")


def _few(ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, ids)) if len(ids) <= 12 else f"{ids[0]}, {ids[1]}, …, {ids[-1]}"
