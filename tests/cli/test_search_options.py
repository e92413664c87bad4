"""One name for one thing, and no option that does nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core_dependencies import hide_all_others
from vez.cli.app import run
from vez.cli.printing.progress import SWITCH
from vez.threads.programs import PROGRAMS


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("check coordinator --workers 1", "--workers is called --jobs now"),
        ("check coordinator --scenario run.toml", "--scenario is called --save-scenario now"),
        ("check threads:counter --workers 1", "--workers is called --jobs now"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 64
    told = capsys.readouterr().err.splitlines()
    assert says in told[0]
    assert len(told) == 2
    assert run([line.split()[0], "--help"]) == 0
    assert f" {line.split()[2]} " not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sim coordinator --jobs 2", "--jobs has no effect without --runs"),
        ("sim lamport --without fifo --jobs 2", "--jobs would change"),
        ("sim lamport --without fifo --trace x.jsonl --seed 3", "--seed would change"),
        ("sim coordinator --recoveries 1", "--recoveries 1: nobody crashes"),
        ("sim coordinator --crashes 1 --recoveries 2", "at most 1 can come back"),
        ("sim coordinator --within 5", "--within has no effect without random faults"),
        (
            "sim bully --requests 3 --think 2 --inside 1",
            "--requests, --think, --inside: bully is not a mutual exclusion",
        ),
        ("sim bully --requests 3 --runs 2", "--requests: bully is not a mutual exclusion"),
        (
            "sim coordinator --detector heartbeat",
            "--detector has no effect: coordinator listens to no failure detector",
        ),
        ("sim lamport --drift 2=1.5", "--drift has no effect: lamport sets no timers"),
        ("sim coordinator --json --diagram svg", "both want standard output"),
        ("sim coordinator --runs 3 --diagram text", "a sweep of many runs draws and saves none"),
        ("check coordinator -n 3 --ids 1,2,3", "-n and --ids exclude each other"),
        ("check bully --elect 2 --requests 2", "--requests and --elect exclude each other"),
        ("check coordinator --want 2 --requests 2", "--requests and --want exclude each other"),
        ("check coordinator --victims 2", "--victims has no effect without --crashes"),
        ("check lamport --timeouts", "--timeouts has no effect: lamport sets no timers"),
        ("check coordinator --crashes 1 --recoveries 2", "at most 1 can come back"),
        ("check coordinator --amnesia", "--amnesia has no effect without --recoveries"),
        ("check bully --first --property termination", "--first is for safety properties"),
        ("check coordinator --json --diagram text", "both want standard output"),
        ("check threads:counter --json --diagram text", "both want standard output"),
        ("check threads:counter --jobs 1 --save-scenario x", "--jobs, --save-scenario: not for programs of threads"),
        ("check threads:counter --max-states 5000001", "at most 5,000,000"),
        ("threads ring --lock step", "--lock: not for ring"),
        ("threads ring --rounds 3", "--rounds: not for ring"),
        ("threads counter --sleep 3", "--sleep: not for counter"),
        ("threads counter -o x.svg --patience 3 --letters 3", "--letters: not for counter"),
        ("threads two-locks -o deadlock.mmd", "the suffix '.mmd' is not the name of a format"),
        (
            "threads counter --set foo=1 -o x.svg",
            "counter has no setting 'foo'; its settings are threads, rounds, lock",
        ),
        ("threads pipeline --set foo=1", "pipeline has no setting 'foo'; its settings are items, capacity"),
        ("check threads:pipeline --set foo=1", "pipeline has no setting 'foo'; its settings are items, capacity"),
        ("threads pipeline --set items=abc", "items is 'abc', expected a whole number"),
        ("threads namer --set block=1", "block is 1, expected true or false"),
        ("threads mslunch --set locks=three", "three"),
        ("threads pipeline --set items=-1", "expected a whole number, 0 or more"),
        ("threads monitor --set objects=0", "objects: at least 1, found 0"),
        ("check threads:monitor --set objects=0", "objects: at least 1, found 0"),
        ("threads hello --set threads=99999999999", "threads is 99,999,999,999, expected at most 2,000"),
        ("threads thread-pool --set workers=2001", "workers is 2,001, expected at most 2,000"),
        ("check threads:scheduled", "scheduled is measured, not explored: it has no interleavings"),
        ("check threads:false-sharing", "false-sharing is measured, not explored: it has no interleavings"),
        ("threads invoke --set tasks=3000", "at most 2,000 real threads, found 3,001"),
        ("threads scheduled --threads 3", "--threads: not for scheduled"),
        ("threads false-sharing -o x.svg", "--output: not for false-sharing"),
        ("threads counter --patience 3", "--patience: not for counter"),
        ("threads two-locks --letters 3 --lock step", "--letters, --lock: not for two-locks"),
        ("threads --rounds 3", "--rounds: not for the list"),
        ("show run.jsonl --json --diagram text", "both want standard output"),
    ],
)
def test_an_option_without_effect_is_refused_in_one_line(
    line: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 64
    out, err = capsys.readouterr()
    assert says in err.splitlines()[0]
    assert len(err.splitlines()) == 2, "one line and a hint"
    assert out == ""


@pytest.mark.parametrize(
    "line",
    [
        "sim bully --drift 2=1.5",
        "sim bully --detector heartbeat --drift 2=1.5",
        "sim coordinator --crashes 1 --recoveries 1 --seed 1",
        "check coordinator-lease --timeouts --property deadlock_freedom",
        "check coordinator --property exclusion --first --jobs 1",
    ],
)
def test_an_option_with_an_effect_is_not(line: str) -> None:
    assert run(line.split()) in (0, 1)


@pytest.mark.parametrize(
    ("line", "idle"),
    [
        ("sim coordinator --drift 2=1.5", "process 2"),
        ("sim coordinator-lease --drift 1=1.1 --drift 2=1.5 --drift 3=2", "processes 2, 3"),
        ("sim coordinator --set grant_ms=1 --drift 1=1.5", ""),
    ],
)
def test_a_clock_that_is_off_for_nothing_is_told(line: str, idle: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) in (0, 1)
    words = f"vez: the drift of {idle} had no effect: no timer was set there in this run\n"
    assert capsys.readouterr().err == (words if idle else "")


@pytest.mark.parametrize("line", ["threads", "check threads:"])
def test_the_programs_of_threads_are_listed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 0
    told = capsys.readouterr().out
    assert all(f" {name} " in told for name in PROGRAMS)
    assert run([*line.split(), "--json"]) == 0
    assert set(PROGRAMS) <= set(json.loads(capsys.readouterr().out))


@pytest.fixture(scope="module")
def core_only(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return os.environ | hide_all_others(tmp_path_factory.mktemp("hidden"))


def without_numpy(line: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "vez", *line.split()]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.mark.parametrize(
    "line",
    [
        "--help", "check --help", "verify --help", "threads --help", "threads", "check threads:",
        "threads counter --threads 2 --rounds 10", "threads ring --letters 3 --sleep 0", "threads pipeline", "sim bully",
        "check coordinator", "check threads:counter --set lock=step", "verify coordinator",
    ],
)  # fmt: skip
def test_commands_work_without_numpy(line: str, core_only: dict[str, str]) -> None:
    done = without_numpy(line, core_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_long_search_says_that_numpy_makes_it_faster(core_only: dict[str, str]) -> None:
    hurried = "import vez.cli.printing.without_numpy as n; n.AFTER_S = 0; from vez.cli.app import main; main()"
    arguments = [sys.executable, "-c", hurried, "check", "lamport", "--max-states", "3000"]

    def errors(switch: str) -> list[str]:
        environment = core_only | {SWITCH: switch}
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60, env=environment)
        assert done.returncode == 2
        return [line for line in done.stderr.splitlines() if not line.startswith("vez: at work")]

    assert not errors("none")
    said, hint = errors("")
    assert re.fullmatch(r"vez: [\d,]+ states so far, without NumPy; with it .* \d+ to \d+ times as fast", said)
    assert hint == "     pip install 'vez[check]', or '.[check]' in a clone"


def test_a_scenario_is_written_by_one_option_and_read_by_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "run.toml")
    assert run(["check", "token-ring", "--crashes", "1", "--save-scenario", file]) == 1
    assert f"wrote {file}" in capsys.readouterr().out.replace("\n", "")
    assert run(["sim", "--scenario", file]) == 0


@pytest.mark.parametrize(
    "line",
    [
        "check lamport -o nowhere/run.svg",
        "check lamport --save-scenario nowhere/run.toml",
        "check lamport --trace nowhere/run.jsonl",
        "sim bully -o nowhere/run.svg",
        "sim bully --trace nowhere/run.jsonl",
        "sim bully --shrink nowhere/run.toml",
        "show run.jsonl -o nowhere/run.svg",
        "verify lamport -o nowhere/page.md",
        "verify lamport --resume nowhere/rows.jsonl",
    ],
)
def test_a_folder_that_is_missing_is_told_before_the_work(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 73
    assert "there is no folder nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("--want 2", "n=3, 1 request of 2, "),
        ("--want 2 --want 2 --want 3", "n=3, 2 requests of 2, 1 request of 3, "),
        ("--requests 2", "n=3, 2 requests each, "),
    ],
)
def test_who_asks_is_said(typed: str, found: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "coordinator", *typed.split()]) == 0
    assert found in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ["check coordinator --want 2@7", "check coordinator --want 2@0+3..5", "check bully --elect 1@5"]
)
def test_times_have_no_effect_in_the_checker(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 64
    assert "the checker tries every time, so a time has no effect" in capsys.readouterr().err


def test_only_near_options_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sim", "token-ring", "--workers", "2"]) == 64
    assert "Did you mean" not in capsys.readouterr().err
    assert run(["sim", "token-ring", "--losss", "2"]) == 64
    assert "Did you mean '--loss'?" in capsys.readouterr().err


def test_requests_of_a_plain_process_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plain.py"
    file.write_text("from vez.core import Process\n\n\nclass Plain(Process):\n    name = 'plain'\n", encoding="utf-8")
    assert run(["check", str(file), "-n", "2", "--requests", "2"]) == 64
    assert "is neither a Mutex nor an Election" in capsys.readouterr().err
