"""Specimen: a wrong algorithm, its lesson, and the scenario in which it fails."""

from __future__ import annotations

from typing import Any

import msgspec

from vez.core import Election, Mutex, Process, Property
from vez.worlds.sim import Scenario
from vez.worlds.sim.scenario import Elect, Network, Workload

PREFIX = "zoo:"
"""`vez sim` finds a specimen by this prefix and its name."""


class Specimen(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong algorithm of the zoo."""

    algorithm: type[Process]
    honest: type[Process]
    """The correct algorithm; it does not fail in the same world."""
    breaks: Property
    teaches: str
    """The lesson in one sentence; does not reveal the mistake."""
    answer: str
    """The mistake, how it leads to the failure, and the fix."""
    world: Scenario
    states: int = 100_000
    """The number of states that the checker explores to find a smaller run. The default takes about a second; larger if
    that many do not suffice."""

    @property
    def name(self) -> str:
        """The name in the zoo, without the prefix."""
        return self.algorithm.name.removeprefix(PREFIX)


def crowd(algorithm: type[Mutex], n: int, **changes: Any) -> Scenario:
    """Processes that want in again and again, with random delays and no faults."""
    scenario = Scenario(
        algorithm=algorithm.name,
        n=n,
        network=Network(delay="uniform(0.2, 3)"),
        workload=Workload(requests=3, think_ms="uniform(0, 6)", inside_ms="uniform(1, 3)"),
    )
    return scenario.but(**changes)


def ballot(algorithm: type[Election], n: int, **changes: Any) -> Scenario:
    """Processes that all ask for an election, with random delays and no faults."""
    return Scenario(algorithm=algorithm.name, n=n, until_ms=300, network=Network(delay="uniform(0.2, 3)")).but(
        **changes
    )


def stand(*processes: int) -> tuple[Elect, ...]:
    """Let these processes ask for an election, 1 ms apart."""
    return tuple(Elect(process=process, at_ms=float(place)) for place, process in enumerate(processes))
