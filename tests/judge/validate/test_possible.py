"""Every run of the simulator and every counterexample of the checker is a possible run of its own algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.catalogue.load import load_algorithm
from vez.core import Election, Io, Message
from vez.core.process import Process
from vez.core.trace import Noted, Trace
from vez.core.trace_file import decode
from vez.errors import ProtocolBug
from vez.judge.validate import Answer, validate
from vez.worlds.check import Budget, Configuration, Limits, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Drift, Nemesis, Network, Workload
from vez.worlds.sim.scenario import load as load_scenario

SCENARIOS = sorted(Path(__file__).parents[3].glob("scenarios/**/*.toml"))
DETECTORS = ("perfect", "none", "heartbeat", "adaptive", "phi")


def assert_possible(trace: Trace, algorithm: type[Process]) -> None:
    """Assert that the trace is possible, both in memory and after it was written to a file and read."""
    for one in (trace, decode(trace.to_bytes(), "copy")):
        found = validate(one, algorithm)
        assert found.answer is Answer.POSSIBLE, found.finding


def some(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


NETWORKS = st.builds(
    Network,
    delay=some("constant(1)", "exponential(1)", "uniform(0.2, 3)"),
    loss=some(0.0, 0.1),
    duplicate=some(0.0, 0.1),
    reorder=some(0.0, 0.2),
    fifo=some(None, True, False),
)
FAULTS = st.builds(
    Nemesis,
    crashes=some(0, 1, 2),
    recoveries=some(0, 1, 2),
    memory=st.booleans(),
    pauses=some(0, 2),
    partitions=some(0, 1),
)


@st.composite
def worlds(draw: st.DrawFn, name: str) -> Scenario:
    """Any world in which the algorithm can be simulated, even if it keeps few of its assumptions."""
    algorithm = find(name)
    changes: dict[str, Any] = {}
    if hasattr(algorithm, "on_suspect"):
        changes["detector"] = Detector(kind=draw(some(*DETECTORS)))
    if algorithm.role == "mutex" and draw(st.booleans()):
        changes["workload"] = Workload(requests=2, wait_ms=draw(some(None, "uniform(0, 10)")))
    if draw(some(False, False, True)):
        changes["drift"] = (Drift(process=1, rate=draw(some(0.5, 2.0))),)
    if draw(some(False, True)):
        after = draw(some(None, 0, 1, 2))
        at_ms = draw(some(0, 3.0))
        changes["crash"] = (Crash(process=2, at_ms=at_ms, recover_ms=draw(some(None, 9.0)), after_actions=after),)
    return Scenario(
        algorithm=name,
        n=draw(some(3, 4)),
        seed=draw(st.integers(0, 10**6)),
        until_ms=draw(some(40.0, 1000.0)),
        max_events=2000,  # duplicated requests of some algorithms multiply for ever
        network=draw(NETWORKS),
        nemesis=draw(FAULTS),
        **changes,
    )


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_runs_of_the_simulator_with_any_faults(name: str) -> None:
    @settings(max_examples=4)
    @given(worlds(name))
    def holds(world: Scenario) -> None:
        assert_possible(trace_of(simulate(world, find(name))), find(name))

    holds()


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize("name", sorted(name for name, kind in ALGORITHMS.items() if hasattr(kind, "on_suspect")))
def test_runs_with_every_detector(name: str, kind: Any) -> None:
    world = Scenario(algorithm=name, n=4, until_ms=60, detector=Detector(kind=kind), nemesis=Nemesis(crashes=1))
    assert_possible(trace_of(simulate(world, find(name))), find(name))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_runs_of_the_shipped_scenarios(path: Path) -> None:
    scenario = load_scenario(path)
    algorithm = load_algorithm(scenario.algorithm)
    assert_possible(trace_of(simulate(scenario, algorithm)), algorithm)


COUNTEREXAMPLES: dict[str, tuple[int, Budget]] = {
    "maekawa": (3, Budget()),
    "coordinator": (3, Budget(crashes=1)),
    "coordinator-lease": (2, Budget(crashes=1)),
    "ricart-agrawala": (2, Budget(losses=1)),
    "suzuki-kasami": (2, Budget(duplicates=1)),
    "token-ring": (3, Budget(crashes=1)),
    "raymond": (3, Budget(losses=1)),
    "chang-roberts": (3, Budget(losses=1)),
    "ring-anonymous": (2, Budget()),
}


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_counterexamples_of_the_checker(name: str) -> None:
    n, budget = COUNTEREXAMPLES[name]
    configuration = Configuration(Scenario(algorithm=name, n=n), find(name), budget=budget)
    found = check(configuration, limits=Limits(states=20_000), no_return=False)
    traces = [example.trace for example in found.counterexamples.values()]
    assert traces, "the test needs a configuration that breaks something"
    for trace in traces:
        assert_possible(trace, find(name))


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("name", ["majority", "quorum-retry", "elected-coordinator", "bully"])
def test_crashes_inside_a_handler(name: str, after: int) -> None:
    crash = Crash(process=1, at_ms=0, recover_ms=20, after_actions=after)
    run = simulate(Scenario(algorithm=name, n=3, until_ms=60, crash=(crash,)), find(name))
    assert_possible(trace_of(run), find(name))


class Ball(Message):
    """Goes round."""


class Clumsy(Election):
    """Catches the ball, and drops that of process 3 with an exception."""

    def on_elect(self, io: Io) -> None:
        io.broadcast(Ball())

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        io.note("caught")
        if sender == 3:
            raise ValueError("dropped")


def test_a_run_that_an_exception_ended() -> None:
    with pytest.raises(ProtocolBug) as caught:
        simulate(Scenario(algorithm="clumsy", n=3), Clumsy)
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    assert trace.header.end == "raised"
    assert_possible(trace, Clumsy)
    kept = [event for event in trace.events if not (isinstance(event, Noted) and event.text == "caught")]
    assert validate(Trace(trace.header, tuple(kept)), Clumsy).answer is Answer.IMPOSSIBLE
