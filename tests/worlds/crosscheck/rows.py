"""Rows: the verification matrix against the simulator. No sampled run may break what holds in its row.

The verdicts are those of the page, which tests compare with the checker. The models of the turn table are not on it:
their tests say that they keep every promise. What breaks in a run beyond the bounds of its row (terms up to 2) is
counted apart: there the checker has said nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.verdicts_page import cells
from tests.worlds.crosscheck.followed import Follower
from tests.worlds.crosscheck.outcomes import broken, bypasses
from tests.worlds.crosscheck.sampling import Seen, runs
from vez.catalogue.algorithms import ALGORITHMS
from vez.core.assumptions import Property
from vez.core.process import Process
from vez.locks.models import CONFIGURATIONS
from vez.locks.models.recipes import RECIPES
from vez.study.verify.matrix import FEWEST, commanded, configuration, worlds
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.sim.scenario import Scenario

HOLDS, BROKEN = "holds", "broken"
FOLLOW_EVERY = 9
"""Of so many runs one is followed in the model, which takes several times as long as the run. Seeds have 1, 4 or 7 runs:
in the end all kinds of runs are followed."""
FOLLOWED_TOGETHER = 200
"""So many runs share a model, which remembers the steps of each process."""
_BYPASSES = re.compile(r"at most (\d+) bypass")


class Row(NamedTuple):
    """A configuration with the checker's verdicts."""

    algorithm: str
    command: str
    configuration: Configuration
    cells: dict[str, str]
    """The cell of each property: `holds`, `broken …`, `not exhausted` or `not judged`, perhaps with more."""

    @property
    def names(self) -> dict[str, list[str]]:
        """The properties by verdict: those that hold, are broken, and are undecided."""
        found: dict[str, list[str]] = {HOLDS: [], BROKEN: [], "": []}
        for name, text in self.cells.items():
            found[HOLDS if text.startswith(HOLDS) else BROKEN if text.startswith(BROKEN) else ""].append(name)
        return found

    @property
    def most_bypasses(self) -> int | None:
        """The largest number of bypasses in any run, if the checker counted it."""
        found = _BYPASSES.search(self.cells.get(Property.BOUNDED_WAITING, ""))
        return int(found[1]) if found else None


def rows() -> list[Row]:
    """All rows of the matrix, and the models of the turn table."""
    return [
        *(row for name, algorithm in (ALGORITHMS | RECIPES).items() for row in _written(name, algorithm)),
        *_tables(),
    ]


def _written(name: str, algorithm: type[Process]) -> Iterator[Row]:
    page = cells(name)
    for world in worlds(name, algorithm):
        commands = []
        for few in (0, FEWEST):
            if few and algorithm.smallest() > few:
                continue
            asked = configuration(name, algorithm, world, few)
            command = commanded(name, world, len(asked.ids))
            if command in page and command not in commands:
                commands.append(command)
                yield Row(name, command, asked, page[command])


def _tables() -> Iterator[Row]:
    for name, model in CONFIGURATIONS.items():
        asked = model.question
        budget = Budget(crashes=asked.crashes, withdrawals=asked.withdrawals)
        victims = (2, 3, 4) if asked.crashes else ()
        question = Configuration(
            Scenario(algorithm=name), model, requests=asked.requests, budget=budget, victims=victims
        )
        promised = (*map(str, model.guarantees), str(Property.NO_EXCEPTIONS))
        yield Row(name, f"vez check {name}", question, dict.fromkeys(promised, HOLDS))


def judged(row: Row) -> Row:
    """The row with the verdicts of a check now."""
    properties = tuple(name for name in row.cells if f"--property {name}" in row.command)
    report = check(row.configuration, properties, no_return=False, pictures=False, workers=1)
    return row._replace(cells={verdict.name: str(verdict.status.value) for verdict in report.verdicts})


class Sampled:
    """The results of many runs of a row."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.runs = self.followed = 0
        self.violations: list[tuple[int, str, Seen]] = []
        """Seed, words and run of everything that breaks although it holds, and of runs that the model does not have."""
        self.found: dict[str, int] = {}
        """The number of runs until a property was found broken that the checker calls broken."""
        self.beyond: dict[str, int] = {}
        """The same for properties that the checker could not decide, and for those that hold within bounds."""

    def sample(self, seed: int) -> None:
        """Run one seed, and compare."""
        names = self.row.names
        open_cells = [name for name in (*names[BROKEN], *names[""]) if name not in {*self.found, *self.beyond}]
        for seen in runs(self.row.configuration, f"{self.row.command}/{seed}"):
            self.runs += 1
            self._follow(seed, seen)
            for name in broken(self.row.configuration, seen, (*names[HOLDS], *open_cells)):
                if name in names[BROKEN]:
                    self.found.setdefault(name, self.runs)
                elif name in names[""] or seen.beyond:
                    self.beyond.setdefault(name, self.runs)
                else:
                    self.violations.append((seed, f"{name} is broken {seen.raised}".strip(), seen))
            most = self.row.most_bypasses
            if most is not None and not seen.beyond and (worst := bypasses(seen.trace)) > most:
                self.violations.append((seed, f"{worst} bypasses, and at most {most} by the checker", seen))

    def _follow(self, seed: int, seen: Seen) -> None:
        """Follow some of the runs in the model."""
        if self.runs % FOLLOW_EVERY:
            return
        if self.runs // FOLLOW_EVERY % FOLLOWED_TOGETHER == 1:
            self._follower = Follower(self.row.configuration)
        gap = self._follower.gap(seen)
        self.followed += gap is not None
        if gap:
            self.violations.append((seed, f"not a run of the model: {gap}", seen))

    @property
    def missed(self) -> list[str]:
        """The broken properties that no run has shown."""
        return [name for name in self.row.names[BROKEN] if name not in self.found]
