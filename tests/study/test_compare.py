"""`vez compare`: every algorithm is as its formulas say, and a wrong formula is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from vez.catalogue.algorithms import find
from vez.cli.app import run
from vez.study.compare import election as compare_election
from vez.study.compare import mutex as compare_mutex
from vez.study.compare.figure import between, exactly, figure
from vez.study.compare.formulas import ELECTION, MUTEX, election_formulas, graph_edges, mutex_formulas
from vez.study.compare.rounds import rounds
from vez.worlds.sim import Scenario, simulate

NAMES = compare_mutex.names()


def test_every_algorithm_of_the_catalogue_has_formulas() -> None:
    assert set(MUTEX) <= set(NAMES)
    assert set(NAMES) - set(MUTEX) <= {"elected-coordinator"}, "write down what its source says"


@pytest.mark.parametrize("n", [5, 9])
@pytest.mark.parametrize("name", NAMES)
def test_the_measurements_keep_the_formulas(name: str, n: int) -> None:
    row = compare_mutex.compare(name, n)
    wrong = {metric: (found.text, found.claim) for metric, found in row.figures.items() if found.passed is False}
    assert not wrong
    assert list(row.figures) == [metric.name for metric in compare_mutex.METRICS]


@pytest.mark.long
@pytest.mark.parametrize("n", [4, 12, 16])
@pytest.mark.parametrize("name", NAMES)
def test_the_measurements_keep_the_formulas_for_other_n(name: str, n: int) -> None:
    assert compare_mutex.compare(name, n).passed


def test_what_is_known_to_break_breaks() -> None:
    words = {name: compare_mutex.compare(name, 9).figures["contention"].remark for name in NAMES}
    assert words["ricart-agrawala-priority"] == "two inside"
    assert words["maekawa"] == words["quorum"] == "deadlock"
    assert {words[name] for name in ("coordinator", "maekawa-fair", "quorum-retry", "ricart-agrawala")} == {"nothing"}


@pytest.mark.parametrize(
    "metric",
    [
        "idle_messages", "full_messages", "client_delay", "synchronization_delay", "entries_per_ms", "load",
        "idle_crashes", "any_crashes", "inside_crash",
    ],
)  # fmt: skip
def test_a_wrong_formula_fails(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = msgspec.structs.replace(mutex_formulas("coordinator"), **{metric: exactly("17", 17)})
    monkeypatch.setitem(MUTEX, "coordinator", wrong)
    row = compare_mutex.compare("coordinator", 5)
    assert [name for name, found in row.figures.items() if found.passed is False] == [metric]


ELECTIONS = compare_election.names()


def test_every_election_has_formulas() -> None:
    assert set(ELECTION) == set(ELECTIONS)


@pytest.mark.parametrize("n", [5, 9])
@pytest.mark.parametrize("name", ELECTIONS)
def test_elections_keep_their_formulas(name: str, n: int) -> None:
    row = compare_election.compare(name, n)
    wrong = {metric: (found.text, found.claim) for metric, found in row.figures.items() if found.passed is False}
    assert not wrong
    assert list(row.figures) == [metric.name for metric in compare_election.METRICS]


@pytest.mark.parametrize("metric", ["one_starter", "all_start", "mean", "time", "size", "leaders", "crash_messages"])
def test_a_wrong_formula_of_an_election_fails(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = msgspec.structs.replace(election_formulas("bully"), **{metric: exactly("1.5", 1.5)})
    monkeypatch.setitem(ELECTION, "bully", wrong)
    row = compare_election.compare("bully", 4)
    assert [name for name, found in row.figures.items() if found.passed is False] == [metric]


def test_elections_under_faults() -> None:
    """The catalogue: under a partition `bully` has two leaders, `majority` never has two of one term, and rings elect
    nobody."""
    rows = {name: compare_election.compare(name, 5).figures for name in ("bully", "majority", "franklin", "luis")}
    assert rows["bully"]["partition"].value == 2
    assert rows["majority"]["partition"].passed
    assert rows["franklin"]["partition"].value == 0
    assert rows["franklin"]["crash_messages"].value == 20  # two rounds of the four that are left, and the announcement
    assert rows["luis"]["crash_time"].value == 2  # when the detector speaks
    assert rows["majority"]["loss"].value == 20
    # No message of `luis` can be lost, and a detector that cannot see across the cut is not the perfect one it needs.
    assert rows["luis"]["loss"].text == "–"
    assert rows["luis"]["partition"].text == "2, one when healed"
    assert rows["luis"]["partition"].passed is None
    assert rows["luis"]["partition"].claim == ""


def test_what_detection_costs_luis_and_bully() -> None:
    """Resumos LEIC: `luis` must watch all processes, `bully` only the larger ones."""
    luis, bully, rings = (compare_election.compare(name, 6).figures for name in ("luis", "bully", "dolev-klawe-rodeh"))
    assert luis["crash_messages"].value == 0
    assert (luis["watched"].value, luis["beats"].value) == (30, 300)
    assert (bully["watched"].value, bully["beats"].value) == (15, 150)
    assert luis["beats"].passed
    assert bully["beats"].passed
    assert rings["watched"].text == rings["beats"].text == "–"  # it uses no detector


@pytest.mark.parametrize("name", ["franklin", "tournament", "dolev-klawe-rodeh", "itai-rodeh", "yoyo"])
def test_rounds_are_measured_beside_their_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare_election.compare(name, 8).figures["rounds"]
    assert found.passed
    assert found.least is not None
    assert found.least >= 1
    wrong = exactly("0.5", 0.5)
    formulas = election_formulas(name)
    field = "rounds" if formulas.rounds else "mean_rounds"
    monkeypatch.setitem(ELECTION, name, msgspec.structs.replace(formulas, **{field: wrong}))
    assert compare_election.compare(name, 8).figures["rounds"].passed is False


def test_the_worst_arrangement_takes_all_rounds() -> None:
    """With 8 processes in bit-reversal order every second one survives a round: 3 rounds, and one of the leader alone."""
    ids = (1, 5, 3, 7, 2, 6, 4, 8)
    for name in ("franklin", "dolev-klawe-rodeh"):
        trace = simulate(Scenario(algorithm=name, ids=ids), find(name)).trace
        assert trace is not None
        assert rounds(name, trace) == 4
    doubled = simulate(Scenario(algorithm="tournament", n=8), find("tournament")).trace
    assert doubled is not None
    assert rounds("tournament", doubled) == 4  # horizons of 1, 2, 4 and 8
    assert rounds("bully", doubled) is None
    assert compare_election.compare("bully", 4).figures["rounds"].text == "–"


def test_a_graph_has_several_sources_on_some_arrangement() -> None:
    """On the rising arrangement the smallest process is the only source, and every run would have one round."""
    found = compare_election.compare("yoyo", 9).figures
    assert found["rounds"].least == 1
    assert found["rounds"].most == 3
    assert found["all_start"].passed


def test_growth_of_elections() -> None:
    assert compare_election.growth("ring-collect", [4, 9]) == [(4, 20.0), (9, 90.0)]
    assert compare_election.growth("bully", [4, 20]) == [(4, 18.0), (20, 418.0)]
    assert compare_election.growth("luis", [4]) == [(4, 0.0)]


@pytest.mark.parametrize("n", [4, 5, 6, 9, 30])
def test_the_graph_is_connected_and_simple(n: int) -> None:
    edges = graph_edges(n)
    assert len(set(edges)) == len(edges)
    assert all(1 <= one < other <= n for one, other in edges)
    assert {(k, k + 1) for k in range(1, n)} <= set(edges)


def test_figures_and_claims() -> None:
    assert figure([1, 3], between("1 to 3", 1, 3), 9).passed
    assert figure([1, 4], between("1 to 3", 1, 3), 9).passed is False
    assert figure([1, 4], between("≥ 1", 1), 9).text == "1–4"
    assert figure([2, 2], None, 9).passed is None
    assert figure([], exactly("3", 3), 9).text == "–"


def test_growth_is_as_the_formulas_say() -> None:
    assert compare_mutex.growth("ricart-agrawala", [4, 16, 64]) == [(4, 6.0), (16, 30.0), (64, 126.0)]
    assert compare_mutex.growth("coordinator", [4, 100]) == [(4, 3.0), (100, 3.0)]
    steps: list[str] = []
    assert len(compare_mutex.growth("token-ring", [4, 9], steps.append)) == len(steps) == 2


def test_growth_goes_to_a_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "growth.svg"
    arguments = ["compare", "mutex", "-n", "4", "-n", "9", "-a", "lamport", "-a", "raymond"]
    assert run([*arguments, "-o", str(path)]) == 0
    assert "lamport" in path.read_text(encoding="utf-8")
    assert "figures are as their formulas say" in capsys.readouterr().out  # the table is printed all the same
    assert run([*arguments, "-o", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 4
    assert run([*arguments, "--growth", "-o", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert run(["compare", "election", "-a", "chang-roberts", "-n", "400", "--growth", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chang-roberts"][0]["n"] == 400  # more than a table takes
    assert run([*arguments, "--growth"]) == 0
    assert "● lamport" in capsys.readouterr().out
    assert run([*arguments, "--growth", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lamport"][0] == {"n": 4, "messages": 9.0}


def test_table_json_and_exit_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["compare", "mutex", "-n", "5", "-a", "coordinator", "-a", "token-ring"]
    assert run(arguments) == 0
    table = capsys.readouterr().out
    assert "3 ✓" in table
    assert "figures are as their formulas say" in table
    assert run([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["algorithm"] for row in answer["rows"]] == ["coordinator", "token-ring"]
    assert answer["rows"][0]["figures"]["full_messages"]["value"] == 3
    wrong = msgspec.structs.replace(mutex_formulas("coordinator"), full_messages=exactly("4", 4))
    monkeypatch.setitem(MUTEX, "coordinator", wrong)
    assert run(arguments) == 1
    assert "✗" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mutex", "-n", "3"], "expected 4 to 300"),
        (["mutex", "-a", "bully"], "unknown mutex algorithm 'bully'"),
        (["mutexes"], "mutexes"),
        (["mutex", "-n", "3"], "fewer than 4 leave nobody to wait"),
        (["mutex", "-n", "301"], "more than 300 take too long"),
        (["election", "-a", "bully", "-n", "100000"], "--growth counts the messages alone, up to 10,000"),
        (["election", "-a", "bully", "-n", "100000", "--growth"], "10,000 is the most"),
        (["mutex", "--json", "--markdown"], "--markdown and --json exclude each other"),
        (["mutex", "--growth", "--markdown"], "--markdown and --growth exclude each other"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *arguments]) == 64
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
