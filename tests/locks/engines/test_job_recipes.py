"""The recipe for web workers in docs/how-to/run-a-job-once.md, as real processes that are stopped, deposed and killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from vez.testing import eventually

PAGE = ROOT / "docs/how-to/run-a-job-once.md"
FOR_EVER = {"stopped.wait(0.5)": "stopped.wait()", "asyncio.sleep(0.2)": "asyncio.Event().wait()"}
SECONDS = 60


def recipe(word: str) -> str:
    """The program of the page that contains the word, without the limit that lets the test of the page end."""
    text: str
    (text,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if word in block)
    for limited, unlimited in FOR_EVER.items():
        text = text.replace(limited, unlimited)
    return text.replace('"reminders of term", leadership.term)', '"reminders of term", leadership.term, flush=True)')


class Worker:
    """A process that runs a recipe. Its terms, as it prints them."""

    def __init__(self, text: str, folder: Path, number: int) -> None:
        assert any(unlimited in text for unlimited in FOR_EVER.values())
        self.output = folder / f"{number}.txt"
        environment = {**os.environ, "VEZ_DIR": str(folder / "turns")}
        with self.output.open("w") as out:
            command = [sys.executable, "-c", text]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)

    def terms(self) -> list[int]:
        return [int(line.split()[-1]) for line in self.output.read_text().splitlines() if line.startswith("reminders")]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[str], Worker]]:
    started: list[Worker] = []

    def start(word: str) -> Worker:
        started.append(Worker(recipe(word), tmp_path, len(started)))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait(SECONDS)


def depose(folder: Path) -> None:
    command = [sys.executable, "-m", "vez", "break", "scheduler", "--kind", "election", "--reason", "a test"]
    environment = {**os.environ, "VEZ_DIR": str(folder / "turns")}
    subprocess.run(command, env=environment, check=True, timeout=SECONDS, capture_output=True)


def leader_of(workers: list[Worker]) -> Worker:
    """The only worker that has printed a term after those that all had printed before."""
    before = [len(one.terms()) for one in workers]
    eventually(lambda: sum(len(one.terms()) > n + 1 for one, n in zip(workers, before, strict=True)) == 1, "a leader")
    return next(one for one, n in zip(workers, before, strict=True) if len(one.terms()) > n + 1)


@pytest.mark.parametrize("word", ["stopped.wait", "asyncio.run"])
def test_one_worker_leads_and_when_it_is_deposed_or_killed_another(
    word: str, worker: Callable[[str], Worker], tmp_path: Path
) -> None:
    workers = [worker(word) for _ in range(3)]
    first = leader_of(workers)
    depose(tmp_path)
    eventually(lambda: len({term for one in workers for term in one.terms()}) == 2, "another term")
    assert all(one.process.poll() is None for one in workers), "nobody has died of it"
    second = leader_of(workers)
    assert max(second.terms()) > first.terms()[0]
    second.end(signal.SIGKILL)
    left = [one for one in workers if one is not second]
    third = leader_of(left)
    assert max(third.terms()) > max(second.terms())
    shared = [set(one.terms()) & set(other.terms()) for one in workers for other in workers if one is not other]
    assert not any(shared), "no two workers have the same term"


@pytest.mark.parametrize("leads", [True, False])
def test_a_worker_ends_when_it_is_told_to(worker: Callable[[str], Worker], leads: bool) -> None:
    """Whether it leads or waits; the other one leads from then on, or still."""
    workers = [worker("stopped.wait") for _ in range(2)]
    leader = leader_of(workers)
    (other,) = (one for one in workers if one is not leader)
    told, stays = (leader, other) if leads else (other, leader)
    assert told.end(signal.SIGTERM) == 0
    seen = len(stays.terms())
    eventually(lambda: len(stays.terms()) > seen, "a step of the one that stays")
    assert "Traceback" not in told.output.read_text()
