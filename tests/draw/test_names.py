"""Pictures show the names of a scenario wherever a process is meant, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vez.catalogue.algorithms import find
from vez.catalogue.load import load_algorithm
from vez.core import Io, Process, named
from vez.core.trace import Header, Trace
from vez.draw import FORMATS, html, mermaid, svg, text
from vez.draw.trace.layout import called
from vez.judge.properties import judge
from vez.judge.properties.verdict import Verdict
from vez.study.report import run_and_report
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Want, load

from .browser import look
from .test_network import quiet

SCENARIOS = Path(__file__).parents[2] / "scenarios"
GREEK = {"1": "alpha", "2": "beta", "3": "gamma", "4": "delta", "5": "epsilon"}


class Greeter(Process):
    """An algorithm of a user."""

    known: int = 0

    def on_start(self, io: Io) -> None:
        self.known = io.peers[0]
        io.note(f"met {named(self.known)} at 1")

    def status(self) -> str:
        return f"knows {named(self.known)}, 1 time" if self.known else ""


def drawn(name: str) -> tuple[Trace, tuple[Verdict, ...]]:
    scenario = load(SCENARIOS / f"{name}.toml")
    report = run_and_report(scenario, load_algorithm(scenario.algorithm))
    return report.trace, report.verdicts


def simulated(scenario: Scenario) -> tuple[Trace, tuple[Verdict, ...]]:
    trace = simulate(scenario, find(scenario.algorithm)).trace
    assert trace is not None
    return trace, judge(trace)


def test_statuses_and_the_cycle_of_a_deadlock_have_names() -> None:
    found = drawn("10-maekawa")
    cycle = "a cycle: p1 → p2 → p3 → p1 (each waits for the next)"
    for picture in FORMATS.values():
        words = re.sub(r"(<br/>|\s)+", " ", re.sub(r"</text>\s*<text[^>]*>", " ", picture(*found)))
        words = re.sub(r"(?s)<title>.*?</title>", "", words)
        assert "WANTED, voted for p1, queue [p3]" in words, picture
        assert "queue [3]" not in words, picture
        assert cycle in words, picture


@pytest.mark.parametrize(
    ("algorithm", "label"),
    [
        ("chang-roberts", "Election(epsilon)"),
        ("franklin", "Elected(epsilon)"),
        ("ring-collect", "Collect([alpha,beta,gamma,delta])"),
        ("tournament", "Elected(epsilon)"),
        ("naimi-trehel", "Request(beta)"),
        ("suzuki-kasami", "Token([], [1,0,0,0,0])"),
    ],
)
def test_messages_have_names_only_where_their_classes_say_so(algorithm: str, label: str) -> None:
    wants = (Want(process=1), Want(process=2)) if find(algorithm).role == "mutex" else ()
    trace, verdicts = simulated(Scenario(algorithm=algorithm, n=5, names=GREEK, want=wants))
    assert label in html(trace, verdicts)
    assert label in mermaid(trace, verdicts)


def test_the_dead_that_an_election_leaves_out_have_names() -> None:
    scenario = Scenario(algorithm="ring-collect", n=5, names=GREEK, crash=(Crash(process=5, at_ms=1.5),))
    assert re.search(r"Collect\(\[\w+\] without epsilon\)", svg(*simulated(scenario)))


@pytest.mark.parametrize(
    "name", ["05-quorum", "10-maekawa-fair", "18-elected-coordinator-crash", "26-blocking-clients"]
)
def test_no_mark_of_a_name_reaches_a_picture(name: str) -> None:
    found = drawn(name)
    for picture in (text, mermaid, svg):
        assert not re.search("[\u2066-\u2069]", picture(*found))


def test_remarks_of_any_algorithm_have_names() -> None:
    trace = simulate(Scenario(algorithm="x", n=2, names={"1": "Ada", "2": "Bo"}), Greeter).trace
    assert trace is not None
    for picture in FORMATS.values():
        drawn = picture(trace).replace("<br/>", " ")
        assert "met Bo at 1" in drawn
        assert "knows Bo, 1 time" in drawn


def test_names_that_could_be_taken_for_another_process_come_with_the_number() -> None:
    def names(*given: str) -> dict[int, str]:
        return called(Header(2, "x", "other", (1, 2, 3), "complete", names=given))

    assert names("a", "b", "c") == {1: "a", 2: "b", 3: "c"}
    assert names("a", "a", "c") == {1: "a (1)", 2: "a (2)", 3: "c"}
    assert names("2", "b", "") == {1: "2 (1)", 2: "b", 3: "3"}
    assert names("", "", "") == names() == {}


@pytest.mark.browser
def test_a_deadlock_is_drawn_as_a_cycle_and_explained(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *drawn("07-quorum-deadlock"), "view=network")
    quiet(page)
    arrows = {
        (one["data-from"], one["data-to"]) for one in page.having("waits") if one.get("style") != "display: none;"
    }
    assert arrows == {("1", "4"), ("4", "2"), ("2", "5"), ("5", "1")}
    assert page.text["network-legend"] == "waitingbroken: deadlock freedom, starvation freedomwaits for"
    assert {node["data-process"] for node in page.having("violates")} == {"4", "5", "6"}


@pytest.mark.browser
def test_nobody_waits_in_a_cycle_before_the_deadlock_is_there(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *drawn("07-quorum-deadlock"), "view=network&t=0.5")
    hidden = [one for one in page.having("waits") if one.get("style") == "display: none;"]
    assert len(hidden) == 2  # participants wait for coordinators; no coordinator has promised anything yet
