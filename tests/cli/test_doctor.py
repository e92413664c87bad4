"""`vez doctor`: its checks and its output, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.locks.peers.groups import CALM, PATIENCE, places
from vez.locks.turns.client import connect


def doctor(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run `vez doctor` in its own process, after some preparation of that process."""
    program = f"{before}\nfrom vez.cli.app import main\nmain(['doctor', *__import__('sys').argv[1:]])"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_directory_is_looked_at_and_measured(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns"
    done = doctor(url, "--json", "--pairs", "7")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["what"] for one in told["findings"]] == [
        "directory", "file system", "free space", "open files allowed", "acquire and release, alone",
        "notes of periodic jobs",
    ]  # fmt: skip
    assert f"{tmp_path}/turns, for user {os.geteuid()}" in told["findings"][0]["found"]
    assert "of 7 pairs" in told["findings"][-2]["found"]
    assert {"what": "fencing token", "here": "drawn when the request arrives"} in told["gives"]
    assert not told["problem"]
    with connect(url) as client:
        assert client.locks() == []


def test_a_nearly_full_disk_is_a_problem(tmp_path: Path) -> None:
    full = (
        "import shutil, collections\n"
        "usage = collections.namedtuple('usage', 'total used free')\n"
        "shutil.disk_usage = lambda path: usage(100, 99, 1 << 20)\n"
    )
    done = doctor(f"file://{tmp_path}/turns", before=full)
    assert done.returncode == 1
    assert "problem" in done.stdout
    assert "make room" in done.stdout


def test_few_descriptors_are_noted(tmp_path: Path) -> None:
    done = doctor(
        f"file://{tmp_path}/turns", before="import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))"
    )
    assert done.returncode == 0, done.stderr
    assert "ulimit -n" in done.stdout


@pytest.mark.parametrize(
    ("url", "code", "told"),
    [
        ("nope", 64, "'nope' is not an engine URL"),
        ("nope:x", 64, "unknown engine 'nope'"),
        ("file:///proc/turns", 69, "cannot use /proc/turns"),
    ],
)
def test_what_cannot_be_looked_at_is_said_in_one_line(url: str, code: int, told: str) -> None:
    done = doctor(url)
    assert (done.returncode, done.stderr.splitlines()[0][: len(told) + 5]) == (code, f"vez: {told}")


def measured(url: str, seconds: float = 10) -> dict[str, str]:
    """The finding about the measurement."""
    done = doctor(url, "--json", "--pairs", "3", before=f"from vez.cli import doctor\ndoctor.MOST_SECONDS = {seconds}")
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert done.returncode == int(told["problem"])
    found: dict[str, str] = told["findings"][-1]
    return found


def test_an_engine_without_locks_is_measured_with_an_election() -> None:
    with places(2) as made, connect(made.url(1, "bully", **CALM)):
        found = measured(made.url(2, "bully", **CALM), PATIENCE)
    assert (found["what"], found["level"]) == ("acquire and release a leadership, alone", "fine")
    assert "of 3 pairs" in found["found"]


@pytest.mark.parametrize(("algorithm", "level"), [("yoyo", "note"), ("raymond", "problem")])
def test_what_is_not_granted_is_not_measured_and_the_rest_is_said(algorithm: str, level: str) -> None:
    """Member 2 is missing. An election may also go to a member that does not ask, so it is only a note there."""
    with places(2) as made:
        found = measured(made.url(1, algorithm), 0.3)
    assert found["level"] == level
    assert found["found"].startswith("not measured: ")
    assert "member 2 has not joined" in found["found"]
