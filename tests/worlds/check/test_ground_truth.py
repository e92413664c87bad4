"""Exact counts that anybody can check against other tools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.check.models import ChangRobertsTla, LamportMutex
from vez.catalogue.algorithms import find
from vez.core.assumptions import Property
from vez.core.process import Process
from vez.worlds.check import Configuration
from vez.worlds.check.model.configuration import FOREVER
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.sim.scenario import Network, Scenario


def explore(algorithm: type[Process], **options: Any) -> Search:
    configuration = Configuration(Scenario(algorithm=algorithm.name, n=3), algorithm, **options)
    return Search(Model(configuration), (Property.EXCLUSION, Property.UNIQUENESS)).run()


def test_lamport_mutual_exclusion_has_the_states_of_the_public_specification() -> None:
    search = explore(LamportMutex, requests=FOREVER, bounds={"clock": 6})
    assert search.complete
    assert search.packed.store.count == 724_274
    assert search.depth + 1 == 61  # there the initial state has depth 1
    assert not search.broken


def test_chang_roberts_has_the_states_of_the_public_specification() -> None:
    search = explore(ChangRobertsTla, bounds={"too_early": 0})
    assert search.packed.store.count == 137
    assert search.depth + 1 == 10
    assert not search.broken


@pytest.mark.parametrize(
    ("name", "scenario", "states", "transitions", "depth"),
    [
        pytest.param(
            "ricart-agrawala",
            {"n": 4, "network": Network(fifo=True)},
            2_851_501,
            14_568_060,
            32,
            marks=pytest.mark.long,
        ),
        ("dolev-klawe-rodeh", {"ids": (5, 1, 8, 3, 6, 2, 7, 4)}, 774_247, 5_713_646, 72),
    ],
)
def test_the_counts_are_those_of_spin(
    name: str, scenario: dict[str, Any], states: int, transitions: int, depth: int
) -> None:
    """`bench/promela` has the same atomic steps; Spin counts one more transition, the start."""
    search = Search(Model(Configuration(Scenario(algorithm=name, **scenario), find(name)))).run()
    assert (search.packed.store.count, search.transitions, search.depth) == (states, transitions, depth)
