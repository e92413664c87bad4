"""Every honest algorithm keeps its guarantees under random delays and contention, with repeated requests."""

from __future__ import annotations

import pytest

from vez.catalogue.algorithms import ALGORITHMS, find
from vez.core import Assumption
from vez.judge.properties import Status, judge
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Network, Workload

SEEDS = 240
DELAYS = ("uniform(0.1, 4)", "exponential(1)", "constant(1)", "lognormal(1, 1.2)")
THINKING = ("uniform(0, 4)", "exponential(10)", "constant(0)")
HONEST = tuple(
    name
    for name, algorithm in ALGORITHMS.items()
    # a lease is only as good as its bounds, which these delays do not keep
    if algorithm.role == "mutex" and not algorithm.wrong and Assumption.KNOWN_BOUNDS not in algorithm.assumes
)


def world(name: str, seed: int) -> Scenario:
    """2 to 7 contenders that ask 3 to 5 times. The seed also chooses the delays and the times between requests."""
    n = max(2 + seed % 6, find(name).smallest())
    if name.startswith("quorum"):
        n += 3  # the coordinators come on top
    return Scenario(
        algorithm=name,
        n=n,
        seed=seed,
        until_ms=20_000,
        network=Network(delay=DELAYS[seed // 6 % 4]),
        workload=Workload(requests=3 + seed % 3, think_ms=THINKING[seed // 24 % 3]),
    )


@pytest.mark.long
@pytest.mark.parametrize("name", HONEST)
def test_guarantees_hold_in_every_seed(name: str) -> None:
    algorithm = find(name)
    entries = 0
    for seed in range(SEEDS):
        run = simulate(world(name, seed), algorithm, debug=seed % 12 == 0)
        assert run.trace is not None
        for verdict in judge(run.trace):
            if verdict.promised:
                assert verdict.status is Status.HOLDS_IN_RUNS, f"seed {seed}: {verdict.name}: {verdict.evidence}"
        entries += sum(type(event).__name__ == "Entered" for event in run.trace)
    assert entries > SEEDS


@pytest.mark.parametrize("name", ["quorum", "maekawa"])
def test_what_may_deadlock_does_so_somewhere(name: str) -> None:
    """These algorithms do not promise progress, and in some run they really deadlock."""
    runs = (simulate(world(name, seed), find(name)).trace for seed in range(SEEDS))
    assert any(
        verdict.status is Status.BROKEN for trace in runs if trace for verdict in judge(trace, ["deadlock_freedom"])
    )


def test_the_wrong_one_is_caught() -> None:
    algorithm = find("ricart-agrawala-priority")
    assert algorithm.wrong
    runs = (simulate(world(algorithm.name, seed), algorithm).trace for seed in range(20))
    assert any(verdict.status is Status.BROKEN for trace in runs if trace for verdict in judge(trace, ["exclusion"]))


@pytest.mark.parametrize(
    "voting_sets",
    [
        [[1, 2], [2, 3], [3, 1]],
        [[1, 2, 3], [2, 4, 6], [3, 5, 6], [1, 4, 5], [2, 5, 7], [1, 6, 7], [3, 4, 7]],
    ],
    ids=["triangle", "projective plane of order 2"],
)
def test_maekawa_fair_on_given_voting_sets(voting_sets: list[list[int]]) -> None:
    for seed in range(SEEDS):
        scenario = world("maekawa-fair", seed).but(n=len(voting_sets), parameters={"voting_sets": voting_sets})
        run = simulate(scenario, find("maekawa-fair"))
        assert run.trace is not None
        broken = [verdict for verdict in judge(run.trace) if verdict.promised and verdict.status is Status.BROKEN]
        assert not broken, f"seed {seed}: {broken[0].evidence}"
