"""A picture in Portuguese has no English word of any table of words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.catalogue.algorithms import ALGORITHMS
from vez.catalogue.load import load_algorithm
from vez.core.trace import Fired, Header, Noted, Sent, Status, Trace
from vez.draw import html, mermaid, svg, text
from vez.judge.properties import judge
from vez.judge.properties.verdict import Verdict
from vez.judge.words.names import PROPERTIES, STATUSES, TOPOLOGIES
from vez.judge.words.remarks import FIELDS, PHRASES, remark_words, split
from vez.judge.words.sentence import SENTENCES
from vez.judge.words.titles import TITLES
from vez.judge.words.verdicts import NOUNS
from vez.study.report import run_and_report
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import load

from .browser import Page, look
from .traces import run

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))
QUICK = ("03-lease-holder-slow", "07-quorum-deadlock", "10-maekawa", "15-yoyo", "18-elected-coordinator-crash")
"""Scenarios that together have words of every part; the others are for the long tests."""
STRINGS = (ROOT / "src/vez/draw/trace/player/strings.js").read_text(encoding="utf-8").partition("const asked")[0]
KEPT = {"released", "wanted", "held"}
"""States of papers, which the Portuguese course notes write in English."""


def words(text: str) -> set[str]:
    """The words of a text, without the places of values and words that are cut."""
    return {word.lower() for word in re.findall(r"[^\W\d_]{3,}", re.sub(r"{[^}]*}|\w+…", " ", text))}


@cache
def english() -> frozenset[str]:
    """The words that only the English texts have."""
    nouns = [(" ".join(one), " ".join(other)) for one, other in NOUNS.values()]
    pairs = [*SENTENCES.values(), *PROPERTIES.values(), *STATUSES.values(), *nouns]
    pairs += [*PHRASES.items(), *FIELDS.items(), *TOPOLOGIES.items(), *TITLES.items()]
    player = [" ".join(re.findall(r'"([^"]*)"', table)) for table in STRINGS.split("  pt: {")]
    ours = words(" ".join(one for one, _ in pairs)) | words(player[0])
    theirs = words(" ".join(other for _, other in pairs)) | words(player[1])
    return frozenset(ours - theirs)


def unknown(trace: Trace) -> set[str]:
    """Words of a run that are in no language: kinds of messages, names of timers, of processes and of the algorithm."""
    found = " ".join((trace.header.algorithm, *trace.header.names))
    for event in trace:
        found += f" {event.kind}" if isinstance(event, Sent) else f" {event.name}" if isinstance(event, Fired) else ""
        if isinstance(event, Sent) and event.kind == "Ballot":
            found += f" {event.fields['kind']}"  # the kind of the message inside
    return words(found.replace("_", " "))


def check_portuguese(shown: str, trace: Trace) -> None:
    assert words(shown) & english() - unknown(trace) - KEPT == set()


@cache
def drawn(name: str) -> tuple[Trace, tuple[Verdict, ...]]:
    scenario = load(ROOT / "scenarios" / f"{name}.toml")
    report = run_and_report(scenario, load_algorithm(scenario.algorithm))
    return report.trace, report.verdicts


def localized(value: Any) -> Iterator[str]:
    """The Portuguese texts in the data of a page."""
    if isinstance(value, dict):
        parts: Iterable[Any] = [value["pt"]] if value.keys() == {"en", "pt"} else value.values()
        for part in parts:
            yield from localized(part)
    elif isinstance(value, list):
        for part in value:
            yield from localized(part)
    elif isinstance(value, str):
        yield value


def test_the_table_has_the_words_of_every_part() -> None:
    assert {"queue", "waiting", "broken", "seed", "follows", "rightward", "process", "speed", "inside"} <= english()
    assert len(english()) > 450


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in NAMES]
)
def test_every_scenario_is_drawn_in_portuguese(name: str) -> None:
    found = drawn(name)
    assert found[0].header.title in TITLES
    check_portuguese(text(*found, language="pt"), found[0])
    check_portuguese(mermaid(*found, language="pt").replace("participant", "").replace("note over", ""), found[0])
    check_portuguese(re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", svg(*found, language="pt")), found[0])
    data = json.loads(Page(html(*found)).scripts[0])
    assert data["leftOut"] == []  # in neither language
    for key in ("events", "arrows", "network"):
        for part in data[key] if isinstance(data[key], list) else []:
            part.pop("e", None)
            part.pop("fate", None)
            part.pop("reason", None)
    for verdict in data["verdicts"]:
        del verdict["name"], verdict["status"]
    told = [data[key] for key in ("title", "topology", "leftOut", "events", "arrows", "partitions", "verdicts")]
    check_portuguese(" ".join(localized(told)), found[0])


@pytest.mark.parametrize(
    "name", ["lossy", "bully-back", "partition", "pause", "crash-inside", "one-way", "slow-holder"]
)
def test_every_kind_of_fault_is_drawn_in_portuguese(name: str) -> None:
    found = run(name)
    check_portuguese(text(*found, language="pt"), found[0])
    check_portuguese(re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", svg(*found, language="pt")), found[0])


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_statuses_of_every_algorithm_are_translated(name: str) -> None:
    trace = simulate(Scenario(algorithm=name, n=5, until_ms=300), ALGORITHMS[name]).trace
    assert trace is not None
    said = [event for event in trace if isinstance(event, Status | Noted)]
    check_portuguese(" ".join(remark_words(event, "pt") for event in said), trace)
    assert [remark_words(event, "en") for event in said] == [event.text for event in said]
    assert judge(trace)


@pytest.mark.parametrize(
    ("english", "portuguese"),
    [
        ("WANTED at 41, voted for 1, queue [3@2, 1@7]", "WANTED em 41, votou em 1, fila [3@2, 1@7]"),
        ("lease 2 ran out", "o prazo 2 venceu"),
        ("coordinates: 2 inside, queue []", "coordena: 2 dentro, fila []"),
        ("takes over, awaits 1, 2", "assume, aguarda 1, 2"),
        ("my own words, round 3", "my own words, rodada 3"),
        ("{}, {0} and %s", "{}, {0} and %s"),
        ("", ""),
    ],
)
def test_a_status_is_translated_phrase_by_phrase(english: str, portuguese: str) -> None:
    assert remark_words(Status(0, 1, english), "pt") == portuguese


@pytest.mark.parametrize(
    ("english", "portuguese"),
    [
        ("next [a, b", "próximo [a, b"),
        ("next (1, 2), next [3, {4, 5}, 6], next 7", "próximo (1, 2), próximo [3, {4, 5}, 6], próximo 7"),
        ("next [1, {2}, 3, next 4", "próximo [1, {2}, 3, próximo 4"),
        ("held by busy", "com ocupado"),
        ("coordinates: held by 2 at 3", "coordena: com 2 em 3"),
    ],
)
def test_phrases_end_at_commas_outside_brackets(english: str, portuguese: str) -> None:
    assert remark_words(Status(0, 1, english), "pt") == portuguese


@given(st.lists(st.sampled_from([", ", ",", "[", "]", "(", ")", "{", "}", "next a"])).map("".join))
def test_phrases_are_split_as_one_expression_says(text: str) -> None:
    """No bracket closes between the comma and the next one that opens."""
    assert split(text) == re.split(r", (?![^\[{(]*[\]})])", text)


@pytest.mark.parametrize(
    ("english", "times"),
    [("x at ", 1200), ("held by ", 100_000), ("a, ", 200_000), ("a, [", 100_000), (" inside", 100_000), ("{", 10**6)],
)
def test_a_long_remark_is_translated(english: str, times: int) -> None:
    """A trace from elsewhere may have remarks of any length. Work that grows with their square takes minutes here."""
    shown = remark_words(Noted(0, 1, f"next 1, {english * times}y, next 2"), "pt")
    assert shown.startswith("próximo 1, ")
    assert shown.endswith("y, próximo 2")


def test_names_are_put_in_after_the_translation() -> None:
    """A name may look like a phrase, and the private characters that stand for names may occur in a text."""
    event = Status(0, 1, "follows 2, queue [1, 2]", ((8, 9), (18, 19), (21, 22)))
    assert remark_words(event, "pt", {1: "busy, free", 2: "queue"}) == "segue queue, fila [busy, free, queue]"
    assert remark_words(Status(0, 1, "\ue000 follows 2", ((10, 11),)), "en", {2: "B"}) == "\ue000 follows B"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "view"), [("07-quorum-deadlock", "network&step=9"), ("18-elected-coordinator-majority", "spacetime")]
)
def test_the_page_is_portuguese(name: str, view: str, chromium: str, tmp_path: Path) -> None:
    found = drawn(name)
    page = look(chromium, tmp_path, *found, f"lang=pt&view={view}")
    assert page.body["data-errors"] == "0"
    parts = ("title", "meta", "now", "processes", "verdicts", "network-legend", "summary", "clock", "spacetime")
    shown = [page.text.get(part, "") for part in (*parts, "tab-spacetime", "tab-network", "network-picture")]
    shown += [element.get(name, "") for element in page.elements for name in ("title", "aria-label", "aria-valuetext")]
    assert len("".join(shown)) > 500
    check_portuguese(re.sub(r"(?s)\.vez \{.*?\n\n", "", " ".join(shown)), found[0])


def test_a_trace_without_words_has_none_in_portuguese() -> None:
    trace = Trace(Header(2, "x", "other", (1,), "complete"), ())
    check_portuguese(text(trace, language="pt") + mermaid(trace, language="pt"), trace)
