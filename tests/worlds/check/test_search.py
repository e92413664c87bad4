"""The packed search agrees with the naive search, state for state, under every kind of fault."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.worlds.check import naive
from vez.catalogue.algorithms import find
from vez.core.assumptions import Property
from vez.worlds.check import Budget, Configuration, Limits
from vez.worlds.check.liveness.graph import Graph
from vez.worlds.check.model.observers import Watch
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.check.search.packed import Packed
from vez.worlds.sim.scenario import Elect, Network, Scenario

CASES: list[Any] = [
    ("ricart-agrawala", 2, {"requests": 2}),
    ("ricart-agrawala", 3, {}),
    ("ricart-agrawala", 3, {"fifo": True}),
    ("ricart-agrawala", 2, {"requests": 2, "duplicates": 1}),
    ("ricart-agrawala", 2, {"requests": 2, "losses": 1, "duplicates": 1, "crashes": 1, "recoveries": 1}),
    ("coordinator", 3, {"requests": 2, "crashes": 1}),
    ("coordinator", 3, {"crashes": 1, "recoveries": 1, "amnesia": True}),
    ("coordinator", 3, {"requests": 2, "withdrawals": 1}),
    ("coordinator-lease", 3, {"requests": 2}),
    ("coordinator-lease", 3, {"without": ("bounded_stay",), "crashes": 1}),
    ("coordinator-lease", 3, {"timeouts": True, "losses": 1}),
    ("token-ring", 3, {"crashes": 1, "recoveries": 1}),
    ("token-ring", 2, {"requests": -1, "duplicates": 1}),
    ("token-ring", 3, {"requests": 2, "withdrawals": 2, "crashes": 1}),
    ("chang-roberts", 3, {}),
    ("chang-roberts", 2, {"crashes": 1, "mistakes": 1}),
    ("chang-roberts", 3, {"crashes": 1, "fifo": True, "elect": (1, 3)}),
    ("bully", 3, {"elect": (1,)}),
    ("bully", 3, {"longest_delay_ms": 0}),
    ("bully", 2, {"drift": 0.25}),  # begins again with a finer tick
    ("bully", 2, {"crashes": 1, "recoveries": 1}),
    ("bully", 2, {"losses": 1, "duplicates": 1}),
    ("bully", 2, {"crashes": 1, "crashes_inside": 1, "recoveries": 1, "longest_delay_ms": 0}),
    ("coordinator-lease", 2, {"timeouts": True, "crashes_inside": 2, "recoveries": 1, "amnesia": True}),
    pytest.param("chang-roberts", 2, {"crashes_inside": 1, "mistakes": 1, "duplicates": 1}, marks=pytest.mark.long),
    ("token-ring", 2, {"partitions": 2, "losses": 1}),
    ("ricart-agrawala", 2, {"requests": 2, "fifo": True, "partitions": 1, "crashes": 1}),
    pytest.param("ricart-agrawala", 3, {"partitions": 1}, marks=pytest.mark.long),
    ("bully", 2, {"partitions": 1, "crashes_inside": 1, "duplicates": 1}),
    ("coordinator-lease", 2, {"pauses": 1, "requests": 2}),
    ("coordinator-lease", 2, {"pauses": 2, "crashes": 1}),
    ("bully", 2, {"pauses": 1, "partitions": 1}),
    ("bully", 2, {"pauses": 1, "crashes": 1, "fifo": True}),
    ("token-ring", 3, {"crashes_inside": 1, "withdrawals": 1, "victims": (1, 2)}),
]


def configuration(name: str, n: int, options: dict[str, Any]) -> Configuration:
    options = dict(options)
    budget = Budget(**{kind: options.pop(kind) for kind in Budget.__struct_fields__ if kind in options})
    elect = tuple(Elect(process=process) for process in options.pop("elect", ()))
    parameters = options.pop("set", {})
    scenario = Scenario(
        algorithm=name, n=n, parameters=parameters, network=Network(fifo=options.pop("fifo", None)), elect=elect
    )
    return Configuration(scenario, find(name), budget=budget, **options)


@pytest.mark.parametrize(("name", "n", "options"), CASES, ids=str)
def test_states_transitions_and_ends_are_those_of_the_oracle(name: str, n: int, options: dict[str, Any]) -> None:
    chosen = configuration(name, n, options)
    expected = naive.explore(Model(chosen))
    model = Model(configuration(name, n, options))  # the oracle may have made the tick of the other finer
    search = Search(model, (Property.EXCLUSION,)).run()
    found = (search.packed.store.count, search.transitions, search.depth, len(search.end_states()))
    assert found == (expected.states, expected.transitions, expected.depth, expected.ends)
    assert search.ends_of_layers == expected.layers
    assert (Property.EXCLUSION in search.broken) == (expected.first_two_inside is not None)
    if expected.first_two_inside is not None:
        assert _depth(search, search.broken[Property.EXCLUSION]) == expected.first_two_inside


@pytest.mark.parametrize(
    ("name", "n", "options"),
    [
        ("majority", 2, {"capacity": 1, "bounds": {"term": 1}}),
        ("lamport", 2, {"requests": -1, "bounds": {"clock": 7}}),
        ("quorum-retry", 2, {"capacity": 1, "bounds": {"number": 2}}),
    ],
    ids=str,
)
def test_bounds_cut_the_same_steps_off(name: str, n: int, options: dict[str, Any]) -> None:
    chosen = configuration(name, n, options)
    expected, model = naive.explore(Model(chosen)), Model(chosen)
    search = Search(model).run()
    assert model.machine.cut
    found = (search.packed.store.count, search.transitions, search.depth)
    assert found == (expected.states, expected.transitions, expected.depth)


def test_a_stored_state_unpacks_to_what_was_packed() -> None:
    chosen = configuration("bully", 2, {"crashes": 1, "recoveries": 1, "longest_delay_ms": 0})
    oracle = Model(chosen)
    expected = {_plain(oracle, state) for state in naive.explore(oracle).all}
    model = Model(chosen)
    search = Search(model).run()
    found = {_plain(model, search.packed.unpack(number)) for number in range(search.packed.store.count)}
    assert found == expected


def test_an_observer_is_followed_alike() -> None:
    chosen = configuration("coordinator-lease", 3, {"timeouts": True, "requests": 2})
    expected = naive.explore(Model(chosen, Watch((Property.FENCED_EXCLUSION,))))
    search = Search(Model(chosen, Watch((Property.FENCED_EXCLUSION,)))).run()
    assert (search.packed.store.count, search.transitions) == (expected.states, expected.transitions)


def test_columns_grow_when_a_number_does_not_fit() -> None:
    chosen = configuration("ricart-agrawala", 3, {"requests": 1})
    packed = Packed(Model(chosen))
    packed.insert_initial()
    before = packed.unpack(0)
    packed.store.widen(0, 20)
    packed.store.widen(2, 30)
    assert packed.unpack(0) == before


def test_a_limit_stops_the_search_and_is_told() -> None:
    chosen = configuration("ricart-agrawala", 3, {})
    search = Search(Model(chosen), limits=Limits(states=1000)).run()
    assert not search.complete
    assert "--max-states" in str(search.stopped)
    assert 1000 <= search.packed.store.count < 2879


def _depth(search: Search, state: int) -> int:
    depth = 0
    while int(search.packed.store.parents[state]) != state:
        state, depth = int(search.packed.store.parents[state]), depth + 1
    return depth


def _plain(model: Model, state: Any) -> Any:
    """A state in words that do not depend on the order of numbering."""
    channels = [sorted(repr(model.messages[number]) for number in content) for content in state.channels]
    return repr([model.locals[number] for number in state.locals]), repr(channels), state.budget


@pytest.mark.parametrize("seed", range(60))
def test_components_are_those_that_reach_each_other(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.randint(1, 8)
    steps = sorted({(chance.randrange(size), chance.randrange(size)) for _ in range(chance.randint(1, 14))})
    reach = {(one, one) for one in range(size)} | set(steps)
    for _ in range(size):
        reach |= {(one, other) for one, middle in reach for start, other in reach if start == middle}
    together = {tuple(b for b in range(size) if {(a, b), (b, a)} <= reach) for a in range(size)}
    expected = {states for states in together if len(states) > 1 or (states[0], states[0]) in steps}
    source, target = (np.array(ends, dtype=np.int32) for ends in zip(*steps, strict=True))
    graph = Graph(source, target, np.zeros(len(steps), dtype=np.int32), size)
    assert {tuple(states) for states in graph.components()} == expected
