"""Verify: the table of truth: every algorithm against every kind of fault, each cell decided or honestly not.

A cell is the checker's verdict for the smallest interesting number of processes. Its text depends on nothing
but the algorithms, so that the written table is a golden file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from vez import draw
from vez.check import Budget, Configuration, Limits, Report, check
from vez.core.assumptions import Assumption
from vez.core.process import DURABLE, Process, marked
from vez.properties import Status, judge
from vez.sim.scenario import Scenario

EDGES = ((1, 2), (2, 3), (1, 3))
"""The graph for algorithms that run on any: a triangle."""


BOUNDS: dict[str, tuple[dict[str, int], int]] = {
    "itai-rodeh": ({"round": 2}, 0),
    "majority": ({"term": 1}, 1),
    "quorum-retry": ({"number": 1}, 1),
    "invitation": ({"counter": 1}, 1),
}
"""Algorithms that count, or send, without end: how far they are followed (fields, messages on a channel)."""


class World(msgspec.Struct, frozen=True):
    """A kind of fault, and how to ask for it."""

    name: str
    options: str
    """As on the command line of `vez check`."""
    budget: Budget = Budget()
    amnesia: bool = False
    without: Assumption | None = None
    parameters: dict[str, str] = {}
    only: str = ""
    """The one algorithm that has these parameters; empty where the world is for all."""
    patience: int = 1
    """By how much the limit of states is larger here."""


PATIENT = 4
WORLDS = (
    World("nothing goes wrong", "", patience=PATIENT),
    World("1 crash", "--crashes 1", Budget(crashes=1)),
    World("1 crash, back with its memory", "--crashes 1 --recoveries 1", Budget(crashes=1, recoveries=1)),
    World(
        "1 crash, back with or without", "--crashes 1 --recoveries 1 --amnesia", Budget(crashes=1, recoveries=1), True
    ),
    World("1 message lost", "--losses 1", Budget(losses=1)),
    World("1 message twice", "--duplicates 1", Budget(duplicates=1)),
    World("no order of delivery", "--without fifo", without=Assumption.FIFO),
    World("no bounds on time", "--without known_bounds", without=Assumption.KNOWN_BOUNDS),
    World("a stay may be long", "--without bounded_stay", without=Assumption.BOUNDED_STAY),
    World("1 wrong suspicion", "--without perfect_detector", without=Assumption.PERFECT_DETECTOR),
    *(
        World(
            f"1 wrong suspicion, elected by {election}",
            f"--set election={election} --without perfect_detector",
            without=Assumption.PERFECT_DETECTOR,
            parameters={"election": election},
            only="elected-coordinator",
            patience=PATIENT,
        )
        for election in ("bully", "majority")
    ),
)


class Cell(msgspec.Struct, frozen=True):
    """One property of one algorithm in one world."""

    status: str
    """holds, broken, not exhausted, or not judged (beyond a bound)."""
    steps: int | None = None
    endless: bool = False

    @property
    def length(self) -> str:
        """How long the shortest run is."""
        loop = ", then a loop" if self.endless else ""
        return f"{self.steps} step{'s' * (self.steps != 1)}{loop}"


class Row(msgspec.Struct, frozen=True):
    """One algorithm in one world."""

    algorithm: str
    world: World
    n: int
    states: int | None
    """None where they were not exhausted."""
    cells: dict[str, Cell]
    promised: tuple[str, ...]
    bounds: str
    """As on the command line; empty where nothing is cut off."""
    kept: bool
    """Whether the world keeps all that the algorithm assumes."""
    pictures: dict[str, str] = {}
    """By property: the shortest run that breaks it, as SVG, where pictures were asked for."""

    @property
    def command(self) -> str:
        """How to see it."""
        return " ".join(filter(None, ("vez check", self.algorithm, self.world.options, self.bounds)))

    @property
    def size(self) -> str:
        """The states, as the table shows them."""
        return "not exhausted" if self.states is None else f"{self.states:,}"


def configurations(name: str, algorithm: type[Process]) -> Iterator[tuple[World, Configuration]]:
    """The worlds that make sense for an algorithm."""
    n = max(3, algorithm.smallest())
    edges = EDGES if algorithm.topology.name == "graph" else ()
    scenario = Scenario(algorithm=name, n=n, edges=edges)
    bounds, capacity = BOUNDS.get(name, ({}, 0))
    for world in WORLDS:
        if world.only in ("", name) and (world.without is None or world.without in algorithm.assumes):
            without = (str(world.without),) if world.without else ()
            yield (
                world,
                Configuration(
                    scenario.but(parameters=world.parameters),
                    algorithm,
                    budget=world.budget,
                    amnesia=world.amnesia,
                    without=without,
                    bounds=bounds,
                    capacity=capacity,
                ),
            )


def _bounds(configuration: Configuration) -> str:
    parts = [f"--bound {field}={most}" for field, most in configuration.bounds.items()]
    return " ".join([*parts, f"--capacity {configuration.capacity}"] if configuration.capacity else parts)


def verify(
    algorithms: Mapping[str, type[Process]],
    max_states: int,
    watch: Callable[[str], None] | None = None,
    *,
    pictures: bool = False,
) -> Iterator[Row]:
    """Check the algorithms one world after another."""
    for name, algorithm in algorithms.items():
        for world, configuration in configurations(name, algorithm):
            if watch is not None:
                watch(f"{name}: {world.name}")
            yield row(name, algorithm, world, configuration, max_states * world.patience, pictures=pictures)


def row(
    name: str,
    algorithm: type[Process],
    world: World,
    configuration: Configuration,
    max_states: int,
    *,
    pictures: bool = False,
) -> Row:
    """Check one algorithm in one world."""
    report = check(configuration, limits=Limits(max_states))
    cells = {verdict.name: _cell(report, verdict.name, verdict.status) for verdict in report.verdicts}
    return Row(
        algorithm=name,
        world=world,
        n=len(configuration.ids),
        states=None if report.stopped else report.states,
        cells=cells,
        promised=tuple(map(str, algorithm.guarantees)),
        bounds=_bounds(configuration),
        kept=not _unkept(algorithm, world),
        pictures=_pictures(report) if pictures else {},
    )


def _pictures(report: Report) -> dict[str, str]:
    """The shortest run of each broken property; those that the same run breaks get the same picture."""
    found = {}
    names = [verdict.name for verdict in report.verdicts]
    for name, example in report.counterexamples.items():
        judged = {verdict.name: verdict for verdict in judge(example.trace, only=names)} | {name: example.verdict}
        found[name] = draw.svg(example.trace, tuple(judged.values()))
    return found


def _cell(report: Report, name: str, status: Status) -> Cell:
    if status is Status.BROKEN:
        example = report.counterexamples[name]
        return Cell("broken", example.steps, example.path.loop is not None)
    words = {Status.HOLDS: "holds", Status.NOT_JUDGED: "not judged"}
    return Cell(words.get(status, "not exhausted"))


def _unkept(algorithm: type[Process], world: World) -> bool:
    """Whether the world breaks something that the algorithm assumes."""
    budget = world.budget
    breaks = {
        Assumption.NO_CRASHES: budget.crashes,
        Assumption.HUB_STAYS: budget.crashes,
        Assumption.NO_RECOVERY: budget.recoveries,
        Assumption.RELIABLE: budget.losses or budget.duplicates,
    }
    forgets = world.amnesia and bool(marked(algorithm, DURABLE))
    return forgets or world.without is not None or any(breaks.get(name) for name in algorithm.assumes)


def to_json(line: Row) -> dict[str, Any]:
    """A row as plain values."""
    return {
        "algorithm": line.algorithm,
        "world": line.world.name,
        "command": line.command,
        "n": line.n,
        "states": line.states,
        "assumptions_kept": line.kept,
        "properties": {name: msgspec.to_builtins(cell) for name, cell in line.cells.items()},
    }
