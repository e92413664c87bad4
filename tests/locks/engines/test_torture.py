"""Torture: a short campaign of real faults, and judges that notice each violation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vez
from tests.dispositions import ignoring
from tests.locks.engines.campaigns import sound
from tests.processes import descendants, is_alive
from vez.cli.torture import excerpt
from vez.core import trace_file
from vez.errors import Misuse
from vez.judge.properties import Status, Verdict
from vez.judge.properties.history import History
from vez.testing import eventually
from vez.testing.torture import Campaign, Plan, judges, speed, stays
from vez.testing.torture.history import Fault, to_trace
from vez.testing.torture.record import Line, Register, read_lines
from vez.testing.torture.stays import KINDS, Broken, Target

MS = 1_000_000


def statuses(verdicts: Iterable[Verdict]) -> dict[str, Status]:
    return {verdict.name: verdict.status for verdict in verdicts}


@pytest.mark.serial
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_short_campaign_on_files(tmp_path: Path, seed: int) -> None:
    plan = Plan(url=f"file://{tmp_path}/turns", workers=5, seconds=4, entries=1200, seed=seed)
    outcome = sound(lambda: Campaign(plan).run())
    assert {verdict.status for verdict in outcome.verdicts} <= {Status.HOLDS_IN_RUNS, Status.NOT_JUDGED}
    assert statuses(outcome.verdicts)["exclusion"] is Status.HOLDS_IN_RUNS
    assert outcome.entries > 50
    assert outcome.faults["kill"] > 0
    assert outcome.faults["pause"] > 0
    assert {event.process for event in outcome.trace.events} == set(range(1, 6))


@pytest.mark.parametrize("seed", range(3))
def test_a_campaign_of_few_entries_leaves_no_fault_out(tmp_path: Path, seed: int) -> None:
    plan = Plan(
        url=f"file://{tmp_path}/turns",
        workers=3,
        seconds=20,
        entries=10,
        seed=seed,
        faults=("kill", "pause", "interrupt"),
    )
    outcome = Campaign(plan).run()
    assert min(outcome.faults[kind] for kind in plan.faults) >= 1


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
        [*command, "--trace", str(saved), "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "VEZ_URL": ""},
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert {found["status"] for found in report["properties"].values()} <= {"holds in runs", "not judged"}
    history = History(trace_file.load(saved))
    assert sum(stay.served for stay in history.stays) == report["entries"]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_interrupted_campaign_reports_what_it_has(tmp_path: Path, more: list[str]) -> None:
    command = [sys.executable, "-m", "vez", "torture", "--url", f"file://{tmp_path}/turns", "--seconds", "600"]
    process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with vez.connect(f"file://{tmp_path}/turns") as client:
            eventually(lambda: client.inspect("torture").last_token > 0, "a first entry")
        first = descendants(process.pid)
        eventually(lambda: not first <= descendants(process.pid), "a worker is killed, after the calm phase")
        children = descendants(process.pid)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait(60)
    assert process.returncode == 130, out + err
    assert time.monotonic() - begun < 30
    eventually(lambda: not any(map(is_alive, children)), "the end of all processes; forked ones sleep for a moment")
    if more:
        report = json.loads(out)
        assert report["interrupted"]
        assert report["entries"] > 0
        assert {found["status"] for found in report["properties"].values()} <= {"holds in runs", "not judged"}
    else:
        assert "interrupted; what happened until then:" in out
        assert "exclusion" in out


def test_a_campaign_that_was_started_with_sigint_ignored_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vez", "torture", "--url", f"file://{tmp_path}/turns", "--seconds", "2", "--json"]
    process = subprocess.Popen(ignoring("INT", *command), stdout=subprocess.PIPE, text=True)
    try:
        with vez.connect(f"file://{tmp_path}/turns") as client:
            eventually(lambda: client.inspect("torture").last_token > 0, "a first entry")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait(20)
    assert not json.loads(out)["interrupted"]
    assert process.returncode != 130


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
    return statuses(judges.judge_all(trace, lines, list(faults)))


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
    assert speed.takeovers(lines, list(death)) == ()  # the other asked only later
    early = [Line(1, 2, "wanted"), *stay(2, 10, 6, 2)[1:]]
    both = sorted([*killed, *early], key=lambda line: line.at)
    assert speed.takeovers(both, list(death)) == (8.0,)
    again = Fault(20 * MS, 1, "kill", 21 * MS)  # the next incarnation, killed before it got anywhere
    assert speed.takeovers(both, [*death, again]) == (8.0,)


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


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10), st.integers(0, 10)), max_size=12))
def test_overtaking_is_found_exactly_where_two_requests_show_it(found: list[tuple[int, int, int]]) -> None:
    """Beside the definition, which compares every two requests."""
    requests = [(asked, asked + queued, asked + queued + entered) for asked, queued, entered in found]
    lines = [
        line
        for worker, (asked, queued, entered) in enumerate(requests, 1)
        for line in (
            Line(asked, worker, "wanted"),
            Line(queued, worker, "queued"),
            Line(entered, worker, "entered", 1),
        )
    ]
    lines.sort(key=lambda line: line.at)
    overtaken = any(later[0] > earlier[1] and later[2] < earlier[2] for earlier in requests for later in requests)
    assert (judges.request_order(lines, 0).status is Status.BROKEN) == overtaken


def test_what_did_not_happen_is_not_judged() -> None:
    """A tick beside "0 requests were queued" would say more than was shown."""
    lines = [Line(1, 1, "wanted"), Line(2, 1, "entered", 1), Line(3, 1, "left", 1)]
    trace = to_trace(lines, [], 1, "an engine", 0)
    found = {verdict.name: verdict.status for verdict in judges.judge_all(trace, lines, [])}
    nothing = {"request_order", "fork_safe", "prompt_hand_over", "prompt_takeover"}
    assert {name for name, status in found.items() if status is Status.NOT_JUDGED} >= nothing


def turns(
    hand_over_ms: float, *, count: int = 40, stay_ms: float = 1.0, deaths: bool = False
) -> tuple[list[Line], list[Fault]]:
    """Two workers in turn, each in the queue before the other leaves, or is killed inside."""
    lines, faults, now = [Line(0, 1, "wanted"), Line(1, 1, "entered", 1)], [], 1
    for turn in range(1, count):
        worker, other = turn % 2 + 1, (turn + 1) % 2 + 1
        lines += [Line(now + 10, worker, "wanted"), Line(now + 20, worker, "queued")]
        end = now + int(stay_ms * MS)
        if deaths:
            faults.append(Fault(end, other, "kill", end + 1))
        else:
            lines.append(Line(end, other, "left", turn))
        now = end + int(hand_over_ms * MS)
        lines.append(Line(now, worker, "entered", turn + 1))
    return lines, faults


@pytest.mark.parametrize(
    ("hand_over_ms", "stay_ms", "slow"), [(0.3, 1, False), (50, 1, True), (50, 40, False), (6.5, 1, True)]
)
def test_slow_hand_overs_are_seen_beside_the_stays_of_the_run(hand_over_ms: float, stay_ms: float, slow: bool) -> None:
    lines, faults = turns(hand_over_ms, stay_ms=stay_ms)
    hand_over, takeover = speed.judge(lines, faults)
    assert (hand_over.status is Status.BROKEN) == slow, hand_over.evidence
    assert takeover.status is not Status.BROKEN


def test_slow_takeovers_are_seen() -> None:
    for delay, slow in ((5, False), (200, True)):
        _, takeover = speed.judge(*turns(delay, deaths=True))
        assert (takeover.status is Status.BROKEN) == slow, takeover.evidence


def test_one_very_long_hand_over_is_seen_and_a_pause_excuses_it() -> None:
    lines, faults = turns(0.3)
    left = [line.at for line in lines if line.what == "left"][10]
    for line in lines:
        if line.at > left:
            line.at += 5000 * MS
    assert speed.judge(lines, faults)[0].status is Status.BROKEN
    for worker in (1, 2):
        faults += [Fault(left, worker, "pause"), Fault(left + 5000 * MS, worker, "resume")]
    assert speed.judge(lines, faults)[0].status is not Status.BROKEN


def test_workers_that_are_never_granted_again_are_seen() -> None:
    assert judges.progress(()).status is not Status.BROKEN
    assert judges.progress((3,)).status is Status.BROKEN


LOCK, READ_WRITE, SEMAPHORE = (
    Target("", "lock"), Target("read-write", "read-write"), Target("semaphore", "semaphore", 2)
)  # fmt: skip


def held(worker: int, begin: int, end: int, token: int, *, shared: bool = False, value: int = 0) -> list[Line]:
    found = [Line(begin * MS - 1, worker, "wanted"), Line(begin * MS, worker, "entered", token, shared=shared)]
    if value:
        found.append(Line(end * MS - 1, worker, "wrote", token, value))
    return [*found, Line(end * MS, worker, "left", token)]


def verdict_on(
    target: Target, *parts: list[Line], faults: tuple[Fault, ...] = (), breaks: tuple[Broken, ...] = ()
) -> str:
    lines = sorted((line for part in parts for line in part), key=lambda line: line.at)
    found = stays.judge(target, lines, list(faults), list(breaks), 0)
    return "" if found.status is Status.HOLDS_IN_RUNS else str(found.evidence)


def test_a_semaphore_may_have_two_inside_and_not_three() -> None:
    two = (held(1, 1, 10, 5), held(2, 2, 10, 6))
    assert verdict_on(SEMAPHORE, *two, held(3, 10, 12, 7)) == ""
    assert "worker 3 entered at 9.000 ms beside 1, 2" in verdict_on(SEMAPHORE, *two, held(3, 9, 12, 7))


def test_readers_share_and_writers_do_not() -> None:
    readers = (held(1, 1, 10, 5, shared=True), held(2, 2, 10, 6, shared=True))
    assert verdict_on(READ_WRITE, *readers, held(3, 10, 12, 7)) == ""
    assert "beside 1, 2" in verdict_on(READ_WRITE, *readers, held(3, 9, 12, 7))
    assert "beside 1" in verdict_on(READ_WRITE, held(1, 1, 10, 5), held(2, 2, 10, 6, shared=True))


def test_a_kill_ends_a_stay_and_nothing_else_does() -> None:
    killed, after = held(1, 1, 10, 5)[:2], held(2, 7, 9, 6)
    assert verdict_on(LOCK, killed, after, faults=(Fault(6 * MS, 1, "kill", 8 * MS),)) == ""
    assert "beside 1" in verdict_on(LOCK, killed, after, faults=(Fault(8 * MS, 1, "kill", 9 * MS),))
    assert "beside 1" in verdict_on(LOCK, killed, after)


def test_tokens_are_the_order_of_requests_that_did_not_overlap() -> None:
    assert "after token 9" in verdict_on(SEMAPHORE, held(1, 1, 10, 9), held(2, 2, 10, 6))
    assert "after token 9" in verdict_on(SEMAPHORE, held(1, 1, 10, 9), held(2, 2, 10, 9))
    overlapping = [Line(1, 2, "wanted"), *held(2, 2, 10, 6)[1:]]
    assert verdict_on(SEMAPHORE, held(1, 1, 10, 9), overlapping) == ""


def test_writes_follow_the_tokens_also_when_they_are_recorded_late() -> None:
    late = [*held(1, 1, 10, 5)[:2], Line(20 * MS, 1, "wrote", 5, 1), Line(21 * MS, 1, "left", 5)]
    broken_off = (Broken(3 * MS, 4 * MS, "", (5,)),)
    told = [Line(22 * MS, 1, "lost")]
    assert verdict_on(LOCK, late, told, held(2, 5, 9, 6, value=2), breaks=broken_off) == ""
    assert "wrote 1" in verdict_on(LOCK, late, told, held(2, 5, 9, 6, value=1), breaks=broken_off)


def test_a_broken_holder_is_told_unless_it_was_killed_before() -> None:
    taken = (Broken(3 * MS, 4 * MS, "", (5,)),)
    first, after = held(1, 1, 10, 5), held(2, 5, 9, 6)
    assert verdict_on(LOCK, first, [Line(11 * MS, 1, "lost")], after, breaks=taken) == ""
    assert "without being told" in verdict_on(LOCK, first, after, held(1, 20, 21, 7), breaks=taken)
    assert verdict_on(LOCK, first, after, breaks=taken, faults=(Fault(11 * MS, 1, "kill", 12 * MS),)) == ""


def test_the_register_refuses_whoever_came_before_the_one_it_admitted(tmp_path: Path) -> None:
    register = Register(tmp_path / "register")
    assert register.write(1, 5)
    assert register.admit(6) == 1
    assert not register.write(2, 5)
    assert register.write(2, 6)


def test_every_kind_at_once_with_breaks(tmp_path: Path) -> None:
    plan = Plan(url=f"file://{tmp_path}/turns", seconds=2, seed=3, kinds=KINDS, faults=("kill", "break"))
    outcome = sound(lambda: Campaign(plan).run())
    assert {"lock", "lock_2", "read_write", "semaphore", "election", "progress"} <= {v.name for v in outcome.verdicts}
    assert outcome.faults["break"] > 0


def test_names_that_are_pruned_meanwhile_lose_nothing(tmp_path: Path) -> None:
    plan = Plan(url=f"file://{tmp_path}/turns", workers=2, seconds=2, seed=3, kinds=KINDS, faults=("kill", "prune"))
    outcome = sound(lambda: Campaign(plan).run())
    assert outcome.faults["pruned file"] > 0


def test_an_unknown_kind_is_refused() -> None:
    for kinds in (("mutex",), ()):
        with pytest.raises(Misuse, match="unknown kind"):
            Campaign(Plan(url="file:", kinds=kinds))  # type: ignore[arg-type]
