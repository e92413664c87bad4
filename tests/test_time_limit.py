"""A test that hangs is named, what it started is killed, and the others run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import is_alive
from vez.testing import eventually

CONFTEST = """
from tests import time_limit
from tests.conftest import pytest_xdist_make_scheduler

time_limit.AGAIN_S, time_limit.LAST_S = 1, 6

def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): how long")
    config.pluginmanager.register(time_limit.TimeLimit())
"""
TESTS = """
import concurrent.futures, pathlib, signal, subprocess, threading
import hypothesis
import pytest

def test_before():
    pass

@pytest.mark.limit(1)
def test_child():
    process = subprocess.Popen(["sleep", "1000"])
    pathlib.Path("child").write_text(str(process.pid))
    process.wait()

@pytest.mark.limit(1)
def test_end_of_a_block():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(threading.Event().wait).result()

@pytest.fixture
def endless():
    threading.Event().wait()

@pytest.mark.limit(1)
def test_fixture(endless):
    pass

@pytest.mark.limit(1)
@hypothesis.given(hypothesis.strategies.integers())
def test_example(number):
    threading.Event().wait()
"""
IN_C = """
@pytest.mark.limit(1)
def test_outside_of_python():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    threading.Event().wait()
"""
AFTER = """
def test_after():
    pass
"""


def run(folder: Path, *options: str, more: str = "") -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_hanging.py").write_text(TESTS + more + AFTER)
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--import-mode=importlib", *options],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr


def named(said: str) -> set[str]:
    return set(re.findall(r"^(?:FAILED|ERROR) test_hanging.py::(\w+)", said, re.M))


HANGING = {"test_child", "test_end_of_a_block", "test_fixture", "test_example"}


def test_a_hanging_test_is_named_and_the_others_run(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert named(said) == HANGING
    assert "3 failed, 2 passed, 1 error" in said
    assert "Hung: test_hanging.py::test_child (call) took longer than 1 s" in said
    assert "Hung: test_hanging.py::test_fixture (setup) took longer than 1 s" in said
    assert "process.wait()" in said  # the stack
    child = int((tmp_path / "child").read_text())
    eventually(lambda: not is_alive(child), "the end of what the test started")


@pytest.mark.long
def test_so_it_is_on_workers_even_if_one_must_be_ended(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    said = run(tmp_path, "-n", "1", more=IN_C)
    assert named(said) == HANGING | {"test_outside_of_python"}
    assert "crashed while running 'test_hanging.py::test_outside_of_python'" in said
    assert "4 failed, 2 passed, 1 error" in said
