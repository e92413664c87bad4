"""Topologies: the channels between processes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.core.topology import BidirectionalRing, Complete, Graph, Grid, Ring, Star, Topology
from vez.errors import Misuse, ProtocolBug

IDS = (17, 24, 1, 28)


def test_complete() -> None:
    assert Complete(IDS).neighbours(24) == (1, 17, 28)


def test_ring_goes_right_and_wraps() -> None:
    ring = Ring(IDS)
    assert [ring.right(process) for process in IDS] == [24, 1, 28, 17]
    with pytest.raises(ProtocolBug, match="to the right only"):
        ring.left(17)
    assert ring.neighbours(28) == (17,)


def test_ring_of_two_directions() -> None:
    assert BidirectionalRing(IDS).neighbours(24) == (1, 17)
    assert BidirectionalRing((1, 2)).neighbours(1) == (2,)
    assert [BidirectionalRing(IDS).left(process) for process in IDS] == [28, 17, 24, 1]


def test_star() -> None:
    star = Star(IDS)
    assert star.hub == 17
    assert star.neighbours(17) == (1, 24, 28)
    assert star.neighbours(1) == (17,)
    assert not star.has_channel(1, 28)


def test_grid_is_as_square_as_it_can_be() -> None:
    grid = Grid(range(1, 10))
    assert grid.columns == 3
    assert grid.neighbours(5) == (2, 4, 6, 8)
    assert grid.neighbours(1) == (2, 4)
    assert grid.neighbours(3) == (2, 6)
    assert Grid(range(1, 6), columns=2).neighbours(5) == (3,)


def test_graph_from_edges() -> None:
    graph = Graph((1, 2, 3, 4), [(1, 2), (3, 2), (2, 1)])
    assert graph.neighbours(2) == (1, 3)
    assert graph.neighbours(4) == ()
    assert graph.has_channel(1, 2)
    assert not graph.has_channel(1, 3)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Graph((1, 2), [(1, 3)]), "no process 3"),
        (lambda: Graph((1, 2), [(1, 1)]), "to itself"),
        (lambda: Ring(()), "at least one"),
        (lambda: Ring((1, 2, 1)), "unique"),
        (lambda: Grid((1, 2), columns=0), "at least one column"),
    ],
)
def test_nonsense_is_refused(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(Misuse, match=complaint):
        make()


@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=12, unique=True),
    st.sampled_from([Complete, BidirectionalRing, Star, Grid]),
)
def test_channels_go_both_ways_and_never_to_oneself(ids: list[int], kind: type[Topology]) -> None:
    topology = kind(ids)
    for process in ids:
        assert process not in topology.neighbours(process)
        assert list(topology.neighbours(process)) == sorted(topology.neighbours(process))
        for other in topology.neighbours(process):
            assert process in topology.neighbours(other)
