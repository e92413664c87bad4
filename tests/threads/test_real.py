"""The programs of the checker, run on real threads."""

from __future__ import annotations

import sys

import pytest

from vez.threads.program import Program
from vez.threads.programs.classics import blocking_queue, counter, pipeline, readers_writers, wait_notify
from vez.threads.programs.exercises import mslunch
from vez.threads.real import run


@pytest.mark.parametrize("lock", ["step", "loop", "atomic"])
def test_locks_keep_every_update_on_real_threads(lock: str) -> None:
    outcome = run(counter(threads=8, rounds=500, lock=lock), switch_us=10)
    assert outcome.finished
    assert outcome.variables["counter"] == 4000


def test_without_a_lock_real_threads_lose_updates() -> None:
    before = sys.getswitchinterval()
    for _ in range(20):  # one loss in so many runs is certain enough, and no run is timed
        if run(counter(threads=8, rounds=2000), switch_us=5).variables["counter"] < 16_000:
            break
    else:
        pytest.fail("no update was lost in twenty runs")
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize(
    "program", [mslunch(), wait_notify(careful=True), blocking_queue(), readers_writers(), pipeline()]
)
def test_programs_that_hold_end_on_real_threads_as_claimed(program: Program) -> None:
    outcome = run(program, patience_s=20)
    assert outcome.finished
    assert program.at_end is None or program.at_end(outcome.memory)
