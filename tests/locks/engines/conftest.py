"""A directory of turns, a client of it and commands that use it, for the tests of the file engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vez

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of the file engine; made by the first client."""
    return tmp_path / "turns"


@pytest.fixture
def client(home: Path) -> Iterator[vez.Client]:
    """A client of that directory."""
    with vez.connect(f"file://{home}") as made:
        yield made


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Start `vez` with some words, as a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def one(*words: str, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "VEZ_URL": f"file://{home}"}
        command = [sys.executable, "-m", "vez", *words]
        started.append(subprocess.Popen(command, env=environment, text=True, **{**pipes, **options}))
        return started[-1]

    yield one
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)
