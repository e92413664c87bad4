"""The verification matrix: every algorithm against every kind of fault. Each cell is decided, or says that it is not.

A cell is the checker's verdict for the smallest interesting number of processes. Its text depends only on the
algorithms, so the written page is a golden file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from vez.catalogue.mutex.elected_coordinator import ELECTIONS
from vez.core.assumptions import Assumption, Property
from vez.core.process import DURABLE, Process, marked
from vez.judge.properties import Status, Verdict
from vez.study.verify.recipes import RECIPE_CASES, RECIPE_WORLDS
from vez.study.verify.world import Case, World
from vez.worlds.check import Budget, Configuration, Limits, Progress, Report, check
from vez.worlds.check.checker import ON_REQUEST
from vez.worlds.check.liveness.lassos import LIVENESS
from vez.worlds.check.model.configuration import default_requests
from vez.worlds.check.search import INTERRUPTED
from vez.worlds.sim.scenario import Scenario

EDGES = ((1, 2), (2, 3), (1, 3))
"""The graph for algorithms that run on any: a triangle."""
USUAL_N, FEWEST = 3, 2


UNBOUNDED = (
    "Such a run repeats no state, so that no loop shows it, and no finite part of it can tell: what must happen some "
    "day is *not judged*."
)
CASES: dict[str, Case] = {
    "chang-roberts": Case(
        "Of four processes one may crash, too: `vez check chang-roberts -n 4 --crashes 1` sees all 7,457,156 states, "
        "and all four properties hold."
    ),
    "itai-rodeh": Case(
        "Rounds are counted without end: all may draw the same number in every round. "
        f"{UNBOUNDED} It ends with probability 1, not in every fair run.",
        {"round": 2},
    ),
    "majority": Case(
        "Terms grow without bound: timers may run out at any moment, so that a new candidate may stand before the "
        f"last one is elected, for ever. {UNBOUNDED} That waits of different length end this some day is a matter of "
        "chance and of bounds on time; `vez sim` measures it.",
        {"term": 2},
        1,
    ),
    **dict.fromkeys(
        ("bully", "bully-stable"),
        Case(
            "Without bounds on time a candidate may stand again before anybody has answered, so that messages pile up "
            "without end; two on a channel are followed there, and what must happen some day is *not judged*."
        ),
    ),
    "quorum-retry": Case(
        "Attempts are numbered without end: who gives its permissions back and tries again may meet the others each "
        f"time. {UNBOUNDED}",
        {"number": 1},
        1,
    ),
    "invitation": Case(
        "Groups are numbered without end: timers may run out at any moment, so that groups may form and dissolve "
        f"for ever. {UNBOUNDED}",
        {"counter": 1},
        1,
    ),
    "elected-coordinator": Case(
        "The election inside is `bully` here, and what it assumes is assumed. With `majority` (the default) every wait "
        "has one of sixteen lengths, and where time is kept no two are alike: millions of states before anybody is in. "
        "It is followed where timers run out at any moment, which all runs with time kept are a part of, and within "
        "bounds on the terms (`votes.0`).",
        parameters={"election": "bully"},
    ),
    **RECIPE_CASES,
}
"""Algorithms for which the default question has infinitely many or far too many states, or about which more is
known."""


PILING_UP = ("bully", "bully-stable")
"""Algorithms whose candidates, without bounds on time, stand again before any reply has come, so messages pile up."""


BY_MAJORITY = Case("", {"votes.0": 1}, 2, {"election": "majority"})
WORLDS = (
    World("nothing goes wrong", ""),
    World("1 crash", "--crashes 1", Budget(crashes=1)),
    World("1 crash, back with its memory", "--crashes 1 --recoveries 1", Budget(crashes=1, recoveries=1)),
    World(
        "1 crash, back with or without", "--crashes 1 --recoveries 1 --amnesia", Budget(crashes=1, recoveries=1), True
    ),
    World("1 crash inside a handler", "--crashes-inside 1", Budget(crashes_inside=1)),
    World(
        "1 crash inside a handler, back with its memory",
        "--crashes-inside 1 --recoveries 1",
        Budget(crashes_inside=1, recoveries=1),
    ),
    World("1 partition", "--partitions 1", Budget(partitions=1), role="election"),
    World("1 pause", "--pauses 1", Budget(pauses=1), only="coordinator-lease"),
    *(
        World(
            f"timers off by up to {percent} %",
            f"--drift {percent / 100:g}",
            without=Assumption.KNOWN_BOUNDS,
            only=only,
            drift=percent / 100,
        )
        for percent, only in ((10, "coordinator-lease"), (25, ""))
    ),
    World("1 message lost", "--losses 1", Budget(losses=1)),
    World("1 message twice", "--duplicates 1", Budget(duplicates=1)),
    World("no order of delivery", "--without fifo", without=Assumption.FIFO),
    World("no bounds on time", "--without known_bounds", without=Assumption.KNOWN_BOUNDS),
    World("a stay may be long", "--without bounded_stay", without=Assumption.BOUNDED_STAY),
    World("1 wrong suspicion", "--without perfect_detector", without=Assumption.PERFECT_DETECTOR),
    *(
        World(
            f"no bounds on time, elected by majority, terms up to {terms}",
            "--without known_bounds",
            without=Assumption.KNOWN_BOUNDS,
            only="elected-coordinator",
            case=msgspec.structs.replace(BY_MAJORITY, bounds={"votes.0": terms}),
            n=n,
        )
        for terms, n in ((1, 3), (2, 2))
    ),
    World(
        "1 wrong suspicion, elected by majority, terms up to 1",
        "--timeouts --mistakes 1",
        Budget(mistakes=1),
        without=Assumption.PERFECT_DETECTOR,
        only="elected-coordinator",
        case=BY_MAJORITY,
    ),
)
APART = tuple(
    World("nothing goes wrong", f"--property {name}", properties=(str(name),))
    for name in (Property.REQUEST_ORDER, Property.BOUNDED_WAITING)
)
"""Worlds for the properties for which the checker must remember every request: each is asked separately, without
faults."""


class Cell(msgspec.Struct, frozen=True):
    """One property of one algorithm in one world."""

    status: str
    """holds, broken, not exhausted, or not judged (beyond a bound)."""
    steps: int | None = None
    endless: bool = False
    extent: str = ""
    """The number that the checker found, and for how many requests: `at most 2 bypasses, within 1 request each`."""

    @property
    def length(self) -> str:
        """The length of the shortest run, in words."""
        loop = ", then a loop" if self.endless else ""
        return f"{self.steps} step{'s' * (self.steps != 1)}{loop}"


class Row(msgspec.Struct, frozen=True):
    """One algorithm in one world."""

    algorithm: str
    world: World
    n: int
    states: int | None
    """Number of states; None if they were not exhausted."""
    cells: dict[str, Cell]
    promised: tuple[str, ...]
    kept: bool
    """True if the world keeps all assumptions of the algorithm."""

    @property
    def command(self) -> str:
        """The command that checks this row."""
        return commanded(self.algorithm, self.world, self.n)

    def drawing(self, name: str, max_states: int) -> str:
        """The command that draws the shortest run that breaks the property.

        A violation of safety ends the search. Liveness is judged at the end of the search; a search that reached its
        limit of states ends there.
        """
        plain = msgspec.structs.replace(self.world, options=_without_properties(self.world.options))
        stop = "" if name in LIVENESS else "--first"
        if not stop and self.states is None:
            stop = f"--max-states {max_states}"
        parts = (commanded(self.algorithm, plain, self.n), f"--property {name}", stop, "--diagram text")
        return " ".join(filter(None, parts))

    @property
    def settled(self) -> bool:
        """True if every cell is decided, or cannot be decided."""
        return all(cell.status != "not exhausted" for cell in self.cells.values())

    def has_promised(self, status: str) -> bool:
        """True if a promised property has this status although the world keeps all assumptions."""
        return self.kept and any(self.cells[name].status == status for name in self.promised if name in self.cells)

    @property
    def size(self) -> str:
        """The number of states, as the table shows it."""
        return "not exhausted" if self.states is None else f"{self.states:,}"


def commanded(name: str, world: World, n: int) -> str:
    """A row as a command."""
    few = f"-n {n}" if n != USUAL_N else ""
    return " ".join(filter(None, ("vez check", name, few, world.options, _case(name, world).options)))


def _without_properties(options: str) -> str:
    return re.sub(r" ?--property \w+", "", options)


def worlds(name: str, algorithm: type[Process]) -> Iterator[World]:
    """The worlds that make sense for an algorithm."""
    if name in RECIPE_WORLDS:
        yield from RECIPE_WORLDS[name]
        return
    for world in WORLDS:
        meant = world.only in ("", name) and world.role in ("", algorithm.role)
        if meant and (world.without is None or world.without in algorithm.assumes):
            yield world
    if algorithm.role == "mutex":
        yield from APART


def configuration(name: str, algorithm: type[Process], world: World, n: int = 0) -> Configuration:
    """The question to the checker."""
    case = _case(name, world)
    without = world.without if str(world.without) in world.options else None
    count = n or world.n or max(USUAL_N, algorithm.smallest())
    return Configuration(
        Scenario(
            algorithm=name,
            n=count,
            edges=EDGES if algorithm.topology.name == "graph" else (),
            parameters=case.parameters,
        ),
        algorithm,
        requests=world.requests or default_requests(algorithm, world.properties),
        budget=world.budget,
        amnesia=world.amnesia,
        timeouts="--timeouts" in world.options,
        without=(str(without),) if without else (),
        bounds=case.bounds,
        capacity=case.capacity,
        drift=world.drift,
        victims=tuple(process for process in world.victims if process <= count),
    )


def _case(name: str, world: World) -> Case:
    if world.without is Assumption.KNOWN_BOUNDS and not world.drift and name in PILING_UP:
        return Case("", capacity=2)
    return world.case or CASES.get(name) or Case("")


def row(
    name: str,
    algorithm: type[Process],
    world: World,
    max_states: int,
    *,
    n: int = 0,
    jobs: int = 0,
    watch: Callable[[Progress], None] | None = None,
) -> Row:
    """Check one algorithm in one world. Raises KeyboardInterrupt if the search was interrupted."""
    asked = configuration(name, algorithm, world, n)
    limits = Limits(max_states)
    report = check(asked, world.properties, limits=limits, no_return=False, workers=jobs, watch=watch)
    if report.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    states = None if report.stopped else report.states
    cells = {verdict.name: _cell(report, verdict) for verdict in report.verdicts}
    return filled(name, algorithm, world, len(asked.ids), states, cells)


def filled(
    name: str, algorithm: type[Process], world: World, n: int, states: int | None, cells: dict[str, Cell]
) -> Row:
    """The row of an algorithm in a world, from the results of the checker."""
    return Row(
        algorithm=name,
        world=world,
        n=n,
        states=states,
        cells=cells,
        promised=tuple(map(str, algorithm.guarantees)),
        kept=not _unkept(algorithm, world, _case(name, world).parameters),
    )


def _cell(report: Report, verdict: Verdict) -> Cell:
    if verdict.status is Status.BROKEN:
        example = report.counterexamples[verdict.name]
        return Cell("broken", example.steps, example.path.loop is not None)
    words = {Status.HOLDS: "holds", Status.NOT_JUDGED: "not judged"}
    extent = ""
    if verdict.name in ON_REQUEST and verdict.status is Status.HOLDS:
        extent = _STATES.sub("", verdict.evidence)
    elif verdict.name == Property.BOUNDED_WAITING and verdict.status is Status.NOT_JUDGED:
        extent = verdict.evidence.partition("names ")[2]
    return Cell(words.get(verdict.status, "not exhausted"), extent=extent)


_STATES = re.compile(r"^in all [\d,]+ states?(?: within the bounds)?, | in all [\d,]+ states?")


def _unkept(algorithm: type[Process], world: World, parameters: Mapping[str, Any]) -> bool:
    """True if the world breaks an assumption of the algorithm, or of the election inside it."""
    budget = world.budget
    crashes = budget.crashes + budget.crashes_inside
    breaks = {
        Assumption.NO_CRASHES: crashes,
        Assumption.HUB_STAYS: crashes and not world.victims,  # named victims never include the hub
        Assumption.NO_RECOVERY: budget.recoveries,
        Assumption.KNOWN_BOUNDS: budget.pauses,
        Assumption.BOUNDED_STAY: budget.pauses,
        Assumption.RELIABLE: budget.losses or budget.duplicates or budget.partitions,
    }
    forgets = world.amnesia and bool(marked(algorithm, DURABLE))
    assumes = set(algorithm.assumes)
    if "election" in parameters:
        assumes |= set(ELECTIONS[parameters["election"]].assumes)
    return forgets or world.without is not None or any(breaks.get(name) for name in assumes)


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
