"""`vez verify`: interrupted, resumed, and written to a file."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vez.cli.app import run
from vez.testing import eventually

SLOW = ["verify", "lamport", "--max-states", "60000"]
"""Some seconds for the whole; the first row comes soon."""


def wait_until_kept(file: Path, lines: int, process: subprocess.Popen[str]) -> None:
    def are_kept() -> bool:
        assert process.poll() is None, "it ended before it could be interrupted"
        return file.exists() and file.read_bytes().count(b"\n") >= lines

    eventually(are_kept, "rows are kept")


def interrupted(arguments: list[str], file: Path, number: signal.Signals) -> tuple[int, str, str]:
    """The command, interrupted when it has kept two rows."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vez", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until_kept(file, 3, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait(60)
    return process.returncode, out, err


def test_ctrl_c_prints_what_is_done_and_a_second_call_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "rows.jsonl", tmp_path / "page.md"
    command = [*SLOW, "--resume", str(file), "-o", str(page)]
    code, out, err = interrupted(command, file, signal.SIGINT)
    assert code == 130
    assert "nothing goes wrong" in out
    assert "of 11 worlds are checked" in err
    assert f"{page} was not written" in err
    assert f"kept in {file}" in err
    assert not page.exists()
    head, *done = file.read_text().splitlines()
    forged = [json.loads(line) | {"states": 424_242} for line in done]
    file.write_text("\n".join([head, *map(json.dumps, forged)]) + '\n{"command": "cut sho')
    assert run(command) == 2, "at so small a limit lamport is undecided"
    told = capsys.readouterr()
    assert f"{len(done)} rows taken from {file}" in told.err
    assert page.read_text().count("| 424,242 |") == len(done), "kept rows are not checked again"
    assert "cut sho" not in file.read_text()
    lines = file.read_text().count("\n")
    assert run(command) == 2
    assert file.read_text().count("\n") == lines, "nothing is checked twice"


def test_a_terminated_call_keeps_its_rows_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    code, _, err = interrupted([*SLOW, "--resume", str(file)], file, signal.SIGTERM)
    assert (code, err) == (143, "vez: terminated\n")
    assert file.read_text().count("\n") >= 3


@pytest.mark.long
@pytest.mark.parametrize(("field", "value"), [("code", "0" * 64), ("format", 0), ("max_states", 7)])
def test_stale_rows_are_not_used(field: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    command = ["verify", "raymond", "--resume", str(file)]
    assert run(command) == 0
    head, *rows = file.read_text().splitlines()
    forged = [json.dumps(json.loads(row) | {"states": 424_242}) for row in rows]
    file.write_text("\n".join([json.dumps(json.loads(head) | {field: value}), *forged]) + "\n")
    capsys.readouterr()
    assert run(command) == 0
    told = capsys.readouterr()
    assert "all rows are checked anew" in told.err
    assert "424,242" not in told.out
    assert file.read_text().splitlines() == [head, *rows]


@pytest.mark.parametrize("content", ["my precious notes\n", "{}\n", '{"kind": "vez verify"}\n', "x" * (1 << 21)])
def test_a_file_of_something_else_is_refused_and_stays(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(content)
    assert run(["verify", "raymond", "--resume", str(file)]) == 65
    assert "is not a file of `vez verify --resume`" in capsys.readouterr().err
    assert file.read_text() == content


def test_without_a_file_the_hint_is_how_to_keep_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = 0

    def interrupt(self: object, text: str) -> None:
        nonlocal shown
        shown += 1
        if shown > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("vez.cli.printing.progress.Line.show", interrupt)
    assert run(["verify", "raymond", "--json"]) == 130
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["interrupted"]
    assert 0 < found["worlds"]["checked"] < found["worlds"]["asked"]
    assert "--resume FILE" in told.err


@pytest.mark.long
def test_progress_says_how_many_of_how_many() -> None:
    master, slave = pty.openpty()
    arguments = [sys.executable, "-m", "vez", "verify", "raymond", "lamport", "--max-states", "3000"]
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=slave, env=os.environ | {"TERM": "xterm", "VEZ_PROGRESS": ""}
    )
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 4096):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(master)
        process.wait(timeout=60)
    assert b" of 21 worlds checked; lamport: " in seen


def test_the_suffix_decides_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    assert run(["verify", "raymond", "-o", str(file)]) == 0
    assert {row["algorithm"] for row in json.loads(file.read_text())["rows"]} == {"raymond"}
    assert "wrote" in capsys.readouterr().out
