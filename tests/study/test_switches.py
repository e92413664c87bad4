"""Assumptions as switches: the guarantee that breaks without each of them, found within a bounded number of seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from vez.catalogue.algorithms import ALGORITHMS, find
from vez.cli.app import app, run
from vez.core import Assumption, Property
from vez.errors import Misuse, UnknownName
from vez.judge.properties.assumptions import broken_assumptions
from vez.study.explain import shown_events, unexplained
from vez.study.report import run_and_report, unmet_expectations
from vez.study.shrink import violation
from vez.study.switches import WORLDS, find_break, shortest_break, worlds_without
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import load

BREAKABLE = [
    (name, assumption)
    for name, algorithm in ALGORITHMS.items()
    if algorithm.role == "mutex" or not algorithm.wrong  # a wrong election breaks with all assumptions kept, too
    for assumption in algorithm.assumes
    if assumption in WORLDS
]
NEEDLESS = {("quorum", Assumption.RELIABLE)}
"""Its only guarantee, exclusion, depends on the numbers of the requests; only progress needs reliable messages."""


@pytest.mark.long
@pytest.mark.parametrize(("name", "assumption"), BREAKABLE)
def test_every_declared_assumption_is_needed(name: str, assumption: Assumption) -> None:
    found = find_break(find(name), assumption)
    if (name, assumption) in NEEDLESS:
        assert found is None
        return
    assert found is not None
    assert found.property in find(name).guarantees
    trace = simulate(found.scenario, find(name)).trace
    assert trace is not None
    # pauses and late messages are not told apart from slow ones by a trace
    assert assumption in broken_assumptions(trace) or assumption is Assumption.KNOWN_BOUNDS


@pytest.mark.parametrize("name", ["lamport", "maekawa-fair", "suzuki-kasami", "coordinator"])
def test_only_the_named_assumption_is_turned_off(name: str) -> None:
    algorithm = find(name)
    for assumption in algorithm.assumes:
        for scenario in worlds_without(algorithm, assumption, seeds=12):
            trace = simulate(scenario, algorithm).trace
            assert trace is not None
            assert set(broken_assumptions(trace)) <= {assumption}


def test_lamport_without_fifo_lets_two_in() -> None:
    pair = shortest_break(find("lamport"), "fifo", seeds=100)
    assert pair is not None
    found, short = pair
    assert found.property == Property.EXCLUSION
    report = run_and_report(short.scenario, find("lamport"))
    assert unmet_expectations(short.scenario.expect, report) == []
    assert short.minimal
    assert (len(short.scenario.ids), len(short.scenario.want)) == (2, 2)


@pytest.mark.parametrize(
    ("name", "assumption", "processes", "requests"),
    [
        ("ricart-agrawala", "reliable", 2, 1),
        ("naimi-trehel", "reliable", 2, 1),
        ("token-ring", "no_crashes", 2, 1),
        ("coordinator-lease", "bounded_stay", 2, 2),
    ],
)
def test_the_shortest_run_is_minimal_where_the_checker_can_tell_and_explains(
    name: str, assumption: str, processes: int, requests: int
) -> None:
    pair = shortest_break(find(name), assumption)
    assert pair is not None
    found, short = pair
    assert short.minimal, short.words
    scenario = short.scenario
    assert (len(scenario.ids), len(scenario.want) + len(scenario.elect)) == (processes, requests)
    broken = violation(scenario, find(name), found.property)
    assert broken is not None
    assert unexplained(*broken).faults == 0


def test_nothing_found_is_none() -> None:
    assert find_break(find("lamport"), "fifo", seeds=1) is None


def test_the_number_of_processes_can_be_chosen() -> None:
    sizes = {scenario.n for scenario in worlds_without(find("lamport"), "fifo", n=7, seeds=20)}
    assert sizes == {7}


def test_the_same_worlds_every_time() -> None:
    one, other = (list(worlds_without(find("bully"), "no_recovery", seeds=20)) for _ in range(2))
    assert one == other


def test_misuse_is_told() -> None:
    with pytest.raises(Misuse, match="maekawa does not assume fifo"):
        worlds_without(find("maekawa"), "fifo")
    with pytest.raises(UnknownName, match="assumption"):
        worlds_without(find("maekawa"), "fifoo")
    with pytest.raises(Misuse, match="cannot be turned off"):
        worlds_without(find("bully"), "unique_ids")


def test_the_command_shows_the_run_and_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    assert run(["sim", "lamport", "--without", "fifo", "--shrink", str(file)]) == 1
    assert load(file).expect.broken == ("exclusion",)
    assert "minimal: n=2" in file.read_text(encoding="utf-8")
    assert run(["sim", "--scenario", str(file)]) == 0


def test_the_command_says_where_nothing_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sim", "quorum", "--without", "reliable", "--runs", "20"]) == 0
    assert "no guarantee broken in 20 seeds" in " ".join(capsys.readouterr().out.split())


def test_the_command_in_json() -> None:
    result = CliRunner().invoke(app, ["sim", "token-ring", "--without", "no_crashes", "--json"], standalone_mode=False)
    found = json.loads(result.output)
    assert found["broken"] == "deadlock_freedom"
    assert found["scenario"]["crash"]
    assert found["seeds"] >= 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lamport", "--without", "fifo", "--loss", "0.1"], "would change them"),
        (["--without", "fifo"], "which algorithm"),
        (["lamport", "--without", "fifo", "--json", "--diagram", "svg"], "both want standard output"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sim", *arguments]) == 64
    assert said in capsys.readouterr().err


def test_the_size_of_a_run_counts_what_pictures_show() -> None:
    report = run_and_report(Scenario(algorithm="coordinator-lease", n=3), find("coordinator-lease"))
    hidden = [
        event for event in report.trace if type(event).__name__ in ("Started", "Stored", "TimerSet", "TimerCancelled")
    ]
    assert hidden
    assert shown_events(report.trace) == len(report.trace.events) - len(hidden)
