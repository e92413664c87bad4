"""The costs of a search besides searching: imports, and the frequency of garbage collection."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from vez.catalogue.algorithms import find
from vez.worlds.check import Configuration, Limits, Progress, check
from vez.worlds.check.search.memory import COLLECT_AFTER, rare_collections
from vez.worlds.sim.scenario import Scenario

PROGRAM = """
import sys
from vez.catalogue.algorithms import find
from vez.worlds.check import Configuration, check
from vez.worlds.sim.scenario import Scenario
report = check(Configuration(Scenario(algorithm={name!r}, n=3), find({name!r})))
print(report.states > 10, "numpy" in sys.modules, "numpy.ma" in sys.modules)
"""


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize("name", ["token-ring", "chang-roberts", "naimi-trehel"])
def test_masked_arrays_are_not_imported(name: str) -> None:
    """`import numpy.ma` takes longer than the whole search of a small instance; `np.unique` and others need it."""
    command = [sys.executable, "-c", PROGRAM.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "True", "False"]


def test_a_search_looks_for_garbage_less_often_and_restores_the_threshold() -> None:
    gc.set_threshold(701, 11, 12)
    seen: list[tuple[int, int, int]] = []

    def watch(_: Progress) -> None:
        seen.append(gc.get_threshold())

    scenario = Scenario(algorithm="ricart-agrawala", n=3)
    check(Configuration(scenario, find("ricart-agrawala"), requests=1), watch=watch, limits=Limits(states=2000))
    assert set(seen) == {(COLLECT_AFTER, 11, 12)}
    assert gc.get_threshold() == (701, 11, 12)


def test_searches_that_overlap_restore_the_first_threshold() -> None:
    gc.set_threshold(701, 11, 12)
    one, other = rare_collections(), rare_collections()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold()[0] == COLLECT_AFTER, "the other search still runs"
    other.__exit__(None, None, None)
    assert gc.get_threshold() == (701, 11, 12)


@pytest.mark.parametrize("first", [0, 10 * COLLECT_AFTER])
def test_a_program_that_collects_less_often_still_is_left_alone(first: int) -> None:
    """0 means: never."""
    gc.set_threshold(first, 11, 12)
    with rare_collections():
        assert gc.get_threshold() == (first, 11, 12)
    assert gc.get_threshold() == (first, 11, 12)


def test_a_search_that_fails_restores_the_threshold() -> None:
    gc.set_threshold(701, 11, 12)
    with pytest.raises(ZeroDivisionError), rare_collections():
        raise ZeroDivisionError
    assert gc.get_threshold() == (701, 11, 12)
