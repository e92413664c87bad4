"""Setup: checks a scenario and derives what a run needs from it.

All of this happens before the run: identifiers, topology, channels, and processes with their parameters.
"""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from vez.core import class_rules, overrides
from vez.core.assumptions import Assumption
from vez.core.detectors import MONITORS
from vez.core.overrides import few
from vez.core.process import PARAMETER, Election, Mutex, Process, marked
from vez.core.topology import TOPOLOGIES, Complete, Graph, Topology
from vez.errors import BadData, Misuse, MutableField, UnknownName
from vez.worlds.sim.delays import parse_delay, us
from vez.worlds.sim.scenario import DEFAULT_DELAY, Partition, Scenario

DEFAULT_N = 5
_ID = re.compile(r"-?[0-9]{1,18}")


class Setup:
    """A checked scenario for one algorithm."""

    def __init__(self, scenario: Scenario, algorithm: type[Process]) -> None:
        self.scenario = scenario
        self.algorithm = algorithm
        if not class_rules.check_fields(algorithm, "process"):
            raise MutableField(f"{algorithm.__name__}: the types of its fields cannot be resolved")
        class_rules.check_defaults(algorithm, "process")
        network = scenario.network
        self.delay = parse_delay(DEFAULT_DELAY if network.delay is None else network.delay)
        self.message_us = max(1, us(self.delay.mean_ms))
        self.fifo = Assumption.FIFO in algorithm.assumes if network.fifo is None else network.fifo
        self.topology = self._topology()
        self.ids = self.topology.ids
        self.lacks_channels = self._check_channels()
        """True if the graph lacks channels for which the algorithm was written. Then each message is checked."""
        self.values = self._values()
        self._check_processes()
        overrides.check_parameters(self.process(self.ids[0]), self.ids)
        for key in scenario.names:
            self._named("names", key)
        self.excused = False
        """True if the run belongs to a series of runs with faults, and is treated like those with faults."""

    @property
    def has_faults(self) -> bool:
        """True if the scenario sets the fate of a message, or if anything other than a delay may happen to one."""
        return bool(self.scenario.message) or self.excuses_entries

    @property
    def excuses_entries(self) -> bool:
        """True if a fault can explain an entry without a request: a grant that arrives twice, lost memory."""
        s = self.scenario
        return self.excused or bool(
            s.network.loss or s.network.duplicate or s.network.reorder or s.crash or s.pause
            or any(fate.lost or fate.copies for fate in s.message)
            or s.partition or s.suspect or s.drift or s.nemesis != type(s.nemesis)()
            or s.detector.kind in MONITORS
        )  # fmt: skip

    def stream(self, purpose: str) -> Random:
        """An independent random generator for one purpose. Drawing from it does not change the others."""
        return Random(f"{self.scenario.seed}/{purpose}")

    @property
    def withdraws(self) -> bool:
        """True if a process may stop waiting."""
        workload = self.scenario.workload
        given = workload is not None and workload.wait_ms is not None
        return given or any(want.withdraw_ms is not None for want in self.scenario.want)

    def process(self, process: int) -> Process:
        """Make a process with its parameters and initial fields."""
        return self.algorithm(**self.values.get(process, self.values[None]))

    def processes(self) -> Iterator[tuple[int, int, Process]]:
        """Make all processes: (identifier, identifier to the right, process), in the order of the ids."""
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
        least = overrides.smallest(self.algorithm)
        if len(ids) < least:
            raise Misuse(
                f"{scenario.algorithm} needs at least {least} processes, found {len(ids)}",
                hint=f"use {least} or more",
            )
        if name == Graph.name:
            if not scenario.edges:
                raise Misuse("a graph needs edges", hint="edges = [[1, 2], [2, 3]], or --edges 1-2,2-3")
            return Graph(ids, scenario.edges)
        if scenario.edges:
            raise Misuse(f"edges are given, but the topology is {name}", hint='set topology = "graph"')
        return TOPOLOGIES[name](ids)

    def _check_channels(self) -> bool:
        """Refuse a topology that lacks channels that the algorithm needs. A graph given by its edges is not refused:
        then the result is True."""
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
        """The arguments of the constructor by process with initial fields; those of all other processes under None."""
        parameters = marked(self.algorithm, PARAMETER)
        common = self._convert(self.scenario.parameters, parameters, "parameter")
        values: dict[int | None, dict[str, Any]] = {None: common}
        states = tuple(field for field in self.algorithm.__struct_fields__ if field not in parameters)
        for key, fields in self.scenario.initial.items():
            values[self._named("initial", key)] = common | self._convert(fields, states, "field")
        return values

    def _named(self, where: str, key: str) -> int:
        """The process to which the key of a table refers."""
        if not _ID.fullmatch(key) or int(key) not in self.ids:
            raise Misuse(f"{where}.{key}: there is no process {key}", hint=f"processes: {few(self.ids)}")
        return int(key)

    def _convert(self, given: dict[str, Any], known: tuple[str, ...], what: str) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        hints = typing.get_type_hints(self.algorithm) if given else {}  # slow, and rarely needed
        for name, value in given.items():
            if name not in known:
                if known:
                    raise UnknownName(f"{what} of {self.scenario.algorithm}", name, known)
                raise Misuse(f"{self.scenario.algorithm} has no {what} {name!r}", hint=f"it has no {what}s")
            try:
                converted[name] = msgspec.convert(value, hints[name], strict=not isinstance(value, str))
            except (msgspec.ValidationError, RecursionError) as error:
                choices = typing.get_args(hints[name]) if typing.get_origin(hints[name]) is typing.Literal else ()
                hint = f"known: {', '.join(map(str, choices))}" if choices else ""
                raise BadData(f"{what} {name} of {self.scenario.algorithm}: {error}", hint=hint) from error
            if not _is_finite(converted[name]):
                raise BadData(
                    f"{what} {name} of {self.scenario.algorithm}: expected a finite number, found {value}",
                    hint="use a very large number instead of infinity",
                )
            if what == "parameter" and name.endswith("_ms"):
                overrides.check_duration(f"{what} {name} of {self.scenario.algorithm}", converted[name])
        return converted

    def _check_processes(self) -> None:
        """Refuse processes that do not exist, and requests that do not fit the algorithm's role."""
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
                raise Misuse(f"{what}: there is no process {process}", hint=f"processes: {few(self.ids)}")
        if s.want and not issubclass(self.algorithm, Mutex):
            raise Misuse(f"{s.algorithm} is not a mutual exclusion algorithm, so want does not apply")
        if s.elect and not issubclass(self.algorithm, Election):
            raise Misuse(f"{s.algorithm} is not an election algorithm, so elect does not apply")
        if issubclass(self.algorithm, Election) and self.algorithm.one_election:
            asked = [item.process for item in s.elect]
            if twice := sorted(process for process in set(asked) if asked.count(process) > 1):
                raise one_election(s.algorithm, f"process {twice[0]} is asked twice")
        self._check_faults()

    def _check_faults(self) -> None:
        """Refuse faults that contradict themselves."""
        s = self.scenario
        for fate in s.message:
            if fate.sender == fate.to and (fate.lost or fate.copies):
                raise Misuse(
                    f"message: process {fate.to} sends it to itself, over no network that could lose or copy it",
                    hint="give it a delay, or name another receiver",
                )
        for partition in s.partition:
            _check_partition(partition)
        if s.loop_ms is not None and s.loop_ms[0] >= s.loop_ms[1]:
            raise Misuse(f"loop_ms: {s.loop_ms[1]:g} ms is not after {s.loop_ms[0]:g} ms")
        for crash in s.crash:
            if crash.recover_ms is not None and crash.recover_ms <= crash.at_ms:
                raise Misuse(f"process {crash.process} recovers at {crash.recover_ms:g} ms, not after its crash")
        for want in s.want:
            if want.withdraw_ms is not None and want.withdraw_ms < want.at_ms:
                raise Misuse(f"process {want.process} withdraws at {want.withdraw_ms:g} ms, before it wants in")
        if any(item.process == item.peer for item in s.suspect):
            raise Misuse("suspect: a process does not suspect itself", hint="--suspect 1:3@5..9, process 1 suspects 3")
        if s.suspect and not hasattr(self.algorithm, "on_suspect"):
            raise Misuse(f"{s.algorithm} does not use a failure detector: it has no on_suspect")
        drifting = [item.process for item in s.drift]
        if len(set(drifting)) != len(drifting):
            raise Misuse("drift: a process has one clock, but two rates are given")


def one_election(algorithm: str, found: str) -> Misuse:
    """The error for a second election if the algorithm is written for a single one."""
    again = "bully, chang-roberts, franklin, ring-collect, tournament and yoyo elect again"
    return Misuse(f"{algorithm} holds one election only, and {found}", hint=again)


def _is_finite(value: object) -> bool:
    """True if a value holds neither infinity nor NaN."""
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
        raise Misuse("cut: a process has no channel to itself")
    if partition.until_ms is not None and partition.until_ms <= partition.at_ms:
        raise Misuse(f"a partition from {partition.at_ms:g} to {partition.until_ms:g} ms ends before it begins")
