"""`make demo`: its installation, the real processes, the tour, and its end when it is interrupted or offline."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import descendants, is_alive
from vez.testing import eventually

pytestmark = pytest.mark.serial
MAKE = ["make", f"BIN={Path(sys.executable).parent}", "--old-file=.venv/.plain", "demo"]
"""`make demo` with the environment that runs the tests, whatever its name."""


def demo(folder: Path, columns: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vez.cli.demo"], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"COLUMNS": str(columns)},
    )  # fmt: skip


def test_the_demo_ends_as_it_tells(tmp_path: Path) -> None:
    done = demo(tmp_path, 110)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "was killed inside", "exclusion", "tokens_increase", "It is killed: worker", "leads in term",
        "exclusion broken: processes 2 and 3 were inside together from 12 to 15 ms", "Try next",
    ):  # fmt: skip
        assert words in done.stdout
    assert re.search(r"✓ +request_order: \d{2} requests were queued, and none was overtaken", done.stdout)
    assert re.search(r"– +fork_safe: no worker was forked", done.stdout)
    assert sorted(path.suffix for path in (tmp_path / "demo-out").iterdir()) == [".html"] * 4


@pytest.mark.long
def test_the_demo_at_60_columns(tmp_path: Path) -> None:
    done = demo(tmp_path, 60)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    commands = [line for line in lines if "vez " in line and line.lstrip().startswith(("$", ".venv"))]
    assert len(commands) == 7
    assert all("│" not in line for line in commands)  # nothing around them that would be copied too
    assert "--pause 2@3+12 --diagram text" in done.stdout  # in one line, however long
    assert [line for line in lines if len(line.rstrip()) > 60 and line not in commands] == []
    assert "…" not in done.stdout.partition("Three runs")[0]  # pictures shorten notes at the right edge


@pytest.mark.parametrize(("command", "workers"), [([sys.executable, "-m", "vez.cli.demo"], 5), (MAKE, 6)])
def test_ctrl_c_ends_the_demo_and_its_workers(command: list[str], workers: int) -> None:
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0
    )
    try:
        eventually(lambda: len(descendants(process.pid)) >= workers, "the workers start")
        time.sleep(0.3)  # somewhere in the middle: they take turns by then
        children = descendants(process.pid)
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait(60)
    assert time.monotonic() - begun < 30
    assert process.returncode in (130, -signal.SIGINT), err
    assert "vez: interrupted" in err
    assert "Traceback" not in err
    assert not any(map(is_alive, children))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files of a clone that `make demo` needs."""
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_without_a_network_it_says_so_in_one_line(copy: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE", "MFLAGS"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    done = subprocess.run(
        ["make", "demo", f"PYTHON={sys.executable}"],
        cwd=copy, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == "installing into .venv: vez from this folder, and click, msgspec, rich, tomli-w\n"
    assert "could not install into .venv: no network, or no package index in reach?" in done.stderr
    assert len(done.stderr.splitlines()) <= 3  # pip's error, ours, make's
    assert (copy / ".venv" / "install.log").read_text()
    assert not (copy / ".venv" / ".plain").exists()
