"""Real programs that take turns by an algorithm: exclusion, timeouts that leave nothing behind, kills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.locks.peers.groups import CALM, programs

MUTEXES = ["token-ring", "ricart-agrawala", "maekawa-fair", "raymond", "suzuki-kasami", "coordinator-lease"]
OTHER_MUTEXES = ["coordinator", "lamport", "naimi-trehel", "quorum-retry", "elected-coordinator"]
TOKENS = {"coordinator-lease", "elected-coordinator"}


def options_of(algorithm: str) -> dict[str, Any]:
    return {**CALM, "lease_ms": 60} if algorithm == "coordinator-lease" else dict(CALM)


@pytest.mark.parametrize(
    "algorithm", [*MUTEXES, *(pytest.param(name, marks=pytest.mark.long) for name in OTHER_MUTEXES)]
)
def test_programs_exclude_each_other_and_a_timeout_leaves_nothing_behind(algorithm: str, tmp_path: Path) -> None:
    shared = tmp_path / "counter"
    shared.write_text("")
    with programs(algorithm, **options_of(algorithm)) as (one, two, three):
        for program in (one, two, three):
            program.tell("hammer", "x", shared, 30)
        assert [program.hear() for program in (one, two, three)] == ["hammered"] * 3
        assert shared.read_text() == "90"
        tokens = [one.got("y")]
        assert two.ask("acquire", "y", "timeout=0.2") == "error LockTimeout"
        assert three.ask("acquire", "y", "timeout=0") == "error LockTimeout"
        assert one.ask("release", "y") == "released"
        for program in (three, two, one):
            tokens.append(program.got("y"))
            assert program.ask("release", "y") == "released"
        if algorithm in TOKENS:
            assert [int(token) for token in tokens] == sorted({int(token) for token in tokens})
        else:
            assert tokens == ["None"] * 4


def test_programs_take_turns_by_quorums_that_may_wait_for_each_other() -> None:
    """It does not promise that somebody gets in when several want in at once, so they ask one after the other."""
    with programs("quorum", **CALM) as (one, two, three):
        assert one.got("y") == "None"
        assert two.ask("acquire", "y", "timeout=0.2") == "error LockTimeout"
        assert three.ask("acquire", "y", "timeout=0") == "error LockTimeout"
        assert one.ask("release", "y") == "released"
        for program in (three, two, one):
            assert program.got("y") == "None"
            assert program.ask("release", "y") == "released"


def test_two_programs_inside_at_once_would_be_seen(tmp_path: Path) -> None:
    """An algorithm that asks nobody."""
    file = tmp_path / "alone.py"
    file.write_text(
        "from vez.core import Io, Mutex\n\n\nclass Alone(Mutex):\n"
        "    def on_want(self, io: Io) -> None:\n        io.enter()\n\n"
        "    def on_done(self, io: Io) -> None:\n        pass\n"
    )
    with programs(f"{file}:Alone", 2) as (one, two):
        assert one.got() == "None"
        assert two.got("x", "timeout=0") == "None"
