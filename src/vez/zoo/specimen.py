"""Specimen: a wrong algorithm, what it teaches, and the world in which it fails."""

from __future__ import annotations

from typing import Any

import msgspec

from vez.core import Election, Mutex, Process, Property
from vez.sim import Scenario
from vez.sim.scenario import Elect, Network, Workload

PREFIX = "zoo:"
"""What makes a specimen's name one that `vez sim` understands too."""


class Specimen(msgspec.Struct, frozen=True, kw_only=True):
    """One inhabitant of the zoo."""

    algorithm: type[Process]
    honest: type[Process]
    """The algorithm that it was meant to be; in the same world that one does not fail."""
    breaks: Property
    teaches: str
    """The lesson in one sentence, without giving the mistake away."""
    answer: str
    """The mistake, and how it leads to what is seen."""
    world: Scenario

    @property
    def name(self) -> str:
        """The name in the zoo, without the prefix."""
        return self.algorithm.name.removeprefix(PREFIX)


def crowd(algorithm: type[Mutex], n: int, **changes: Any) -> Scenario:
    """A few processes that want in again and again, with delays that vary, and nothing else going wrong."""
    scenario = Scenario(
        algorithm=algorithm.name,
        n=n,
        network=Network(delay="uniform(0.2, 3)"),
        workload=Workload(requests=3, think_ms="uniform(0, 6)", inside_ms="uniform(1, 3)"),
    )
    return scenario.but(**changes)


def ballot(algorithm: type[Election], n: int, **changes: Any) -> Scenario:
    """A few processes that all ask for an election, with delays that vary, and nothing else going wrong."""
    return Scenario(algorithm=algorithm.name, n=n, until_ms=300, network=Network(delay="uniform(0.2, 3)")).but(
        **changes
    )


def stand(*processes: int) -> tuple[Elect, ...]:
    """These ask for an election, one a moment after the other."""
    return tuple(Elect(process=process, at_ms=float(place)) for place, process in enumerate(processes))
