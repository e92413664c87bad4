"""Exit codes report the result of a command (broken, undecided, interrupted), even if nobody reads its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.prepared import vez
from vez.cli.app import run

WRONG = """from vez.threads import Program, write
def body():
    yield write("x", 1)
def wrong():
    return Program({"x": 0}, {"a": body}, "x is 2", lambda found: found["x"] == 2)
"""
PASSED = ["--until", "3", "--want", "2@0+30", "--want", "3@1"]
"""Arguments of a run that ends while process 3 still waits."""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "lamport", "--max-states", "2000"], 2),
        (["check", "lamport", "--max-memory", "1"], 2),
        (["check", "token-ring", "--crashes", "1", "--max-states", "50"], 2),
        (["check", "ricart-agrawala-priority", "--property", "exclusion", "--first"], 1),
        (["check", "quorum", "--max-states", "20000"], 2),
        (["check", "maekawa", "-n", "2", "--property", "deadlock_freedom"], 0),
        (["check", "threads:counter"], 1),
        (["check", "threads:counter", "--set", "threads=4", "--set", "lock=step", "--max-states", "50"], 2),
        (["verify", "ricart-agrawala", "--max-states", "10"], 2),
        (["verify", "coordinator"], 0),
        (["sim", "coordinator", "-n", "3", *PASSED], 2),
        (["sim", "coordinator", "-n", "3", *PASSED, "--runs", "3"], 2),
        (["sim", "coordinator", "-n", "3", *PASSED[2:]], 0),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_undecided_is_neither_well_nor_broken(
    arguments: list[str], code: int, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, *(["--json"] if as_json else [])]) == code
    if as_json:
        json.loads(capsys.readouterr().out)


def test_a_saved_trace_that_was_cut_short_is_undecided_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(tmp_path / "cut.jsonl")
    assert run(["sim", "coordinator", "-n", "3", *PASSED, "--trace", trace]) == 2
    assert run(["show", trace]) == 2
    capsys.readouterr()


def test_a_scenario_that_expects_nothing_more_is_content_with_undecided(tmp_path: Path) -> None:
    file = tmp_path / "cut.toml"
    file.write_text(
        'algorithm = "coordinator"\nn = 3\nuntil_ms = 3\nwant = [{process = 2, inside_ms = 30}, {process = 3}]\n'
        '[expect]\nholds = ["exclusion"]\n'
    )
    assert run(["sim", "--scenario", str(file)]) == 0


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check token-ring --crashes 1", 1),
        ("check token-ring --crashes 1 --json", 1),
        ("check token-ring --crashes 1 --diagram text", 1),
        ("check lamport --max-states 2000", 2),
        ("check threads:counter", 1),
        ("check threads:counter --diagram text", 1),
        ("sim ricart-agrawala-priority", 1),
        ("sim ricart-agrawala-priority --json", 1),
        ("sim ricart-agrawala-priority --diagram html", 1),
        ("sim ricart-agrawala-priority --runs 5 --jobs 1", 1),
        ("sim token-ring --without no_crashes", 1),
        ("threads {folder}/wrong.py:wrong", 1),
    ],
)
@pytest.mark.parametrize("reader", ["true", "head -c 1"])
def test_a_closed_pipe_hides_nothing(command: str, code: int, reader: str, tmp_path: Path) -> None:
    """Buffered or not: small outputs fail when they are flushed at the end, large ones while they are written."""
    (tmp_path / "wrong.py").write_text(WRONG)
    command = command.format(folder=tmp_path)
    for unbuffered in ("", "1"):
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = vez(*command.split(), env=environment, reader=["sh", "-c", f"{reader} >/dev/null"])
        assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    "command",
    [
        "algorithms -o {file}.json", "algorithms bully -o {file}.md", "zoo -o {file}.md",
        "status --all --url file://{folder}/turns -o {file}.md", "compare election -n 4 -a bully -o {file}.md",
        "quorum -n 5 -p 0.01 -o {file}.svg", "timeout -e 1 -c 500 --delay constant(2) -o {file}.svg",
        "detectors --beats 300 --trials 5 -o {file}.md",
    ],
)  # fmt: skip
def test_a_file_is_written_before_anything_is_printed(command: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "vez", *command.format(folder=tmp_path, file=tmp_path / "out").split()]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout is not None
        process.stdout.close()  # nobody reads
        assert process.wait(timeout=60) == 0
    assert list(tmp_path.glob("out.*")), "no file"
