"""Distributions: the mean that is promised, whole microseconds, and clear errors."""

from __future__ import annotations

from random import Random

import pytest

from vez.errors import BadData
from vez.worlds.sim.delays import parse_delay, us


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("constant(1.5)", 1.5),
        ("2", 2.0),
        ("uniform(0.5, 1.5)", 1.0),
        ("exponential(3)", 3.0),
        ("lognormal(1, 0.5)", 1.1331),
        ("pareto(0.5, 3)", 0.75),
    ],
)
def test_the_mean_is_the_promised_one(text: str, mean: float) -> None:
    delay = parse_delay(text)
    draw = delay.sampler(Random("a fixed seed"))
    sample = [draw() for _ in range(20_000)]
    assert all(isinstance(value, int) and value >= 1 for value in sample)
    assert delay.mean_ms == pytest.approx(mean, rel=1e-3)
    assert sum(sample) / len(sample) / 1000 == pytest.approx(mean, rel=0.05)


def test_text_and_value_go_round() -> None:
    for text in ("constant(1)", "uniform(0.5, 1.5)", "pareto(0.5, 2)"):
        assert str(parse_delay(text)) == text
    assert str(parse_delay(3)) == "constant(3)"


def test_a_message_always_takes_some_time() -> None:
    assert parse_delay("constant(0)").sampler(Random(0))() == 1
    assert parse_delay("uniform(0, 0)").sampler(Random(0), 0)() == 0


def test_milliseconds_to_microseconds() -> None:
    assert [us(0.001), us(1.5), us(0.1 + 0.2)] == [1, 1500, 300]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gaussian(1)", "unknown distribution"), ("uniform(1)", r"uniform\(LOW, HIGH\)"), ("uniform(2, 1)", "above HIGH"),
        ("soon", "not a duration"), ("constant(-1)", "at least 0"), ("exponential(nan)", "finite"), ("pareto(1, 1)", "no finite mean"),
        ("constant()", "not a duration"), ("constant(inf)", "finite"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadData, match=complaint):
        parse_delay(text)
