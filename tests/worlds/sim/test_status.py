"""The status of processes, in traces."""

from __future__ import annotations

from vez.catalogue.algorithms import find
from vez.core.trace import Status
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash


def test_a_process_that_comes_back_says_its_state_again() -> None:
    scenario = Scenario(algorithm="coordinator", n=3, crash=(Crash(process=1, at_ms=3, recover_ms=5),))
    trace = simulate(scenario, find("coordinator")).trace
    assert trace is not None
    said = [(event.at, event.text) for event in trace if isinstance(event, Status) and event.at <= 5000]
    assert said == [(0, "free, queue []"), (5000, "free, queue []")]
