"""Same seed, same trace: on any machine, under any PYTHONHASHSEED, watched or not, replayed or not."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Nemesis, Network, Want, Workload

STORM: dict[str, Any] = {
    "network": Network(delay="exponential(1)", loss=0.05, duplicate=0.05, reorder=0.1),
    "nemesis": Nemesis(crashes=2, recoveries=1, pauses=1, partitions=1),
}
PROGRAM = """
import hashlib, sys
from vez.catalogue.algorithms import ALGORITHMS
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Nemesis, Network
for name, algorithm in sorted(ALGORITHMS.items()):
    network = Network(delay="lognormal(1, 0.7)", loss=0.05, duplicate=0.05, reorder=0.1)
    nemesis = Nemesis(crashes=2, recoveries=1, pauses=1, partitions=1)
    run = simulate(Scenario(algorithm=name, n=5, seed=11, network=network, nemesis=nemesis), algorithm)
    print(name, hashlib.sha256(run.trace.to_bytes()).hexdigest())
"""


TALKATIVE = ("elected-coordinator", "invitation", "majority")
"""Their heartbeats make a run ten times as long as those of the others."""


def storm(name: str, seed: int) -> Scenario:
    return Scenario(algorithm=name, n=5, seed=seed, **STORM)


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_hash_seed_does_not_matter(hash_seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    environment["PYTHONHASHSEED"] = "99"
    again = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == again.stdout
    assert len(run.stdout.splitlines()) == len(ALGORITHMS)


def test_a_known_trace_has_known_bytes() -> None:
    """A trace must not change from release to release without somebody noticing."""
    run = simulate(
        Scenario(algorithm="ricart-agrawala", n=3, seed=7, network=Network(delay="uniform(0.5, 1.5)")),
        find("ricart-agrawala"),
    )
    assert run.trace is not None
    assert hashlib.sha256(run.trace.to_bytes()).hexdigest() == KNOWN


KNOWN = "68f223d0472c3fc081919c99f36edf930ec939c2c3619bb5faf2b34fc8d92ebd"


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("delay", ["constant(1)", "uniform(0.5, 1.5)"])
def test_watching_changes_nothing(name: str, delay: str) -> None:
    for seed in range(20):
        scenario = Scenario(algorithm=name, n=6, seed=seed, network=Network(delay=delay, fifo=False))
        watched = simulate(scenario, find(name))
        alone = simulate(scenario, find(name), record=False)
        assert (alone.messages, alone.leaders, alone.end) == (watched.messages, watched.leaders, watched.end)


WORKLOADS: dict[str, dict[str, Any]] = {
    "at once": {"workload": Workload(requests=4, think_ms=0, inside_ms=1)},
    "whole delays": {"workload": Workload(requests=3, think_ms=1, inside_ms=2)},
    "between the ticks": {"workload": Workload(requests=3, think_ms=0.3, inside_ms=0.5)},
    "drawn": {"workload": Workload(requests=3, think_ms="uniform(0, 3)", inside_ms="exponential(2)")},
    "given": {
        "want": tuple(Want(process=4 + k % 2, at_ms=at, inside_ms=k) for k, at in enumerate((0, 0, 1, 3.5, 0.25, 1)))
    },
    "too many events": {"workload": Workload(requests=9, think_ms=0, inside_ms=1), "max_events": 150},
    "too little time": {"workload": Workload(requests=9, think_ms=0, inside_ms=1), "until_ms": 17},
}


@pytest.mark.parametrize("name", sorted(name for name, algorithm in ALGORITHMS.items() if algorithm.role == "mutex"))
@pytest.mark.parametrize("work", WORKLOADS)
def test_watching_changes_nothing_whatever_the_application_does(name: str, work: str) -> None:
    for delay in ("constant(1)", "constant(0.3)", "uniform(0.5, 1.5)"):
        scenario = Scenario(algorithm=name, n=6, network=Network(delay=delay, fifo=False)).but(**WORKLOADS[work])
        watched = simulate(scenario, find(name))
        alone = simulate(scenario, find(name), record=False)
        assert (alone.messages, alone.end, alone.steps) == (watched.messages, watched.end, watched.steps)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_debug_runs_give_the_same_trace(name: str) -> None:
    for seed in range(4 if name in TALKATIVE else 10):
        assert (
            simulate(storm(name, seed), find(name), debug=True).trace == simulate(storm(name, seed), find(name)).trace
        )


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_a_run_written_down_replays_event_by_event(name: str) -> None:
    for seed in range(8 if name in TALKATIVE else 25):
        run = simulate(storm(name, seed), find(name), explain=True)
        assert run.explicit is not None
        assert run.trace is not None
        again = simulate(run.explicit.but(seed=seed + 1), find(name))
        assert again.trace is not None
        assert again.trace.events == run.trace.events, f"seed {seed}"


def test_different_seeds_give_different_runs() -> None:
    traces = {
        trace_of(simulate(Scenario(algorithm="ricart-agrawala", seed=seed), find("ricart-agrawala"))).to_bytes()
        for seed in range(20)
    }
    assert len(traces) == 20
