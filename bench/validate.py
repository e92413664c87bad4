"""Validation of long traces: time for 100,000 events, beside the simulation that recorded them.

The time includes reading the file. Each algorithm is measured three times, alternately with the simulation, and the
least time of each is taken, because other work of the machine only adds time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from vez.catalogue.algorithms import find
from vez.core.trace import Trace
from vez.core.trace_file import decode
from vez.judge.validate import Answer, validate
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Nemesis, Network, Workload

T = TypeVar("T")
EVENTS = 100_000
ROUNDS = 3
WORLDS: dict[str, Scenario] = {
    scenario.algorithm: scenario.but(n=5, until_ms=25_000)
    for scenario in (
        Scenario(algorithm="ricart-agrawala", workload=Workload(requests=900, think_ms=1)),
        Scenario(algorithm="maekawa-fair", workload=Workload(requests=900, think_ms=1)),
        Scenario(algorithm="elected-coordinator", workload=Workload(requests=900, think_ms=1)),
        Scenario(
            algorithm="majority",
            network=Network(loss=0.05, duplicate=0.05),
            nemesis=Nemesis(crashes=2, recoveries=2, pauses=2, partitions=2),
        ),
    )
}


def main() -> None:
    """Print one line for each algorithm."""
    print(f"{'algorithm':22} {'events':>9} {'simulate':>10} {'validate':>10} {'ratio':>7} {'100,000 events':>15}")
    for name, world in WORLDS.items():
        _measure(name, world)


def _measure(name: str, world: Scenario) -> None:
    algorithm = find(name)
    simulated, validated, events = [], [], 0
    for _ in range(ROUNDS):
        seconds, raw = _timed(partial(_recorded, world))
        simulated.append(seconds)
        seconds, trace = _timed(partial(_validated, raw, name))
        validated.append(seconds)
        events = len(trace.events)
    one, other = min(simulated), min(validated)
    per = other / events * EVENTS
    print(
        f"{algorithm.name:22} {events:>9,} {one:>8.2f} s {other:>8.2f} s {other / one:>7.2f} {per:>13.2f} s", flush=True
    )


def _recorded(world: Scenario) -> bytes:
    trace = simulate(world, find(world.algorithm)).trace
    assert trace is not None
    return trace.to_bytes()


def _validated(raw: bytes, name: str) -> Trace:
    trace = decode(raw, name)
    found = validate(trace, find(name))
    assert found.answer is Answer.POSSIBLE, found.finding
    return trace


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    result = work()
    return time.process_time() - started, result
