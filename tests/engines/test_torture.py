"""Torture: a short campaign of real faults, and judges that notice each violation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import vez
from tests.processes import descendants, is_alive
from vez.cli.torture import excerpt
from vez.core import trace_file
from vez.errors import Misuse
from vez.properties import Status
from vez.properties.history import History
from vez.testing import eventually
from vez.torture import Campaign, Plan, judges
from vez.torture.history import Fault, to_trace
from vez.torture.record import Line, Register, read_lines

MS = 1_000_000


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("seed", [1, 2])
def test_a_short_campaign_on_files(tmp_path: Path, seed: int) -> None:
    plan = Plan(url=f"file://{tmp_path}/turns", workers=5, seconds=4, entries=1200, seed=seed)
    outcome = Campaign(plan).run()
    evidence = [f"{verdict.name}: {verdict.evidence}" for verdict in outcome.broken]
    assert {verdict.status for verdict in outcome.verdicts} == {Status.HOLDS_IN_RUNS}, evidence
    assert outcome.entries > 50
    assert outcome.faults["kill"] > 0
    assert outcome.faults["pause"] > 0
    assert {event.process for event in outcome.trace.events} == set(range(1, 6))


@pytest.mark.serial
def test_the_command_prints_verdicts_and_saves_a_trace_that_show_reads(tmp_path: Path) -> None:
    saved = tmp_path / "run.jsonl"
    command = [
        sys.executable,
        "-m",
        "vez",
        "torture",
        "--url",
        f"file://{tmp_path}/turns",
        "--seconds",
        "1",
        "--workers",
        "3",
    ]
    done = subprocess.run(
        [*command, "--trace", str(saved), "--json"], capture_output=True, text=True, env={**os.environ, "VEZ_URL": ""}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert {found["status"] for found in report["properties"].values()} == {"holds in runs"}
    history = History(trace_file.load(saved))
    assert sum(stay.served for stay in history.stays) == report["entries"]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_interrupted_campaign_reports_what_it_has(tmp_path: Path, more: list[str]) -> None:
    command = [sys.executable, "-m", "vez", "torture", "--url", f"file://{tmp_path}/turns", "--seconds", "600"]
    process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with vez.connect(f"file://{tmp_path}/turns") as client:
            eventually(lambda: client.inspect("torture").last_token > 0, "a first entry")
        time.sleep(1)  # some faults
        children = descendants(process.pid)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, out + err
    assert time.monotonic() - begun < 30
    assert not any(map(is_alive, children))
    if more:
        report = json.loads(out)
        assert report["interrupted"]
        assert report["entries"] > 0
        assert {found["status"] for found in report["properties"].values()} == {"holds in runs"}
    else:
        assert "interrupted; what happened until then:" in out
        assert "exclusion" in out


def test_what_cannot_be_tortured_says_so(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="one process"):
        Campaign(Plan(url="memory:"))
    with pytest.raises(Misuse, match="unknown fault"):
        Campaign(Plan(url="file:", faults=("flood",)))  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="2 to 64"):
        Campaign(Plan(url="file:", workers=1))


def stay(worker: int, at: int, token: int, value: int, *, long: int = 2) -> list[Line]:
    return [
        Line(at * MS, worker, "wanted"), Line(at * MS + 1, worker, "queued"),
        Line((at + 1) * MS, worker, "entered", token), Line((at + long) * MS, worker, "wrote", token, value),
        Line((at + long) * MS + 1, worker, "left", token),
    ]  # fmt: skip


def verdicts(*parts: list[Line], faults: tuple[Fault, ...] = ()) -> dict[str, Status]:
    lines = sorted((line for part in parts for line in part), key=lambda line: line.at)
    trace = to_trace(lines, list(faults), 3, "made up", 0)
    trace_file.decode(trace.to_bytes(), "made up")
    return judges.statuses(judges.judge_all(trace, lines, list(faults)))


def broken(*parts: list[Line], faults: tuple[Fault, ...] = ()) -> set[str]:
    return {name for name, status in verdicts(*parts, faults=faults).items() if status is Status.BROKEN}


def test_judges_find_nothing_in_a_sound_history() -> None:
    assert broken(stay(1, 0, 5, 1), stay(2, 10, 6, 2), stay(1, 20, 9, 3)) == set()


def test_two_inside_are_seen() -> None:
    assert "exclusion" in broken(stay(1, 0, 5, 1, long=10), stay(2, 5, 6, 2))


def test_a_token_that_repeats_is_seen() -> None:
    assert broken(stay(1, 0, 5, 1), stay(2, 10, 5, 2)) == {"tokens_increase"}


def test_a_lost_update_is_seen() -> None:
    assert broken(stay(1, 0, 5, 1), stay(2, 10, 6, 1)) == {"no_lost_update"}


def test_a_kill_inside_may_have_written_in_silence_but_not_twice() -> None:
    killed = stay(1, 0, 5, 1)[:3]
    death = (Fault(2 * MS, 1, "kill", 3 * MS),)
    for value in (1, 2):
        assert broken(killed, stay(2, 10, 6, value), faults=death) == set()
    assert broken(killed, stay(2, 10, 6, 4), faults=death) == {"no_lost_update"}


def test_overtaking_is_seen() -> None:
    patient = stay(1, 0, 7, 2, long=2)
    patient[2:] = [Line(30 * MS, 1, "entered", 7), Line(31 * MS, 1, "wrote", 7, 2), Line(32 * MS, 1, "left", 7)]
    assert "request_order" in broken(patient, stay(2, 10, 6, 1))


def test_a_child_that_believes_is_seen() -> None:
    assert broken(stay(1, 0, 5, 1), [Line(MS + 5, 1, "believer", 5)]) == {"fork_safe"}


def test_one_who_is_never_served_is_seen() -> None:
    assert "starvation_freedom" in broken([Line(0, 3, "wanted")], stay(1, 1, 5, 1), stay(2, 20_000, 6, 2))


def test_an_interrupted_request_is_no_starvation() -> None:
    given_up = [Line(0, 3, "wanted"), Line(1, 3, "interrupted")]
    assert broken(given_up, stay(1, 1, 5, 1), stay(2, 20_000, 6, 2)) == set()


def test_a_killed_holder_counts_as_out_from_its_death_on() -> None:
    killed, death = stay(1, 0, 5, 1)[:4], (Fault(3 * MS, 1, "kill", 4 * MS),)
    assert broken(killed, stay(2, 10, 6, 2), faults=death) == set()
    lines = [*killed, *stay(2, 10, 6, 2)]
    assert judges.takeovers(lines, list(death)) == ()  # the other asked only later
    early = [Line(1, 2, "wanted"), *stay(2, 10, 6, 2)[1:]]
    both = sorted([*killed, *early], key=lambda line: line.at)
    assert judges.takeovers(both, list(death)) == (8.0,)
    again = Fault(20 * MS, 1, "kill", 21 * MS)  # the next incarnation, killed before it got anywhere
    assert judges.takeovers(both, [*death, again]) == (8.0,)


def test_the_picture_shows_what_is_around_the_violation() -> None:
    lines = [*stay(1, 0, 5, 1), *stay(1, 500, 6, 2, long=10), *stay(2, 505, 7, 3), *stay(1, 900, 8, 4)]
    lines.sort(key=lambda line: line.at)
    trace = to_trace(lines, [], 2, "made up", 0)
    verdict = next(v for v in judges.judge_all(trace, lines, []) if v.status is Status.BROKEN)
    assert {event.at // 100_000 for event in excerpt(trace, verdict).events} == {5}


def test_the_register_refuses_stale_tokens_and_cut_lines_are_passed_over(tmp_path: Path) -> None:
    register = Register(tmp_path / "register")
    assert register.write(1, 5)
    assert not register.write(2, 4)
    assert register.read() == 1
    record = tmp_path / "1.jsonl"
    record.write_bytes(b'{"at":1,"worker":1,"what":"wanted"}\n{"at":2,"wor')
    assert [line.what for line in read_lines(record)] == ["wanted"]
