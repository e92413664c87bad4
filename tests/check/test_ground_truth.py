"""Exact counts that anybody can check against other tools."""

from __future__ import annotations

import pytest
from tests.check.models import ChangRobertsTla, LamportMutex

from vez.check import Configuration
from vez.check.configuration import FOREVER
from vez.check.model import Model
from vez.check.search import Search
from vez.core.assumptions import Property
from vez.core.process import Process
from vez.sim.scenario import Scenario


def explore(algorithm: type[Process], **options: object) -> Search:
    configuration = Configuration(Scenario(algorithm=algorithm.name, n=3), algorithm, **options)  # type: ignore[arg-type]
    return Search(Model(configuration), (Property.EXCLUSION, Property.UNIQUENESS)).run()


@pytest.mark.slow
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
