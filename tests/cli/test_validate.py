"""`vez validate`: answers, exit codes, JSON, and files that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vez.cli.app import run

OWN = """
from vez.core import Election, Io, Message

class Hello(Message):
    pass

class Mine(Election):
    def on_elect(self, io: Io) -> None:
        io.broadcast(Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        io.elected(max(sender, io.me))
"""


@pytest.fixture
def traced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "run.jsonl"
    assert run(["sim", "zoo:hasty", "-n", "3", "--trace", str(path)]) == 0
    capsys.readouterr()
    return path


def test_a_possible_run(traced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(traced)]) == 0
    assert "possible" in capsys.readouterr().out


def test_an_impossible_step_is_named(traced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(traced), "--algorithm", "lamport"]) == 1
    out = capsys.readouterr().out
    for text in (
        "impossible",
        "line 19",
        "expected  nothing more from process 2",
        "process 2 enters",
        "that led there",
    ):
        assert text in out


def test_json(traced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(traced), "--algorithm", "lamport", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["answer"] == "impossible"
    assert found["finding"]["line"] == 19
    assert found["finding"]["found"] == "process 2 enters"
    assert run(["validate", str(traced), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finding"] is None


def test_sixty_columns(traced: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["validate", str(traced), "--algorithm", "lamport"]) == 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_assumptions_that_were_not_kept_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    run(["sim", "lamport", "-n", "3", "--loss", "0.3", "--seed", "1", "--trace", str(path)])
    capsys.readouterr()
    assert run(["validate", str(path)]) == 0
    assert "did not keep an assumption: reliable" in capsys.readouterr().out


def test_an_algorithm_of_ones_own_runs_only_if_the_user_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, path = tmp_path / "mine.py", tmp_path / "run.jsonl"
    own.write_text(OWN, encoding="utf-8")
    run(["sim", str(own), "-n", "3", "--trace", str(path)])
    capsys.readouterr()
    assert run(["validate", str(path)]) == 64
    assert "--algorithm" in capsys.readouterr().err
    assert run(["validate", str(path), "--algorithm", f"{own}:Mine"]) == 0


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda lines: lines[:-3], 65, "holds 131 of the 134 events"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], 65, "line 135"),
        (lambda lines: [], 65, "is empty"),
        (lambda lines: ["GIF89a"], 65, "line 1"),
        (lambda lines: [lines[0].replace("zoo:hasty", "paxos"), *lines[1:]], 65, "not an algorithm of vez"),
        (lambda lines: [lines[0].replace('"complete"', '"torus"'), *lines[1:]], 65, "unknown topology 'torus'"),
        (lambda lines: [lines[0].replace("[1,2,3]", "[1,2,3,3]"), *lines[1:]], 65, "makes no sense"),
    ],
    ids=["truncated", "half a line", "empty", "foreign", "unknown", "topology", "ids"],
)
def test_files_that_make_no_sense(
    traced: Path, change: object, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = change(traced.read_text(encoding="utf-8").splitlines())  # type: ignore[operator]
    traced.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert run(["validate", str(traced)]) == code
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--algorithm", "lamprot"], 64, "did you mean lamport"),
        (["--algorithm", "bully"], 64, "role"),
        (["--set", "x=1"], 64, "--set has no effect"),
        (["--algorithm", "missing.py:Mine"], 66, "no file"),
    ],
)
def test_wrong_usage(
    traced: Path, arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", str(traced), *arguments]) == code
    assert words in capsys.readouterr().err


def test_a_device_without_an_end_is_too_large(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vez.core.trace_file.MAX_BYTES", 3 << 20)
    assert run(["validate", "/dev/zero"]) == 65
    assert "/dev/zero is larger than 3 MiB" in capsys.readouterr().err


def test_parameters_for_format_1(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[1] / "data" / "traces" / "format1-lease.jsonl"
    assert run(["validate", str(path), "--set", "lease_ms=10"]) == 0
    capsys.readouterr()
    assert run(["validate", str(path), "--set", "lease=10"]) == 64
    assert "unknown parameter" in capsys.readouterr().err
