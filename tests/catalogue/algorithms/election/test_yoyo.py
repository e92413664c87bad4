"""Yo-yo on random connected graphs: the least identifier wins within the stated messages and rounds."""

from __future__ import annotations

from collections import Counter
from math import ceil, log2
from random import Random

import pytest

from tests.runs import Elections, Unkept, trace_of
from vez.core.trace import Sent
from vez.worlds.sim.scenario import Crash, Elect, Network

Edge = tuple[int, int]


def random_graph(seed: int) -> tuple[tuple[int, ...], tuple[Edge, ...]]:
    """A random tree and some more edges, with random names."""
    chance = Random(f"graph/{seed}")
    n = chance.randint(2, 14)
    ids = chance.sample(range(1, 100), n)
    edges = {edge(ids[chance.randrange(index)], ids[index]) for index in range(1, n)}
    edges |= {edge(*chance.sample(ids, 2)) for _ in range(chance.randrange(2 * n))}
    return tuple(ids), tuple(sorted(edges))


def edge(one: int, other: int) -> Edge:
    return min(one, other), max(one, other)


def first_sources(ids: tuple[int, ...], edges: tuple[Edge, ...]) -> int:
    return sum(all(process == min(edge) for edge in edges if process in edge) for process in ids)


@pytest.mark.parametrize("delay", ["constant(1)", "exponential(1)", "pareto(0.5, 2)"])
def test_counts_and_rounds_on_random_graphs(elect: Elections, unkept: Unkept, delay: str) -> None:
    for seed in range(120):
        ids, edges = random_graph(seed)
        run = elect("yoyo", ids=ids, edges=edges, seed=seed, network=Network(delay=delay))
        assert not unkept(run), seed
        assert {leader for leader, _ in run.leaders.values()} == {min(ids)}
        m = len(edges)
        assert run.messages["Name"] == 2 * m
        assert run.messages["Elected"] == 2 * m - len(ids) + 1
        rounds = Counter(
            event.fields["round"] for event in trace_of(run) if isinstance(event, Sent) and "round" in event.fields
        )
        assert max(rounds.values()) <= 2 * m
        assert max(rounds) <= ceil(log2(first_sources(ids, edges))) + 1, seed


def test_one_starter_wakes_the_graph(elect: Elections, unkept: Unkept) -> None:
    for seed in range(40):
        ids, edges = random_graph(seed)
        run = elect("yoyo", ids=ids, edges=edges, elect=(Elect(process=ids[-1], at_ms=3),), seed=seed)
        assert not unkept(run), seed


def test_a_neighbour_that_never_was_there_is_left_out(elect: Elections) -> None:
    run = elect("yoyo", ids=(1, 2, 3, 4), edges=((1, 2), (2, 3), (3, 4), (2, 4)), crash=(Crash(process=1),))
    assert {leader for leader, _ in run.leaders.values()} == {2}


def test_the_default_graph_is_a_grid(elect: Elections, unkept: Unkept) -> None:
    run = elect("yoyo", n=9)
    assert not unkept(run)
    assert trace_of(run).header.topology == "grid"


@pytest.mark.parametrize("broken", [(1, 2), (2, 3), (3, 4)])
def test_without_one_channel_a_redundant_network_has_one_leader(elect: Elections, broken: Edge) -> None:
    """A ring has two ways between any two processes, so one channel may be missing; a line has one."""

    def leaders(edges: tuple[Edge, ...]) -> set[int]:
        run = elect("yoyo", n=4, edges=tuple(channel for channel in edges if channel != broken))
        return {leader for leader, _ in run.leaders.values()}

    line = ((1, 2), (2, 3), (3, 4))
    assert leaders((*line, (1, 4))) == {1}
    assert leaders(line) == {1, broken[1]}
