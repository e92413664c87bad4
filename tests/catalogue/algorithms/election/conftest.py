"""A fixture that runs an election."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs import Broken, Elections, Unkept, trace_of
from vez.catalogue.algorithms import find
from vez.judge.properties import Status, Verdict, judge
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Elect


@pytest.fixture(scope="session")
def elect() -> Elections:
    """Run an election by name; `starters` stand at time 0, everybody if none are given."""

    def run(name: str, *, starters: tuple[int, ...] = (), record: bool = True, **fields: Any) -> Run:
        if starters:
            fields["elect"] = tuple(Elect(process=process) for process in starters)
        return simulate(Scenario(algorithm=name, **fields), find(name), record=record)

    return run


@pytest.fixture(scope="session")
def unkept() -> Unkept:
    """The promised properties that do not hold in a run."""

    def found(run: Run) -> list[Verdict]:
        return [
            verdict for verdict in judge(trace_of(run)) if verdict.promised and verdict.status != Status.HOLDS_IN_RUNS
        ]

    return found


@pytest.fixture(scope="session")
def broken() -> Broken:
    """The names of the properties that a run breaks."""

    def found(run: Run) -> set[str]:
        return {verdict.name for verdict in judge(trace_of(run)) if verdict.status == Status.BROKEN}

    return found
