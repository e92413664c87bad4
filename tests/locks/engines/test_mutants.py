"""The judges themselves are tested: the file engine, broken on purpose in every worker, must be noticed by `vez torture`.

`VEZ_MUTANTS=all` runs every mutant (`make torture` does); otherwise some of them, by a seed that is printed.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.locks.engines.campaigns import ATTEMPTS, TIMED

FOLDER = Path(__file__).with_name("mutants")
NAMES: list[str] = sorted(runpy.run_path(str(FOLDER / "sitecustomize.py"))["MUTANTS"])
SEED = int(os.environ.get("VEZ_MUTANT_SEED") or time.time() // 86400)
ALL = os.environ.get("VEZ_MUTANTS") == "all"
CHOSEN = [
    pytest.param(name, marks=[pytest.mark.long] * (place > 0 and not ALL))
    for place, name in enumerate(NAMES if ALL else random.Random(SEED).sample(NAMES, 3))
]
"""One in `make test`, two more in `make test-long`, all in `make torture`."""
KILLS = ("--faults", "kill,fork", "--seconds", "10", "--entries", "20000")
EVERY_KIND = ("--kinds", "lock,read-write,semaphore,election", "--seconds", "4")
LONG = {
    "rarely_reused_token": ("-n", "2", "--faults", "", "--entries", "8000", "--seconds", "60"),
    "leak_on_timeout": ("--faults", "interrupt", "--seconds", "4"),  # a kill would end the leak
    "dead_holder_unnoticed": KILLS,
    "child_keeps_descriptors": KILLS,
    "pruner_does_not_ask": ("-n", "2", "--faults", "prune", "--seconds", "4"),
    "one_permit_too_many": EVERY_KIND,
    "reader_beside_writer": EVERY_KIND,
    "two_leaders_of_one_term": EVERY_KIND,
    "reader_overtakes_writer": EVERY_KIND,
    "repeated_term": EVERY_KIND,
    "deposed_leader_not_told": (*EVERY_KIND, "--faults", "kill,break"),
    "permit_that_nobody_sees": EVERY_KIND,
    "readers_ring_nobody": ("--kinds", "read-write", "--seconds", "4"),
    "broken_holder_not_told": (*EVERY_KIND, "--faults", "kill,break"),
    "blind_reset": ("--faults", "container,kill", "--seconds", "6"),
    "mark_ignored": ("-n", "2", "--faults", "clock,prune", "--seconds", "4"),
    "failed_sync_taken_for_success": ("--faults", "fsync", "--seconds", "4"),
    "unrecorded_break": ("--faults", "disk,break", "--seconds", "6"),
    # A worker opens few names, and notices only if one of them meets the limit: hence many workers.
    "no_descriptor_for_good": ("-n", "16", "--faults", "descriptors", "--seconds", "5", "--entries", "10000"),
}
"""Rare mistakes need many turns; mistakes that only a death shows need many deaths."""


def torture(mutant: str, folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "vez", "torture", "--url", f"file://{folder}/turns", "--json", "--seed", "5"]
    environment = os.environ | {"PYTHONPATH": str(FOLDER), "VEZ_TEST_MUTANT": mutant}
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, timeout=240)
    return done.returncode, json.loads(done.stdout) if done.stdout else {"properties": {}, "error": done.stderr}


def broken(report: dict[str, Any]) -> set[str]:
    return {name for name, found in report["properties"].items() if found["status"] == "broken"}


@pytest.mark.serial
@pytest.mark.parametrize("name", CHOSEN)
def test_a_mutant_is_noticed(name: str, tmp_path: Path) -> None:
    for attempt in range(ATTEMPTS):  # chance decides which turn a fault meets, and a busy machine has few turns
        code, report = torture(name, tmp_path / str(attempt), *LONG.get(name, ("--seconds", "4")))
        if report.get("skipped"):
            assert "only the engine file:" not in str(report["skipped"])
            pytest.skip(f"this machine does not allow it: {report['skipped']}")
        if code != 0:
            break
    assert code in (1, 69), f"seed {SEED}: {report}"
    print(name, sorted(broken(report)) or report.get("error"))


@pytest.mark.serial
def test_without_a_mutant_nothing_is_noticed(tmp_path: Path) -> None:
    for attempt in range(ATTEMPTS):  # a busy machine may be slow in one of them
        code, report = torture("", tmp_path / str(attempt), "--seconds", "4")
        assert broken(report) <= TIMED, report
        if code == 0:
            break
    assert code == 0, report
    assert {"prompt_hand_over", "prompt_takeover", "progress"} <= set(report["properties"])
