"""`vez quorum`: exact figures, and the real algorithm beside them."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise, product
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.cli.app import run
from vez.errors import BadData, Misuse
from vez.study.quorum.chances import over_m, risk, smallest_m
from vez.study.quorum.exact import at_least, parse_chance, plain, scientific
from vez.study.quorum.experiment import experiment, scene, visible_chance
from vez.study.quorum.interval import clopper_pearson, wilson
from vez.worlds.sim import Scenario


@pytest.mark.parametrize(
    ("n", "m", "chance", "expected"),
    [
        (32, 24, "0.0001", "7.3e-59"),
        (8, 5, "3/3600", "6.9e-6"),
        (8, 6, "3/3600", "7.2e-12"),
        (16, 9, "3/3600", "2.5e-5"),
        (32, 24, "3/3600", "4.0e-44"),
    ],
)
def test_the_figures_of_the_catalogue(n: int, m: int, chance: str, expected: str) -> None:
    p = parse_chance(chance)
    assert scientific(risk(n, m, p, p).violation) == expected


def test_the_seeds_example_is_below_1e_40() -> None:
    p = parse_chance("0.0001")
    assert 0 < risk(32, 24, p, p).violation < Fraction(1, 10**40)


@pytest.mark.parametrize(("n", "m"), [(3, 2), (4, 3), (5, 3), (5, 4), (5, 5)])
def test_all_three_events_by_enumeration(n: int, m: int) -> None:
    """The chance by enumeration: every set of coordinators that forgets, and every second quorum."""
    p = Fraction(2, 7)
    violation = given_pair = all_held = Fraction(0)
    for forgot in product((False, True), repeat=n):
        weight = Fraction(1)
        for one in forgot:
            weight *= p if one else 1 - p
        free = sum(forgot[:m]) + n - m  # those who never permitted the first, and those who forgot
        violation += weight * (free >= m)
        given_pair += weight * all(forgot[n - m : m])  # the second quorum is the last m
        all_held += weight * (sum(forgot) >= m)
    found = risk(n, m, p, p)
    assert (found.violation, found.given_pair, found.all_held) == (violation, given_pair, all_held)
    assert found.given_pair <= found.violation


@given(st.integers(1, 12), st.integers(0, 13), st.fractions(0, 1, max_denominator=20))
def test_the_tail_is_the_sum_of_its_terms(trials: int, least: int, chance: Fraction) -> None:
    terms = (comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(least, trials + 1))
    assert at_least(least, trials, chance) == sum(terms, Fraction(0))


@given(st.integers(2, 30), st.fractions("1/50", "49/50", max_denominator=50))
def test_more_permissions_are_safer_and_less_available(n: int, p: Fraction) -> None:
    found = over_m(n, p, p)
    assert [other.m for other in found] == list(range(n // 2 + 1, n + 1))
    for one, other in pairwise(found):
        assert one.violation > other.violation
        assert one.available > other.available


@given(st.integers(1, 25), st.fractions("1/100", "1/2", max_denominator=100), st.integers(0, 12))
def test_the_smallest_m_is_the_smallest(n: int, p: Fraction, power: int) -> None:
    want = Fraction(1, 10**power)
    good = [other.m for other in over_m(n, p, p) if other.violation <= want]
    assert smallest_m(n, p, want) == (good[0] if good else None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.0001", Fraction(1, 10000)),
        ("1e-4", Fraction(1, 10000)),
        ("3/3600", Fraction(1, 1200)),
        (".5", Fraction(1, 2)),
        ("1e-99", Fraction(1, 10**99)),
        ("-0", Fraction(0)),
        ("0e-999999999", Fraction(0)),
        ("100000e-104", Fraction(1, 10**99)),
    ],
)
def test_chances_are_read_exactly(text: str, value: Fraction) -> None:
    assert parse_chance(text) == value


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.5", "nan", "1/0", "inf", "1e-999", "1e99999", "2/1", "0." + "1" * 80]
)
def test_other_chances_are_refused(text: str) -> None:
    with pytest.raises(BadData):
        parse_chance(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-0.1", "is below 0"),
        ("1e-100", "is too small: less than 1e-99"),
        ("1e-400", "is too small"),
        ("1e-999999999", "is too small"),
        ("1e400", "is above 1"),
        ("1e999999999", "is above 1"),
        ("1.5", "is above 1"),
        ("0." + "0" * 80 + "1", "longer than 60 characters"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_the_chance(text: str, words: str) -> None:
    with pytest.raises(BadData, match=words):
        parse_chance(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10**500), "1.0e-500"),
        (Fraction(9961, 10**9), "1.0e-5"),
        (Fraction(996, 1000), "1.0"),
        (Fraction(73, 10**60), "7.3e-59"),
        (Fraction(0), "0"),
        (Fraction(25), "2.5e1"),
    ],
)
def test_small_numbers_are_printed_and_never_as_0(value: Fraction, text: str) -> None:
    assert scientific(value) == text


def test_almost_certain_is_not_certain() -> None:
    assert plain(1 - Fraction(3, 10**30)) == "1 − 3.0e-30"
    assert plain(Fraction(1)) == "1"
    assert plain(Fraction(1, 4)) == "0.25"


def test_intervals_against_published_values() -> None:
    low, high = wilson(0, 10, 0.95)
    assert (round(low, 4), round(high, 4)) == (0.0, 0.2775)
    low, high = clopper_pearson(0, 10, 0.95)
    assert (round(low, 4), round(high, 4)) == (0.0, 0.3085)
    low, high = clopper_pearson(5, 10, 0.95)
    assert (round(low, 4), round(high, 4)) == (0.1871, 0.8129)
    assert clopper_pearson(10, 10, 0.95)[1] == 1.0


@pytest.mark.parametrize(("n", "m"), [(3, 2), (5, 4), (7, 4)])
def test_the_real_algorithm_does_what_the_formula_says(n: int, m: int) -> None:
    seen = experiment(n, m, visible_chance(n, m), runs=250, seed=1)
    assert seen.surprises == 0
    assert seen.agrees
    assert 0 < seen.violations < seen.runs


def test_the_scene_survives_as_a_scenario() -> None:
    found = scene(7, 4, (4,))
    assert isinstance(found, Scenario)
    assert [crash.process for crash in found.crash] == [4]
    assert not found.crash[0].memory


@pytest.mark.parametrize(("n", "m"), [(4, 2), (4, 5), (0, 1), (5, -1), (100_000, 60_000)])
def test_what_is_no_quorum_is_refused(n: int, m: int) -> None:
    with pytest.raises(Misuse):
        risk(n, m, Fraction(1, 2), Fraction(1, 2))


def test_json_keeps_small_chances_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "-n", "32", "-m", "24", "-p", "0.0001", "--want", "1e-12", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["violation"].startswith("7.3")
    assert answer["violation"].endswith("e-59")
    assert answer["smallest_m"] == 18
    assert [other["m"] for other in answer["over_m"]] == list(range(17, 33))


def test_the_chart_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "-n", "1000", "-p", "1e-9", "-o", str(tmp_path / "q.svg")]) == 0
    assert (tmp_path / "q.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "┤" not in capsys.readouterr().out
    assert run(["quorum", "-n", "5", "-p", "1e-9", "-o", str(tmp_path / "no" / "q.svg")]) == 73


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-n", "5", "-m", "2", "-p", "0.1"], 64, "expected m from 3 to 5"),
        (["-n", "5", "-p", "1.2"], 65, "above 1"),
        (["-n", "5", "-p", "0.1", "--want", "?"], 65, "--want"),
        (["-n", "5", "-p", "0.1", "--simulate", "--runs", "0"], 64, "expected 1 to"),
        (["-n", "5", "-p", "0.1", "--simulate-p", "0"], 64, "nothing would ever be seen"),
        (["-p", "0.1"], 64, "-n"),
    ],
)
def test_wrong_use_gets_one_line_and_a_hint(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["quorum", *arguments]) == code
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_what_never_happens_has_no_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "-n", "5", "-p", "0"]) == 0
    assert "P_v = 0\n" in capsys.readouterr().out
    assert run(["quorum", "-n", "5", "-p", "0", "-o", str(tmp_path / "q.svg")]) == 64
    assert "nothing to draw" in capsys.readouterr().err


def test_nothing_reaches_an_impossible_wish(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "-n", "3", "-p", "0.5", "--want", "1e-9"]) == 0
    assert capsys.readouterr().out.startswith("No m gives")
    assert run(["quorum", "-n", "3", "-m", "2", "-p", "0.5", "--want", "0"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("No m gives P_v ≤ 0: ")
    assert "m = 2 permissions" in words
