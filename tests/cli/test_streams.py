"""Standard streams that are closed or cannot be written, signals that are ignored, and bytes that are not UTF-8."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import vez
from tests.processes import is_alive
from vez.testing import eventually

VEZ = f"{shlex.quote(sys.executable)} -m vez"
SECONDS = 60


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "VEZ_DIR": str(tmp_path / "turns")}


def sh(script: str, home: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", script], env=home, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_command_runs_although_streams_are_closed(closed: str, home: dict[str, str], tmp_path: Path) -> None:
    done = sh(f"{VEZ} run a -- sh -c 'sleep 0.1; echo ran; exit 3' {closed}", home)
    assert (done.returncode, done.stdout) == (3, b"ran\n")


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_no_keeper_is_left_when_a_waiting_run_is_killed_whose_streams_are_closed(
    closed: str, home: dict[str, str], tmp_path: Path
) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client, client.lock("k"):
        script = f"exec {VEZ} run k -- true {closed}"
        waiting = subprocess.Popen(["sh", "-c", script], env=home, stdin=subprocess.DEVNULL)
        eventually(lambda: bool(client.inspect("k").queue), "a waiter")
        (keeper,) = Path(f"/proc/{waiting.pid}/task/{waiting.pid}/children").read_text().split()
        waiting.kill()
        waiting.wait(SECONDS)
        eventually(lambda: not is_alive(int(keeper)), "the end of the keeper")


@pytest.mark.parametrize(
    ("words", "code"),
    [("run --no-wait k -- true", 75), ("run a -- nosuchcommand", 127), ("run", 64), ("nosuch", 64), ("status -x", 64)],
)
def test_errors_that_cannot_be_printed_keep_their_exit_code(
    words: str, code: int, home: dict[str, str], tmp_path: Path
) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client, client.lock("k"):
        assert sh(f"{VEZ} {words} 2>/dev/full", home).returncode == code
        assert sh(f"{VEZ} {words} 2>&-", home).returncode == code
        done = sh(f"({VEZ} {words}; echo $? >&3) 3>&1 2>&1 >/dev/null | true; wait", home)
        assert done.stderr == b""


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP"])
def test_ignored_signals_stay_ignored_by_vez_run_and_its_command(name: str, home: dict[str, str]) -> None:
    done = sh(f"trap '' {name}; {VEZ} run t -- sh -c 'grep SigIgn /proc/$PPID/status /proc/$$/status'", home)
    ignored = [int(line.split()[-1], 16) for line in done.stdout.splitlines()]
    assert len(ignored) == 2
    assert all(mask >> (getattr(signal, f"SIG{name}") - 1) & 1 for mask in ignored)


def test_a_watcher_that_ignores_a_signal_goes_on(home: dict[str, str]) -> None:
    """A command that is not `vez run`: as under `nohup`, but for TERM."""
    script = f"trap '' TERM; {VEZ} observe x --json & pid=$!; sleep 1; grep SigIgn /proc/$pid/status; kill -KILL $pid"
    done = sh(script, home)
    (line,) = (line for line in done.stdout.splitlines() if b"SigIgn" in line)
    assert int(line.split()[-1], 16) >> (signal.SIGTERM - 1) & 1


def test_names_are_shown_as_they_are(home: dict[str, str]) -> None:
    """Words between colons are no pictures."""
    done = sh(f"{VEZ} run team:key:rotate --label 'copy :fire: to db' -- {VEZ} status", home)
    assert b"team:key:rotate" in done.stdout
    assert b"copy :fire: to db" in done.stdout
    assert b"'team:fire:x'" in sh(f"{VEZ} status team:fire:x", home).stdout


@pytest.mark.parametrize(
    "script",
    [
        r"""{} status --url "$(printf 'file:///tmp/\377')" """,
        r"""VEZ_DIR="$(printf '/tmp/vez-\377')" {} run x -- true""",
        r"""{} sim "$(printf '\377.py:X')" """,
        "COLUMNS=² {} status",
        "COLUMNS=² {} engines",
        "COLUMNS=² {} sim bully -n 3",
        "(ulimit -n 5; {} run a -- true)",
        "mkdir gone; cd gone; rmdir ../gone; {} sim bully -n 3 -o x.svg",
    ],
)
def test_odd_surroundings_are_no_bug_of_vez(script: str, home: dict[str, str], tmp_path: Path) -> None:
    done = sh(f"cd {shlex.quote(str(tmp_path))}; " + script.format(VEZ), home)
    said = done.stderr.decode(errors="replace")
    assert "bug in vez" not in said
    assert "Traceback" not in said
    assert done.returncode in (0, 64, 65, 66, 69, 73, 126), said


def test_watching_prints_each_change_into_a_pipe(home: dict[str, str], tmp_path: Path) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client:
        command = [sys.executable, "-m", "vez", "status", "--watch", "--interval", "0.05"]
        process = subprocess.Popen(command, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert "turns" in process.stdout.readline()
        assert "nobody holds" in process.stdout.readline()
        with client.lock("seen"):
            line = process.stdout.readline()
            while "seen" not in line:
                line = process.stdout.readline()
        assert "nobody holds" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=SECONDS)[1] == "vez: interrupted\n"
        assert process.returncode == 130
