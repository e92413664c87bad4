"""Traces for pictures: every kind of fault, for mutual exclusion and for election."""

from __future__ import annotations

from functools import cache

from vez.catalogue.algorithms import find
from vez.core.trace import Trace
from vez.judge.properties import judge
from vez.judge.properties.verdict import Verdict
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Elect, Fate, Network, Partition, Pause, Suspicion, Want

SCENARIOS = {
    "coordinator": Scenario(algorithm="coordinator", n=4),
    "slow-holder": Scenario(
        algorithm="coordinator-lease",
        n=4,
        want=(
            Want(process=3, at_ms=0, inside_ms=30),
            Want(process=4, at_ms=1, inside_ms=5),
            Want(process=2, at_ms=3, inside_ms=3),
        ),
    ),
    "pause": Scenario(
        algorithm="coordinator-lease",
        n=3,
        want=(Want(process=3, at_ms=0, inside_ms=4), Want(process=2, at_ms=1, inside_ms=12)),
        pause=(Pause(process=3, at_ms=4, for_ms=15),),
    ),
    "crash-inside": Scenario(
        algorithm="coordinator-lease",
        n=3,
        want=(Want(process=3, at_ms=0, inside_ms=20), Want(process=2, at_ms=1, inside_ms=2)),
        crash=(Crash(process=3, at_ms=5, recover_ms=12),),
    ),
    "crash": Scenario(algorithm="coordinator", n=4, crash=(Crash(process=1, at_ms=6),)),
    "contended": Scenario(
        algorithm="ricart-agrawala", n=4, want=tuple(Want(process=process) for process in (1, 2, 3, 4))
    ),
    "token": Scenario(algorithm="token-ring", n=5),
    "lossy": Scenario(
        algorithm="ricart-agrawala",
        n=3,
        seed=3,
        until_ms=200,
        network=Network(loss=0.1, duplicate=0.3, delay="uniform(0.5, 2)"),
    ),
    "one-way": Scenario(algorithm="coordinator", n=3, partition=(Partition(at_ms=2, until_ms=9, one_way=((1, 3),)),)),
    "bully": Scenario(algorithm="bully", n=5, crash=(Crash(process=5, at_ms=12),)),
    "bully-back": Scenario(
        algorithm="bully",
        n=4,
        elect=(Elect(process=1),),
        crash=(Crash(process=4, at_ms=12, recover_ms=24, memory=False),),
        suspect=(Suspicion(process=1, peer=3, at_ms=40, until_ms=45),),
    ),
    "partition": Scenario(
        algorithm="bully",
        n=5,
        elect=(Elect(process=1), Elect(process=2, at_ms=12), Elect(process=1, at_ms=32)),
        partition=(Partition(at_ms=8, until_ms=30, groups=((1, 2), (3, 4, 5))),),
    ),
    "ring": Scenario(algorithm="chang-roberts", n=6),
    "ring-lost": Scenario(algorithm="chang-roberts", n=3, message=(Fate(sender=3, to=1, number=1, lost=True),)),
    "many": Scenario(algorithm="ricart-agrawala", n=12),
}


@cache
def run(name: str) -> tuple[Trace, tuple[Verdict, ...]]:
    """A trace and the verdicts on it."""
    scenario = SCENARIOS[name]
    trace = simulate(scenario, find(scenario.algorithm)).trace
    if trace is None:
        raise AssertionError("the run was not recorded")
    return trace, judge(trace)
