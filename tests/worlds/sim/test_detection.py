"""Failure detectors in a run: they use heartbeats, which are not counted as messages, and report suspicion and trust."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.core import Assumption, Io, Process
from vez.core.trace import Crashed, Delivered, Sent, Suspected, Trusted
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Network, Partition, Pause, Suspicion, dumps, loads

DetectorKind = Literal["none", "heartbeat", "adaptive", "phi"]
KINDS: tuple[DetectorKind, ...] = ("heartbeat", "adaptive", "phi")


def run(**parts: Any) -> Run:
    return simulate(Scenario(algorithm="luis", **{"n": 3, "until_ms": 200, **parts}), find("luis"), explain=True)


def words(found: Run) -> list[tuple[str, float, int, int]]:
    return [
        ("suspect" if isinstance(event, Suspected) else "trust", event.at / 1000, event.process, event.peer)
        for event in trace_of(found)
        if isinstance(event, Suspected | Trusted)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_is_noticed_by_everybody_and_a_return_too(kind: DetectorKind) -> None:
    found = run(detector=Detector(kind=kind), crash=(Crash(process=3, at_ms=52, recover_ms=120),))
    told = words(found)
    assert sorted(word[:1] + word[2:] for word in told) == [
        ("suspect", 1, 3), ("suspect", 2, 3), ("trust", 1, 3), ("trust", 2, 3),
    ]  # fmt: skip
    assert all(52 < at < 120 for word, at, _, _ in told if word == "suspect")
    assert all(120 < at < 130 for word, at, _, _ in told if word == "trust")


def test_heartbeat_suspects_one_timeout_after_the_last_arrival() -> None:
    found = run(detector=Detector(kind="heartbeat", interval_ms=5, timeout_ms=15), crash=(Crash(process=3, at_ms=52),))
    assert words(found) == [("suspect", 66.001, 1, 3), ("suspect", 66.001, 2, 3)]  # sent at 50, arrived at 51


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_errs_on_a_steady_network(kind: DetectorKind) -> None:
    assert words(run(detector=Detector(kind=kind))) == []


def test_heartbeats_are_counted_apart_and_leave_no_trace() -> None:
    found = run(detector=Detector(kind="heartbeat"))
    assert found.messages == {}
    assert found.beats == 41 * 3 * 2  # at 0, 5, …, 200 ms, from each to both others
    assert not any(isinstance(event, Sent | Delivered) for event in trace_of(found))


@pytest.mark.parametrize("kind", KINDS)
def test_heartbeats_do_not_shift_the_algorithms_chances(kind: DetectorKind) -> None:
    network = Network(delay="exponential(1)", loss=0.2)
    plain, watched = (
        simulate(
            Scenario(algorithm="chang-roberts", n=5, network=network, until_ms=30, detector=Detector(kind=choice, timeout_ms=1e6, threshold=300)),
            find("chang-roberts"),
        )
        for choice in ("none", kind)
    )  # fmt: skip
    sent = [[event for event in trace_of(found) if isinstance(event, Sent | Delivered)] for found in (plain, watched)]
    assert sent[0] == sent[1]


def test_a_partition_looks_like_death_and_healing_like_resurrection() -> None:
    found = run(
        detector=Detector(kind="heartbeat"), partition=(Partition(at_ms=50, until_ms=100, groups=((1, 2), (3,))),)
    )
    told = words(found)
    assert {word[2:] for word in told if word[0] == "suspect"} == {(1, 3), (2, 3), (3, 1), (3, 2)}
    assert {word[2:] for word in told if word[0] == "trust"} == {(1, 3), (2, 3), (3, 1), (3, 2)}


def test_a_slow_process_is_suspected_and_suspects_everybody_when_it_wakes() -> None:
    found = run(detector=Detector(kind="heartbeat"), pause=(Pause(process=2, at_ms=50, for_ms=40),))
    told = words(found)
    assert {(word, who, whom) for word, at, who, whom in told if at < 90} == {("suspect", 1, 2), ("suspect", 3, 2)}
    assert {(word, who, whom) for word, at, who, whom in told if at == 90} == {
        ("suspect", 2, 1), ("suspect", 2, 3), ("trust", 2, 1), ("trust", 2, 3),
    }  # fmt: skip


def test_adaptive_errs_less_and_less_where_fixed_errs_for_ever() -> None:
    network = Network(delay="exponential(4)")
    count = {
        kind: len(words(run(detector=Detector(kind=kind, timeout_ms=12), network=network, until_ms=4000)))
        for kind in ("heartbeat", "adaptive")
    }
    assert count["adaptive"] * 4 < count["heartbeat"]


def test_a_process_that_is_dead_from_the_start_is_noticed() -> None:
    found = run(detector=Detector(kind="heartbeat"), crash=(Crash(process=3),))
    assert {word[2:] for word in words(found)} == {(1, 3), (2, 3)}
    assert any(isinstance(event, Crashed) for event in trace_of(found))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_can_be_written_down_without_its_detector(kind: DetectorKind) -> None:
    """For shrinking: the reports of the detector become part of the scenario, and the run is the same."""
    found = run(
        detector=Detector(kind=kind, timeout_ms=9),
        network=Network(delay="exponential(3)"),
        crash=(Crash(process=2, at_ms=70),),
    )
    assert found.explicit is not None
    assert found.explicit.detector.kind == "none"
    again = simulate(found.explicit, find("luis"))
    assert trace_of(again).events == trace_of(found).events


def test_scenario_files_name_the_detector_and_its_settings() -> None:
    scenario = Scenario(algorithm="luis", detector=Detector(kind="phi", threshold=3, tail="exponential", interval_ms=2))
    assert loads(dumps(scenario)) == scenario


class Attentive(Process):
    """Checks its reports: trust follows suspicion, and suspicion follows trust."""

    name = "attentive"
    assumes = (Assumption.PERFECT_DETECTOR,)
    down: frozenset[int] = frozenset()

    def on_suspect(self, peer: int, io: Io) -> None:
        assert peer not in self.down, "suspected twice"
        self.down |= {peer}

    def on_trust(self, peer: int, io: Io) -> None:
        assert peer in self.down, "trusted and never suspected"
        self.down -= {peer}


def attentive(*crashes: Crash, suspect: tuple[Suspicion, ...] = ()) -> list[tuple[str, float, int, int]]:
    scenario = Scenario(
        algorithm="attentive", n=2, until_ms=100, crash=crashes, suspect=suspect, detector=Detector(delay_ms=5)
    )
    return words(simulate(scenario, Attentive, explain=True))


def test_nobody_is_trusted_who_was_not_suspected() -> None:
    assert attentive(Crash(process=1, at_ms=10, recover_ms=12)) == []


def test_nobody_is_suspected_twice() -> None:
    """It came back and died again before its return was reported."""
    told = attentive(Crash(process=1, at_ms=10, recover_ms=20), Crash(process=1, at_ms=22, recover_ms=40))
    assert told == [("suspect", 15, 2, 1), ("trust", 45, 2, 1)]


def test_a_wrong_suspicion_that_comes_true_is_no_news() -> None:
    told = attentive(Crash(process=1, at_ms=10), suspect=(Suspicion(process=2, peer=1, at_ms=8),))
    assert told == [("suspect", 8, 2, 1)]


def test_whoever_crashes_forgets_whom_it_suspected() -> None:
    told = attentive(Crash(process=1, at_ms=10), Crash(process=2, at_ms=20, recover_ms=30))
    assert told == [("suspect", 15, 2, 1), ("suspect", 35, 2, 1)]


def test_the_checker_tells_the_same() -> None:
    budget = Budget(crashes=2, recoveries=2, mistakes=1)
    report = check(Configuration(Scenario(algorithm="attentive", n=2), Attentive, budget=budget))
    assert not report.broken
