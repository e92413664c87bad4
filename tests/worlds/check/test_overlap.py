"""Two cores find what one finds: the same states under the same numbers, and so the same runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.worlds.check.test_search import configuration
from vez.core.assumptions import Property
from vez.worlds.check import Limits, check
from vez.worlds.check.liveness import graph
from vez.worlds.check.liveness.graph import Graph
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search import breadth_first as search
from vez.worlds.check.search import packed
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.check.search.overlap import Overlap

CASES: list[tuple[str, int, dict[str, Any], bool]] = [
    ("ricart-agrawala", 3, {"fifo": True}, False),
    ("ricart-agrawala", 2, {"requests": 2, "losses": 1, "duplicates": 1, "crashes": 1}, False),
    ("token-ring", 3, {"crashes": 1, "recoveries": 1}, False),
    ("token-ring", 4, {"requests": 2}, True),
    ("coordinator", 4, {"crashes": 1, "recoveries": 1}, False),
]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches, so that the second thread has work in a small graph, and columns become too narrow meanwhile."""
    for module in (search, packed, graph):
        monkeypatch.setattr(module, "BATCH", 96)
    monkeypatch.setattr(search, "ENOUGH", 24)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(("name", "n", "options", "symmetry"), CASES, ids=str)
def test_two_workers_find_what_one_finds(name: str, n: int, options: dict[str, Any], symmetry: bool) -> None:
    chosen, properties = configuration(name, n, options), (Property.EXCLUSION,)
    one, two = (Search(Model(chosen), properties, symmetry=symmetry, workers=workers).run() for workers in (1, 2))
    for attribute in ("transitions", "depth", "broken", "cyclic", "stopped"):
        assert getattr(one, attribute) == getattr(two, attribute)
    count = one.packed.store.count
    assert count == two.packed.store.count > 96
    assert np.array_equal(one.end_states(), two.end_states())
    assert np.array_equal(one.packed.store.parents[:count], two.packed.store.parents[:count])
    for first, second in zip(one.packed.store.slice(0, count), two.packed.store.slice(0, count), strict=True):
        assert np.array_equal(first, second)
    if not symmetry:
        graphs = [Graph.of(found) for found in (one, two)]
        assert np.array_equal(graphs[0].target, graphs[1].target)


@pytest.mark.usefixtures("small_batches")
def test_two_workers_show_the_same_run() -> None:
    chosen = configuration("coordinator", 4, {"crashes": 1, "recoveries": 1})
    one, two = (check(chosen, workers=workers) for workers in (1, 2))
    assert one.broken == two.broken
    assert "exclusion" in one.broken
    for name, example in one.counterexamples.items():
        assert example.words == two.counterexamples[name].words


@pytest.mark.usefixtures("small_batches")
def test_two_workers_stop_where_one_stops() -> None:
    chosen = configuration("ricart-agrawala", 3, {"fifo": True})
    one, two = (Search(Model(chosen), limits=Limits(states=1000), workers=workers).run() for workers in (1, 2))
    assert one.stopped == two.stopped is not None
    assert 1000 <= one.packed.store.count == two.packed.store.count < 2551
    assert (one.transitions, one.depth) == (two.transitions, two.depth)


def test_what_fails_beside_fails_where_it_is_waited_for() -> None:
    overlap = Overlap(2)
    overlap.start(lambda: np.zeros(1)[2], beside=True)
    with pytest.raises(IndexError):
        overlap.settle()
    overlap.close()
