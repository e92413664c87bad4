"""`vez threads`, as a user meets it: lines of threads, verdicts, measured tables, pictures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vez.cli.app import run
from vez.cli.threads_measured import EXHIBITS
from vez.cli.threads_run import Lines, result_time
from vez.threads.programs import LESSONS
from vez.threads.programs.classics import counter
from vez.threads.real import Outcome
from vez.threads.recording import Deed, Recording
from vez.threads.sharing import CASES, Measured


def told(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str]:
    code = run(line.split())
    return code, capsys.readouterr().out


def test_the_list_says_what_each_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(capsys, "threads --json")
    assert code == 0
    found = json.loads(out)
    teaches = {name: lesson.teaches for name, lesson in LESSONS.items()}
    teaches |= {name: exhibit.teaches for name, exhibit in EXHIBITS.items()}
    assert {name: entry["teaches"] for name, entry in found.items()} == teaches
    assert found["ring"]["settings"] == ["--set threads=30", "--set letters=80", "--set seed=0"]


def test_lines_are_printed_with_the_name_of_their_thread(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(capsys, "threads printed-counter --threads 2 --rounds 3 --set lock=true --set inside=true")
    assert code == 0
    lines = out.splitlines()
    assert [line.partition(": ")[2] for line in lines if "inside: " in line] == [f"inside: {n}" for n in range(1, 7)]
    assert {line.partition(":")[0] for line in lines[:12]} == {"T1", "T2"}
    assert lines[-2].startswith("as claimed: the numbers printed inside are 1 to 6, in order; counter = 6")


def test_invoke_says_when_the_result_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(capsys, "threads invoke --sleep 0.5")
    assert code == 0
    words = r"the result was there after \d+\.\d{3} s, the last thread ended after \d+\.\d{3} s"
    assert re.search(words, " ".join(out.split()))
    assert "result was there" not in told(capsys, "threads hello")[1]


def test_a_result_may_be_there_before_the_last_thread_ends() -> None:
    """The time of the whole run is the same for invoke-any and invoke-all: it ends with the slowest task."""
    deeds = (Deed("main", "says", 100_000, 100_000, "any: 1"), Deed("task2", "runs", 0, 200_000, "runs"))
    outcome = Outcome({}, 0.2, True, recording=Recording(("main", "task2"), deeds, 200_000))
    assert result_time("invoke", outcome) == {"result_s": 0.1}
    assert result_time("hello", outcome) == {}


def test_of_many_lines_the_first_and_the_last_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(capsys, "threads mslunch")
    assert code == 0
    assert f"… {2000 - Lines.MOST - Lines.LAST:,} lines more (--all prints them)" in out
    assert len(out.splitlines()) == Lines.MOST + Lines.LAST + 3
    _, out = told(capsys, "threads mslunch --all")
    assert len(out.splitlines()) == 2000 + 2


def test_a_deadlock_is_named_and_ended(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "deadlock.svg"
    code, out = told(capsys, f"threads two-locks --switch 1 --rounds 1000000 -o {picture}")
    assert code == 0
    assert "deadlock: T1, T2 can never go on; ended after" in out
    assert "a cycle: T1 → lock1 → T2 → lock2 → T1" in out
    drawn = picture.read_text(encoding="utf-8")
    assert "T1: is blocked lock1" in drawn
    assert "T1: holds a lock lock2" in drawn


def test_a_deadlock_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(capsys, "threads reentrant --json")
    assert code == 0
    found = json.loads(out)
    assert (found["kept"], found["promised"]) == (False, False)
    (holder,) = {edge["held_by"] for edge in found["deadlock"].values()}
    assert found["deadlock"][holder] == {"waits_for": "lock", "held_by": holder}


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("hello --threads 200", 0, "another run may end differently; with --set ordered=true the claim always holds"),
        ("hello --threads 200 --set ordered=true", 0, "one run tells little"),
        ("join --set wait=none --rounds 1 --sleep 0.1", 0, "not as claimed: all 1 greetings are printed"),
        ("volatile --patience 0.3", 0, "with --set volatile=true the claim always holds"),
        ("printed-counter", 0, "with --set lock=true --set inside=true the claim always holds"),
        ("ring --threads 2 --letters 1 --sleep 1000 --patience 0.3", 2, "still ran after 0.3 s"),
        ("{folder}/mine.py:deadlock", 1, "T1 can never go on"),
        ("{folder}/mine.py:wrong", 1, "not as claimed: a is 2; a = 1"),
    ],
)
def test_only_what_was_promised_and_is_broken_is_a_failure(
    line: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    found, out = told(capsys, f"threads {line.format(folder=tmp_path)}")
    assert found == code
    assert words in out


MINE = """
from vez.threads import Lock, Program, acquire, write

def deadlock():
    def body():
        yield acquire("l")
        yield acquire("l")
    return Program({"l": Lock()}, {"T1": body})

