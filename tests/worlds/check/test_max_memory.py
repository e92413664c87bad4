"""`--max-memory` bounds the whole process, also while it looks for endless runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from vez.cli.app import run
from vez.worlds.check.search.memory import NoRoom, Room

PROGRAM = """
import sys
from pathlib import Path
from vez.cli.app import run
code = run(sys.argv[1:])
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(code, int(status["VmHWM"].split()[0]) / 1024)
"""
"""The largest memory is read inside: that of a child, as its parent sees it, includes the parent's before `exec`."""
NUMPY, PLAIN = "1", "0"
BULLY = ("bully", "--crashes", "1")
"""184,555 states, in which judging needs several times the memory of the states."""


def search(limit: int, numpy: str, *question: str) -> tuple[dict[str, Any], int, float]:
    """The answer, the exit code, and the largest memory of the process in MiB."""
    line = ("check", *question, "--max-memory", str(limit), "--json")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *line],
        env=os.environ | {"VEZ_NUMPY": numpy}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *answer, last = done.stdout.splitlines()
    code, peak = last.split()
    return json.loads("\n".join(answer)), int(code), float(peak)


@pytest.mark.long
@pytest.mark.parametrize(
    ("limit", "numpy"),
    [
        *((limit, NUMPY) for limit in (50, 70, 85, 120, 150, 180, 220)),
        *((limit, PLAIN) for limit in (60, 90, 150, 200, 300, 350, 500)),
    ],
)
def test_the_process_stays_within_the_bound(limit: int, numpy: str) -> None:
    found, code, peak = search(limit, numpy, *BULLY)
    assert peak <= limit
    endless = found["properties"]["termination"]
    if code:
        assert (code, endless["status"]) == (2, "undecided")
        assert "(--max-memory)" in found["stopped"]
        assert "(--max-memory)" in endless["evidence"]
    else:
        assert endless["status"] == "holds"


def test_all_states_are_seen_although_judging_stops() -> None:
    found, code, peak = search(105, NUMPY, *BULLY)
    assert peak <= 105
    assert (code, found["states"]) == (2, 184_555)
    assert found["stopped"] == "before work that may need more than 105 MiB (--max-memory)"
    assert found["properties"]["uniqueness"]["status"] == "undecided", "it was not seen that time goes on"
    assert "before endless runs were examined" in found["properties"]["termination"]["evidence"]


def test_a_search_that_stops_before_the_limit_says_so() -> None:
    found, code, peak = search(300, PLAIN, "bully", "-n", "8", "--jobs", "1")
    assert code == 2
    assert peak < 300
    assert found["stopped"] == "before work that may need more than 300 MiB (--max-memory)"
    assert f"stopped {found['stopped']}" in found["properties"]["uniqueness"]["evidence"]


def test_a_search_says_why_its_memory_did_not_suffice() -> None:
    roomy, full = Room(2**50), Room(2**20, whole_process=True)
    with pytest.raises(NoRoom) as refused:
        roomy.need(2**51)
    before, system, reached = roomy.full(refused.value), roomy.full(MemoryError()), full.full(refused.value)
    assert str(before) == "before work that may need more than 1,073,741,824 MiB (--max-memory)"
    assert before.told("pt").startswith("antes de um trabalho que pode precisar de mais de ")
    assert str(system) == "because the system gave no more memory"
    assert str(reached) == str(full.full()) == "at the limit of 1 MiB (--max-memory)"


def test_the_next_step_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "lamport", "--max-memory", "1"]) == 2
    assert "next: fewer processes, requests or faults" in capsys.readouterr().out


@pytest.mark.parametrize("numpy", [NUMPY, PLAIN])
def test_a_small_search_stops_at_a_small_bound(numpy: str) -> None:
    found, code, _ = search(1, numpy, "lamport")
    assert (code, found["complete"]) == (2, False)
    assert found["stopped"].endswith("MiB (--max-memory)")
