"""Every honest election keeps its promises in random rings and groups, under several delays."""

from __future__ import annotations

from random import Random

import pytest

from tests.runs import Elections, Unkept
from vez.catalogue.algorithms import ALGORITHMS
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Detector, Elect, Nemesis, Network

ANY_DELAY = ("constant(1)", "uniform(0.1, 3)", "exponential(1)", "pareto(0.5, 2)")
BOUNDED_DELAY = ("constant(1)", "uniform(0.1, 1.9)")
"""The bullies' timers prove death only where delays are bounded."""

HONEST = sorted(name for name, kind in ALGORITHMS.items() if kind.role == "election" and not kind.wrong)


@pytest.mark.parametrize("name", HONEST)
def test_promises_are_kept(elect: Elections, unkept: Unkept, name: str) -> None:
    delays = BOUNDED_DELAY if name.startswith("bully") else ANY_DELAY
    for seed in range(36):
        chance = Random(f"sweep/{seed}")
        n = 2 + seed % 7
        ids = tuple(chance.sample(range(1, 50), n))
        some = tuple(chance.sample(ids, chance.randint(1, n)))
        starters = tuple(Elect(process=process, at_ms=chance.choice((0, 0.5, 3, 9))) for process in some)
        run = elect(
            name, ids=ids, seed=seed, elect=starters, until_ms=500, network=Network(delay=delays[seed % len(delays)])
        )
        assert not unkept(run), (seed, ids, starters, unkept(run))


@pytest.mark.parametrize("name", HONEST)
def test_handlers_depend_on_their_state_and_event_alone(name: str) -> None:
    scenario = Scenario(algorithm=name, n=4, until_ms=60, network=Network(delay="uniform(0.5, 1.5)"))
    assert simulate(scenario, ALGORITHMS[name], debug=True).trace == simulate(scenario, ALGORITHMS[name]).trace


@pytest.mark.parametrize("name", ["dolev-klawe-rodeh"])
def test_without_fifo_it_breaks(elect: Elections, unkept: Unkept, name: str) -> None:
    """The assumption is needed: messages that overtake one another confuse the two steps of a phase."""
    broken = 0
    for seed in range(60):
        network = Network(delay="exponential(1)", fifo=False)
        broken += bool(unkept(elect(name, n=6, seed=seed, network=network)))
    assert broken


@pytest.mark.parametrize("name", ["bully", "bully-stable", "chang-roberts", "luis"])
def test_promises_survive_crashes(elect: Elections, unkept: Unkept, name: str) -> None:
    """Any number of crashes, early and late, noticed sooner or later."""
    for seed in range(120):
        chance = Random(f"crashes/{seed}")
        n = chance.randint(2, 7)
        run = elect(
            name, ids=tuple(chance.sample(range(1, 30), n)), seed=seed, until_ms=500,
            network=Network(delay=chance.choice(("constant(1)", "uniform(0.2, 1)"))),
            nemesis=Nemesis(
                crashes=chance.randint(1, n - 1), recoveries=2 if name == "bully-stable" else 0,
                within_ms=chance.choice((4, 10, 40)),
            ),
            detector=Detector(delay_ms=chance.choice((0.5, 2, 5))),
        )  # fmt: skip
        assert not unkept(run), (seed, unkept(run))
        assert run.end == "quiet", seed