def wrong():
    def body():
        yield write("a", 1)
    return Program({"a": 0}, {"T1": body}, "a is 2", lambda memory: memory["a"] == 2)
"""


def test_a_counter_that_loses_updates_in_spite_of_its_lock_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "threads counter --threads 4 --rounds 300 --lock"
    assert told(capsys, f"{line} step")[0] == 0
    monkeypatch.setattr("vez.cli.threads_counter.counter", lambda threads, rounds, lock: counter(1, rounds, lock))
    for lock, code in (("step", 1), ("cas", 1), ("none", 0)):
        assert told(capsys, f"{line} {lock}")[0] == code


@pytest.mark.parametrize("suffix", ["svg", "html", "txt"])
def test_a_run_is_drawn_with_a_lane_for_each_thread(
    suffix: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = tmp_path / f"ring.{suffix}"
    code, out = told(capsys, f"threads ring --threads 4 --letters 5 --sleep 0 -o {picture}")
    assert code == 0
    assert f"wrote {picture}" in out
    drawn = picture.read_text(encoding="utf-8")
    assert all(f"T{number}" in drawn for number in range(1, 5))


def test_settings_side_by_side_are_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "busy.svg"
    code, out = told(capsys, f"threads busy-wait --sleep 0.01 --json -o {picture}")
    assert code == 0
    runs = json.loads(out)["runs"]
    assert [one["settings"] for one in runs] == [{"busy": True}, {"busy": False}]
    assert all(set(one["cpu_by_thread_s"]) == {"waiter", "setter"} for one in runs)
    assert "busy=true: waiter" in picture.read_text(encoding="utf-8")
    code, out = told(capsys, "threads thread-pool --sleep 0.01 --set workers=3")
    assert "as claimed: 2 tasks are done" in out


def test_counter_with_a_picture_is_one_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out = told(capsys, f"threads counter --threads 2 --rounds 5 --lock step -o {tmp_path / 'counter.txt'}")
    assert code == 0
    assert "as claimed: counter is 10; counter = 10" in out


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_the_list_fits_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out = told(capsys, "threads")
    assert max(map(len, out.splitlines())) <= columns


def test_scheduled_runs_are_listed_and_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "scheduled.svg"
    code, out = told(capsys, f"threads scheduled --sleep 0.001 -o {picture}")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.strip().startswith("fixed")]
    assert [row[2:9] for row in rows[2:4]] == [
        ["3", "11", "s", "18", "s", "20", "s"],
        ["4", "16", "s", "20", "s", "22", "s"],
    ]
    assert "planned start" in picture.read_text(encoding="utf-8")
    code, out = told(capsys, "threads scheduled --sleep 0.001 --json")
    assert json.loads(out)["expected"]["fixed delay"][1] == {"planned_s": 8.0, "start_s": 8.0, "end_s": 20.0}


def test_false_sharing_is_measured_in_four_cases(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(capsys, "threads false-sharing --rounds 2 --json")
    assert code == 0
    cases = json.loads(out)["cases"]
    assert [case["lost"] for case in cases[:2]] == [0, 0]
    assert cases[3]["case"] == "one word, one processor"
    code, out = told(capsys, "threads false-sharing --rounds 2")
    assert "two words, one cache line, two processors" in out


def test_false_sharing_without_any_counted_processor_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Measured(case.name, 10, 10, 0.0, 0.0) for case in CASES]
    monkeypatch.setattr("vez.cli.threads_measured.measure", lambda rounds, watch: rows)
    code, out = told(capsys, "threads false-sharing --rounds 1")
    assert code == 0
    assert out.count("0.00 ns") == len(CASES)
    assert out.count("–") == len(CASES)


def test_nobody_who_reads_on_is_no_failure_of_the_program() -> None:
    command = [sys.executable, "-m", "vez", "threads", "hello", "--threads", "500", "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
    assert (process.returncode, error) == (0, "")


MISTAKES = """
from vez.threads import Lock, Program, read, release

def program(body):
    return Program({"a": 0, "l": Lock()}, {"T1": body})

def back():
    def body():
        yield release("l")
    return program(body)

def unknown():
    def body():
        yield read("zz")
    return program(body)

def number():
    def body():
        yield 5
    return program(body)

def nothing():
    return program(lambda: 3)

def nobody():
    return Program({"a": 0}, {})
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("back", "T1 gives 'l' back without holding it"),
        ("unknown", "T1 uses 'zz', which is not shared"),
        ("number", "T1 yields 5"),
        ("nothing", "the body of thread T1 returns 3 and yields nothing"),
        ("nobody", "a program needs at least one thread"),
    ],
)
def test_a_mistake_is_said_alike_on_real_threads_and_by_the_checker(
    name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mistakes.py"
    file.write_text(MISTAKES)
    told = []
    for line in (["threads", f"{file}:{name}"], ["check", f"threads:{file}:{name}"]):
        assert run(line) in (64, 65)
        told.append(capsys.readouterr().err.splitlines()[0])
    assert told == [f"vez: {words}"] * 2
