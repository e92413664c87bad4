"""Journals of several hosts: clocks that cannot be compared, and verdicts that take this into account."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from vez.catalogue.load import load_algorithm
from vez.cli.app import run
from vez.core.process import Process
from vez.core.trace import AnyEvent, Delivered, Elected, Entered, Header, Left, Sent, Started, Trace
from vez.core.trace_file import decode
from vez.errors import BadData
from vez.judge.properties import Status, judge
from vez.worlds.node.cluster.assemble import assemble, scenario_of
from vez.worlds.node.cluster.clocks import on_one_clock
from vez.worlds.node.cluster.journals import Life
from vez.worlds.node.journal import FORMAT, Ended, Head, Journal, Received
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Pause, Want
from vez.worlds.sim.setup import Setup

MANY = 10**9


def lives_of(scenario: Scenario, algorithm: type[Process], shifts: list[int]) -> list[Life]:
    """A simulated run as the journals of nodes on separate hosts, each with a clock that is shifted."""
    trace = simulate(scenario, algorithm).trace
    assert trace is not None
    lanes: defaultdict[int, list[AnyEvent]] = defaultdict(list)
    for event in trace:
        shift = shifts[trace.header.ids.index(event.process)]
        moved = msgspec.structs.replace(event, at=event.at + shift)
        if isinstance(moved, Delivered):
            moved = Received(moved.at, moved.process, moved.sender, moved.number, f"life {moved.sender}")
        lanes[event.process].append(moved)
    ids = trace.header.ids
    return [
        Life(
            Head(
                vez_journal=FORMAT, node=process, incarnation=f"life {process}", algorithm=scenario.algorithm, group="g",
                ids=ids, topology=trace.header.topology, edges=(), assumes=(), time_scale=1.0,
                clock=f"clock {shifts[ids.index(process)]}",
            ),
            lane,
        )
        for process, lane in lanes.items()
    ]  # fmt: skip


def verdicts(lives: list[Life]) -> dict[str, Status]:
    scenario = scenario_of(lives)
    trace = assemble(lives, Setup(scenario, load_algorithm(scenario.algorithm)), end="finished")
    decode(trace.to_bytes(), "assembled")
    return {verdict.name: verdict.status for verdict in judge(trace)}


@settings(max_examples=25)
@given(st.lists(st.integers(-MANY, MANY), min_size=4, max_size=4, unique=True))
def test_stays_that_messages_order_hold_whatever_the_clocks_say(shifts: list[int]) -> None:
    scenario = Scenario(algorithm="ricart-agrawala", n=4)
    found = verdicts(lives_of(scenario, load_algorithm(scenario.algorithm), [MANY + shift for shift in shifts]))
    assert found["exclusion"] is Status.HOLDS_IN_RUNS
    assert found["bounded_waiting"] is Status.NOT_JUDGED


@settings(max_examples=25)
@given(st.lists(st.integers(-MANY, MANY), min_size=3, max_size=3, unique=True))
def test_stays_that_nothing_orders_never_hold(shifts: list[int]) -> None:
    """A paused holder outlives its lease. By time two are inside; without comparable clocks that cannot be refuted."""
    scenario = Scenario(
        algorithm="coordinator-lease",
        n=3,
        want=(Want(process=2, inside_ms=3), Want(process=3, at_ms=1, inside_ms=6)),
        pause=(Pause(process=2, at_ms=3, for_ms=12),),
    )
    lives = lives_of(scenario, load_algorithm(scenario.algorithm), [MANY + shift for shift in shifts])
    assert verdicts(lives)["exclusion"] in (Status.UNDECIDED, Status.BROKEN)


def trace_of(*events: AnyEvent, role: str = "mutex") -> Trace:
    header = Header(vez_trace=2, algorithm="x", role="mutex", ids=(1, 2), topology="complete", hosts=(0, 1))
    return Trace(msgspec.structs.replace(header, role=role), events)


def test_two_stays_that_each_began_before_the_other_ended_are_together() -> None:
    events = (
        Entered(0, 1), Sent(1, 1, 1, 2, "Word"), Entered(1, 2), Sent(2, 2, 1, 1, "Word"), Delivered(3, 1, 2, 1),
        Delivered(3, 2, 1, 1), Left(4, 1), Left(4, 2),
    )  # fmt: skip
    (verdict,) = [one for one in judge(trace_of(*events)) if one.name == "exclusion"]
    assert verdict.status is Status.BROKEN
    assert verdict.evidence == "processes 1 and 2 were inside together, whatever their clocks say"


@pytest.mark.parametrize(("later", "status"), [(1, Status.UNDECIDED), (2, Status.HOLDS_IN_RUNS)])
def test_leaders_without_terms_on_different_hosts(later: int, status: Status) -> None:
    """Process 1 leads and resigns; process 2 leads. Only a message in between shows that it did so later."""
    message = (Sent(2, 1, 1, 2, "Word"), Delivered(3, 2, 1, 1)) if later == 2 else ()
    events = (Elected(0, 1, 1), Elected(1, 1, None), *message, Elected(5, 2, 2))
    (verdict,) = [one for one in judge(trace_of(*events, role="election")) if one.name == "uniqueness"]
    assert verdict.status is status


def test_messages_both_ways_bring_two_clocks_together() -> None:
    def life(node: int, clock: str, *events: AnyEvent) -> Life:
        head = Head(
            vez_journal=FORMAT, node=node, incarnation=str(node), algorithm="x", group="g", ids=(1, 2), topology="complete",
            edges=(), assumes=(), time_scale=1.0, clock=clock,
        )  # fmt: skip
        return Life(head, list(events))

    one = life(1, "a", Started(100, 1), Sent(110, 1, 1, 2, "Word"), Received(130, 1, 2, 1, "2"))
    two = life(2, "b", Started(7000, 2), Received(7020, 2, 1, 1, "1"), Sent(7020, 2, 1, 1, "Word"))
    moved = on_one_clock([one, two])
    assert [event.at for event in moved[1].events] == [100, 120, 120]


def written(folder: Path, algorithm: str, parameters: dict[str, Any] | None = None) -> Path:
    """A folder with the journals of a run on two hosts."""
    scenario = Scenario(algorithm=algorithm, n=3, parameters=parameters or {})
    folder.mkdir(exist_ok=True)
    for life in lives_of(scenario, load_algorithm(algorithm), [5, 5, 9]):
        journal = Journal(folder / f"{life.head.node}-x.jsonl", life.head)
        journal.write([*life.events, Ended(life.events[-1].at, life.head.node)])
        journal.close()
    return folder


def test_vez_validate_merges_a_folder_of_journals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path, "zoo:hasty")
    assert run(["validate", str(folder)]) == 0
    assert "can have taken every step" in capsys.readouterr().out
    assert run(["validate", str(folder), "--algorithm", "lamport"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "nothing more from process" in out
    assert "lines are those of the merged trace" in out
    (folder / "3-x.jsonl").unlink()
    assert run(["validate", str(folder)]) == 65
    assert "the journal 3-life 3.jsonl is missing" in capsys.readouterr().err


def test_journals_of_a_file_can_be_held_against_an_algorithm_with_other_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"{ROOT}/src/vez/catalogue/mutex/quorum_retry.py:QuorumRetry"
    folder = str(written(tmp_path / "file", name, {"slot_ms": 3.0}))
    assert run(["validate", folder, "--algorithm", name]) == 0
    capsys.readouterr()
    assert run(["validate", folder, "--algorithm", "lamport"]) == 1
    assert "lamport cannot have taken a step" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["show", "validate"])
def test_a_file_that_journals_name_runs_only_if_the_user_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    name = f"{ROOT}/src/vez/catalogue/mutex/lamport.py:Lamport"
    folder = str(written(tmp_path / "file", name))
    assert run([command, folder]) == 64
    assert f"if you trust it: --algorithm {name}" in " ".join(capsys.readouterr().err.split())
    assert run([command, folder, "--algorithm", name]) == 0
    known = str(written(tmp_path / "known", "lamport"))
    assert run([command, known, "--algorithm", name]) == (64 if command == "show" else 0)


def test_vez_show_merges_a_folder_of_journals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "lamport")
    merged = tmp_path / "merged.txt"
    assert run(["show", str(tmp_path), "--trace", str(merged)]) == 0
    assert "each after the one before had left" in capsys.readouterr().out
    assert run(["show", str(merged)]) == 0
    assert run(["show", str(merged), "--trace", "x.jsonl"]) == 64
    trace = decode(merged.read_bytes(), "merged")
    assert trace.header.hosts == (0, 0, 1)
    wrong = Trace(msgspec.structs.replace(trace.header, hosts=(0, 1)), trace.events)
    with pytest.raises(BadData, match="expected a host for each of 3 processes"):
        decode(wrong.to_bytes(), "wrong")
