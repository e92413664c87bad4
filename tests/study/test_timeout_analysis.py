"""`vez timeout`: the best timeout in closed form is the one that a numerical search finds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.cli.app import run
from vez.errors import BadData, MissingFile, Misuse
from vez.study.timeout.choice import best_timeout, curve, rule
from vez.study.timeout.loopback import measure_loopback
from vez.study.timeout.silence import DelayTail, Samples, parse_samples, read_samples
from vez.worlds.sim import parse_delay

DELAYS = (
    "constant(3)", "uniform(1, 9)", "uniform(4, 4)", "exponential(2.5)", "lognormal(2, 0.5)", "lognormal(5, 1.5)",
    "lognormal(2, 0)", "pareto(1, 1.5)", "pareto(3, 4)", "exponential(0)", "lognormal(0, 1)", "constant(0)",
)  # fmt: skip


@pytest.mark.parametrize("text", DELAYS)
def test_the_tail_is_the_tail_of_what_the_simulator_draws(text: str) -> None:
    delay = parse_delay(text)
    tail, draw = DelayTail(delay), delay.sampler(Random(7), 0)
    drawn = [draw() / 1000 for _ in range(4000)]
    for t in (0.5, 1.5, 3.5, 6.0, 12.0):
        share = sum(value > t for value in drawn) / len(drawn)
        assert share == pytest.approx(tail.late(t), abs=0.035)


@pytest.mark.parametrize("text", DELAYS)
@pytest.mark.parametrize(("wait", "mistake"), [(1, 500), (1, 10), (0.01, 3), (5, 4), (2, 0), (1e-3, 1e6)])
def test_no_timeout_is_cheaper(text: str, wait: float, mistake: float) -> None:
    tail = DelayTail(parse_delay(text))
    found = best_timeout(tail, wait, mistake)
    assert found.cost == pytest.approx(found.wait_cost + found.expected_mistake_cost)
    assert 0 <= found.timeout_ms <= mistake / wait
    end = max(1.0, min(mistake / wait, 50 * found.timeout_ms + 50))
    for step in range(4001):
        t = end * step / 4000
        assert wait * t + mistake * tail.late(t) >= found.cost - 1e-9 * max(1.0, found.cost)


def test_the_exponential_by_hand() -> None:
    found = best_timeout(DelayTail(parse_delay("exponential(10)")), 0.1, 5)
    assert found.timeout_ms == pytest.approx(10 * math.log(5))
    assert found.mistake_chance == pytest.approx(0.2)


samples = st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=40)


@given(samples, st.floats(0.01, 10), st.floats(0, 1000))
def test_of_samples_the_best_is_one_of_them_or_nothing(values: list[float], wait: float, mistake: float) -> None:
    silence = Samples(values, "a test")
    found = best_timeout(silence, wait, mistake)
    assert found.timeout_ms in {0.0, *values}
    for t in (0.0, *values):
        late = sum(value > t for value in values) / len(values)
        assert silence.late(t) == late
        assert wait * t + mistake * late >= found.cost - 1e-9


@pytest.mark.parametrize("text", DELAYS)
def test_beyond_the_rule_waiting_cannot_pay(text: str) -> None:
    tail = DelayTail(parse_delay(text))
    wait, mistake = 0.5, 40.0
    place = rule(tail, wait, mistake)
    assert mistake * tail.late(place) < wait
    assert place == 0 or mistake * tail.late(place * (1 - 1e-9)) >= wait
    assert curve(tail, best_timeout(tail, wait, mistake))[0][1] == 0


def test_the_largest_sample_is_no_promise() -> None:
    found = best_timeout(Samples([1.0, 2.0, 3.0], "a test"), 0.001, 1e6)
    assert found.timeout_ms == 3
    assert "below 3/3" in found.remark
    assert best_timeout(Samples([1.0] * 50 + [900.0], "a test"), 1, 60).remark == ""


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no samples"),
        (b"\n# only words\n", "no samples"),
        (b"1\n2\nfast\n", "line 3: 'fast' is not a number"),
        (b"1\n-2\n", "line 2: expected milliseconds from 0"),
        (b"nan\n", "line 1: expected milliseconds"),
        (b"1\n\n1e400\n", "line 3"),
        (b"\xff\xfe\n", "line 1"),
        (b"1" * 50, "line 1"),
    ],
)
def test_bad_samples_are_refused_with_their_line(raw: bytes, words: str) -> None:
    with pytest.raises(BadData) as caught:
        parse_samples(raw, "delays.txt")
    assert words in caught.value.message


def test_samples_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "delays.txt"
    path.write_text("1\n2 # slow\n\n3\r\n", encoding="utf-8")
    assert read_samples(path).values_ms == [1, 2, 3]
    monkeypatch.setattr("vez.study.timeout.silence.MAX_SAMPLES", 2)
    with pytest.raises(BadData, match="more than 2 samples"):
        read_samples(path)
    monkeypatch.setattr("vez.study.timeout.silence.MAX_BYTES", 4)
    with pytest.raises(BadData, match="larger than"):
        read_samples(path)
    with pytest.raises(MissingFile):
        read_samples(tmp_path / "none.txt")
    with pytest.raises(MissingFile):
        read_samples(tmp_path)


@pytest.mark.parametrize(("wait", "mistake"), [(0, 1), (-1, 1), (1, -1), (math.nan, 1), (1, math.inf), (1e-300, 1e300)])
def test_impossible_costs_are_refused(wait: float, mistake: float) -> None:
    with pytest.raises(Misuse):
        best_timeout(Samples([1.0], "a test"), wait, mistake)


def test_live_round_trips_are_real() -> None:
    steps = []
    found = measure_loopback(50, lambda: steps.append(1))
    assert len(found.values_ms) == len(steps) == 50
    assert all(0 < value < 5000 for value in found.values_ms)
    with pytest.raises(Misuse):
        measure_loopback(0)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-e", "-1", "-c", "5", "--delay", "1"], 64, "expected a number above 0"),
        (["-e", "1", "-c", "-5", "--delay", "1"], 64, "at least 0"),
        (["-e", "nan", "-c", "5", "--delay", "1"], 64, "expected a number above 0"),
        (["-e", "1", "-c", "5"], 64, "one source"),
        (["-e", "1", "-c", "5", "--live", "--delay", "1"], 64, "one source"),
        (["-e", "1", "-c", "5", "--delay", "normal(1)"], 65, "unknown distribution"),
        (["-e", "1", "-c", "5", "--samples", "nowhere.txt"], 66, "cannot read"),
        (["-e", "1", "-c", "5", "--live", "--round-trips", "0"], 64, "round trips"),
    ],
)
def test_wrong_use_gets_one_line_and_a_hint(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["timeout", *arguments]) == code
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_json_and_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cost.svg"
    assert run(["timeout", "-e", "1", "-c", "500", "--delay", "lognormal(2,0.5)", "--json", "-o", str(path)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["timeout_ms"] == pytest.approx(8.081, abs=0.001)
    assert len(answer["curve"]) == 401
    assert path.read_text(encoding="utf-8").startswith("<svg")
