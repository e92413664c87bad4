"""With time, the packed search agrees with the model on random protocols, state for state."""

from __future__ import annotations

import random

import pytest

from tests.worlds.check import naive
from tests.worlds.crosscheck.protocols import RandomElection, RandomMutex
from vez.core import Assumption, Io, Parameter
from vez.core.trace import Delivered
from vez.judge.properties.assumptions import broken_assumptions
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.sim.scenario import Network, Scenario

ASSUMES = (Assumption.KNOWN_BOUNDS, Assumption.BOUNDED_STAY)

SEEDS = (2, 5, 12, 19, 22, 23, 26, 35, 39, 43, 44, 47, 48, 50, 52, 54, 55, 61, 64, 70, 72, 75, 80, 81, 83, 93, 100, 102)
"""Those of 0 to 102 with 60 to 700 states: the model in plain Python is slow."""


class TimedMutex(RandomMutex):
    """Two timers, and stays that may have a bound."""

    name = "timed-mutex"
    assumes = ASSUMES
    stay_bound: Parameter[float] = -1.0
    """In ms; negative for none."""

    def on_done(self, io: Io) -> None:
        io.set_timer("bell", 1.5)
        super().on_done(io)

    def longest_stay_ms(self) -> float | None:
        return None if self.stay_bound < 0 else self.stay_bound


class TimedElection(RandomElection):
    """Random timed elections."""

    name = "timed-election"
    assumes = ASSUMES[:1]


def drawn(seed: int) -> Configuration:
    """A small configuration with time."""
    chance = random.Random(seed)
    algorithm = chance.choice((TimedMutex, TimedElection))
    parameters = {"seed": seed}
    if algorithm is TimedMutex:
        parameters["stay_bound"] = chance.choice((-1, 0, 1, 2))
    fault = chance.choice(("", "crashes", "losses", "duplicates", "mistakes"))
    budget = {fault: 1} if fault else {}
    if fault == "crashes" and chance.random() < 0.5:
        budget["recoveries"] = 1
    return Configuration(
        Scenario(algorithm=algorithm.name, n=2, parameters=parameters, network=Network(fifo=chance.random() < 0.4)),
        algorithm,
        budget=Budget(**budget),
        longest_delay_ms=chance.choice((0, 1, 1, 2, 1.5)),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_states_and_steps_are_those_of_the_model(seed: int) -> None:
    oracle = Model(drawn(seed))
    expected = naive.explore(oracle)
    model = Model(drawn(seed))
    search = Search(model).run()
    found = (search.packed.store.count, search.transitions, search.depth, len(search.end_states()))
    assert found == (expected.states, expected.transitions, expected.depth, expected.ends)
    states = {_plain(model, search.packed.unpack(number)) for number in range(search.packed.store.count)}
    assert states == {_plain(oracle, state) for state in expected.all}


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_counterexamples_are_replayed_within_the_bounds(seed: int) -> None:
    chosen = drawn(seed)
    clock = chosen.clock
    for example in check(chosen).counterexamples.values():
        sent = example.trace.messages()
        delays = [event.at - sent[event.message].at for event in example.trace if isinstance(event, Delivered)]
        if clock.delay_us and clock.stay_us != 0:  # the simulator's smallest wait is 1 microsecond
            assert max(delays, default=0) <= clock.delay_us
            assert "bounded_stay" not in broken_assumptions(example.trace)


def _plain(model: Model, state: State) -> str:
    span = model.configuration.clock.span
    pairs = [[divmod(under_way, span) for under_way in content] for content in state.channels]
    channels = [[(repr(model.messages[number]), left) for number, left in content] for content in pairs]
    if not model.fifo:
        channels = [sorted(content) for content in channels]
    return repr(([model.locals[number] for number in state.locals], channels, state.budget))
