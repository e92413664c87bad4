"""The monitors of failure detectors, tested with lists of arrival times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, TypeVar

import pytest

from vez.core.detectors import MONITORS, Adaptive, Heartbeat, Monitor, Phi, Settings

M = TypeVar("M", bound=Monitor)


def beaten(monitor: M, intervals: Iterable[float]) -> M:
    at = monitor.last_ms
    for interval in intervals:
        at += interval
        monitor.heard(at)
    return monitor


@pytest.mark.parametrize("kind", MONITORS.values())
def test_silence_from_the_beginning_is_noticed(kind: type[Monitor]) -> None:
    monitor = kind(Settings(), 100.0)
    assert 100 < monitor.deadline_ms < 300


def test_heartbeat_waits_the_timeout_after_the_last_arrival() -> None:
    monitor = beaten(Heartbeat(Settings(timeout_ms=15), 0), [5, 5, 7])
    assert monitor.deadline_ms == 17 + 15


def test_adaptive_waits_longer_after_each_mistake_and_only_then() -> None:
    monitor = beaten(Adaptive(Settings(timeout_ms=8, step_ms=3), 0), [5, 5, 7.9])
    assert monitor.timeout_ms == 8
    beaten(monitor, [9])
    assert monitor.timeout_ms == 11
    beaten(monitor, [10.9, 12])
    assert monitor.timeout_ms == 14


def test_adaptive_makes_finitely_many_mistakes_where_gaps_are_bounded() -> None:
    monitor, mistakes = Adaptive(Settings(timeout_ms=1, step_ms=2), 0), 0
    for number in range(1000):
        at = monitor.last_ms + 5 + 40 * (number % 13 == 0)
        mistakes += at > monitor.deadline_ms
        monitor.heard(at)
    assert mistakes == math.ceil((45 - 1) / 2)
    assert monitor.timeout_ms >= 45


def test_phi_of_8_on_an_exponential_tail_waits_18_4_mean_intervals() -> None:
    monitor = beaten(Phi(Settings(tail="exponential", window=50), 0), [5.0] * 100)
    assert (
        (monitor.deadline_ms - monitor.last_ms) / 5 == pytest.approx(8 * math.log(10)) == pytest.approx(18.42, abs=0.01)
    )


@pytest.mark.parametrize("tail", ["normal", "exponential"])
@pytest.mark.parametrize("threshold", [0.5, 1, 3, 8, 12])
def test_phi_reaches_its_threshold_at_the_deadline(tail: Literal["normal", "exponential"], threshold: float) -> None:
    monitor = beaten(Phi(Settings(tail=tail, threshold=threshold), 0), [4, 6, 5, 7, 3] * 30)
    assert monitor.phi(monitor.deadline_ms) == pytest.approx(threshold, rel=1e-6)
    assert monitor.phi(monitor.deadline_ms - 0.5) < threshold < monitor.phi(monitor.deadline_ms + 0.5)


def test_phi_learns_the_rhythm_and_forgets_it() -> None:
    monitor = Phi(Settings(window=20), 0)
    slow = beaten(monitor, [20, 22] * 20).deadline_ms - monitor.last_ms
    assert monitor.mean_ms == pytest.approx(21)
    fast = beaten(monitor, [2, 2.2] * 20).deadline_ms - monitor.last_ms
    assert monitor.mean_ms == pytest.approx(2.1)
    assert fast < slow / 5


def test_phi_does_not_take_perfect_regularity_for_certainty() -> None:
    monitor = beaten(Phi(Settings(), 0), [5.0] * 500)
    assert monitor.deviation_ms == pytest.approx(0.5)
    assert monitor.deadline_ms > monitor.last_ms + 7
    assert monitor.phi(monitor.last_ms + 1000) == math.inf
