"""The measures of a failure detector, where they can be computed by hand."""

from __future__ import annotations

import pytest

from vez.core.detectors import Settings
from vez.draw.chart.svg import svg
from vez.study.detection.chart import chart
from vez.study.detection.curves import curves
from vez.study.detection.quality import CONDITIONS, Candidate, Condition, assess, candidates

HEARTBEAT = Candidate("heartbeat", "heartbeat", Settings(interval_ms=5, timeout_ms=15))


def test_detection_time_of_a_fixed_timeout_on_a_steady_network() -> None:
    """The crash is between two heartbeats: from the timeout plus the delay, less up to one interval."""
    quality = assess(HEARTBEAT, Condition("fixed", delay="constant(2)"), beats=100, trials=400)
    assert quality.mistakes == 0
    assert quality.mistake_ms is None
    assert quality.query_accuracy == 1
    assert 12 <= quality.detection_ms <= 17
    assert quality.detection_ms == pytest.approx(14.5, abs=0.3)
    assert quality.slowest_detection_ms <= 17


def test_mistakes_of_a_timeout_below_the_interval() -> None:
    """Every heartbeat comes 1 ms after the deadline: a mistake of 1 ms in every 5."""
    hasty = Candidate("hasty", "heartbeat", Settings(interval_ms=5, timeout_ms=4))
    quality = assess(hasty, Condition("fixed", delay="constant(1)"), beats=1000, trials=1)
    assert quality.mistakes == pytest.approx(1000, abs=1)
    assert quality.mistake_rate == pytest.approx(200, rel=0.01)
    assert quality.mistake_ms == pytest.approx(1, rel=0.01)
    assert quality.query_accuracy == pytest.approx(0.8, rel=0.01)


def test_loss_of_three_in_a_row_is_what_a_timeout_of_three_intervals_mistakes() -> None:
    quality = assess(HEARTBEAT, Condition("loss", delay="constant(1)", loss=0.3), beats=40_000, trials=1)
    # a gap of more than 15 ms: a heartbeat arrives, and then at least three are lost
    assert quality.mistakes / 40_000 == pytest.approx(0.7 * 0.3**3, rel=0.1)


def test_a_slow_observer_suspects_the_living_because_it_was_away_itself() -> None:
    away = assess(HEARTBEAT, Condition("slow", pause_ms=40), beats=2000, trials=1)
    assert away.mistakes == 9  # ten seconds, the first without a pause
    short = assess(HEARTBEAT, Condition("slow", pause_ms=8), beats=2000, trials=1)
    assert short.mistakes == 0


def test_the_detectors_differ_as_the_papers_say() -> None:
    found = {
        (quality.detector, quality.condition): quality
        for condition in CONDITIONS
        for quality in (assess(one, condition, beats=4000, trials=60) for one in candidates(Settings()))
    }
    jitter = {name: found[name, "jitter"] for name in ("heartbeat", "adaptive", "phi", "phi, exponential")}
    assert jitter["heartbeat"].mistakes > 5 * max(1, jitter["adaptive"].mistakes)
    assert jitter["phi"].mistakes == 0  # it has learnt the spread
    assert found["phi", "steady"].detection_ms < found["heartbeat", "steady"].detection_ms / 2
    assert found["phi, exponential", "steady"].detection_ms > 5 * found["heartbeat", "steady"].detection_ms


def test_same_seed_same_figures_and_every_detector_meets_the_same_arrivals() -> None:
    one, again = (assess(HEARTBEAT, CONDITIONS[1], beats=500, trials=20, seed=3) for _ in range(2))
    assert one == again
    assert one != assess(HEARTBEAT, CONDITIONS[1], beats=500, trials=20, seed=4)


def test_curves_trade_detection_time_for_mistakes_and_are_drawn() -> None:
    found = curves(Settings(), (CONDITIONS[1],), beats=600, trials=10)
    by_name = {curve.detector: curve.points for curve in found}
    for name in ("heartbeat", "phi", "phi, exponential"):
        first, last = by_name[name][0], by_name[name][-1]
        assert first.detection_ms < last.detection_ms
        assert first.mistake_rate > last.mistake_rate
    picture = svg(chart(found, 5.0))
    assert picture.count("<polyline") >= 4
    assert picture.count("noticed after") == picture.count("<circle") > 20
    assert "jitter" in picture
    assert ">none<" in picture  # a place for settings without any mistake
