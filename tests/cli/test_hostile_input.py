"""Hostile input, typed or in a file, is answered with one line and a hint, a correct exit code, and without delay."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from vez.cli import app
from vez.cli.app import run


@pytest.fixture
def vez(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(line: str) -> tuple[int, str, str]:
        code = run(shlex.split(line))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (f"--partition {'1' * 34}x", "is not of the form 1,2|3@5..20"),
        (f"--partition {'1,' * 5000}x", "is not of the form 1,2|3@5..20"),
        ("--partition '1,2,|3'", "is not of the form 1,2|3@5..20"),
        ("--partition '1-2|3'", "is not of the form 1,2|3@5..20"),
        (f"--crash {'9' * 5000}@3", "is not of the form 3@7"),
        (f"--crash 3@{'9' * 5000}", "<= 1000000000000.0"),
        (f"--ids {'9' * 30},1", "ids[0]: expected a whole number of at most 9007199254740992"),
        (f"--ids {'9' * 5000},1", "is not a list of whole numbers"),
        ("-n 99999999999999999999", "n: expected a whole number of at most 10000000"),
        ("--seed 99999999999999999999", "seed: expected a whole number of at most 9007199254740992"),
        ("--until nan", "nan is not a finite number"),
        ("--until inf", "inf is not a finite number"),
        ("--loss nan", "nan is not a finite number"),
        ("--delay 1e308", "'1e308' is too long"),
        ("--delay nan", "finite numbers"),
        ("--delay 'lognormal(1,1e9)'", "is too long"),
        ("--delay 'lognormal(0,1e9)'", "is too long"),
        ("--delay 'lognormal(1e308,25)'", "is too long"),
        ("--delay 'pareto(1e12,1.0000001)'", "is too long"),
        ("--set answer_ms=nan", "answer_ms of bully: expected a finite number, found nan"),
        ("--set answer_ms=inf", "answer_ms of bully: expected a finite number, found inf"),
        (f"--set answer_ms={'[' * 50_000}{']' * 50_000}", "is nested too deeply"),  # more than any Python takes
        ("--set foo=1 --runs 200", "unknown parameter of bully 'foo'"),
        ("-n 1", "bully needs at least 2 processes"),
    ],
)  # fmt: skip
def test_impossible_options(vez: Any, options: str, message: str) -> None:
    code, out, err = vez(f"sim bully {options}")
    assert code in (64, 65), err
    assert out == ""
    assert message in err
    first, hint = err.splitlines()
    assert len(first) < 220
    assert hint.startswith("     ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 5000, "nested too deeply"),
        ("seed = " + "9" * 5000, "is not TOML: Exceeds the limit"),
        ("[parameters]\nanswer_ms = nan", "expected a finite number"),
        ('[initial."--1"]\nleader = 1', "there is no process --1"),
        ('[initial."²"]\nleader = 1', "there is no process ²"),
        ("until_ms = nan", ">= 0.0"),
        ('[network]\ndelay = "constant(1e300)"', "too long"),
        ("network.delay = inf", "finite"),
    ],
)
def test_impossible_scenario_files(vez: Any, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(f'algorithm = "bully"\n{text}\n')
    code, out, err = vez(f"sim --scenario {path}")
    assert code in (64, 65), err
    assert out == ""
    assert message in err
    assert len(err.splitlines()) <= 2


def test_a_mark_before_the_first_byte_is_no_error(vez: Any, tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    path.write_bytes(b'\xef\xbb\xbfalgorithm = "bully"\n')
    assert vez(f"sim --scenario {path}")[0] == 0


MARKUP = (
    '{"vez_trace":1,"algorithm":"[/red]","role":"mutex","ids":[1,2],"topology":"[/blue]"}\n'
    '{"event":"sent","at":0,"process":1,"number":1,"to":2,"kind":"[/x]"}\n'
)


def test_markup_in_a_trace_is_text(vez: Any, tmp_path: Path) -> None:
    path = tmp_path / "[/bold].jsonl"
    path.parent.mkdir()
    path.write_text(MARKUP)
    code, out, err = vez(f"show {shlex.quote(str(path))}")
    assert (code, err) == (0, "")
    assert "[/red]  2 processes, [/blue]" in out
    assert "1 [/x]" in out


def test_markup_in_names_of_files_is_text(vez: Any, tmp_path: Path) -> None:
    source = tmp_path / "[/b].py"
    source.parent.mkdir()
    source.write_text(
        "from vez.core import Mutex, Property\nclass A(Mutex):\n    guarantees = (Property.EXCLUSION,)\n"
        "    def on_want(self, io): io.enter()\n    def on_done(self, io): ...\n"
    )
    mine, picture = shlex.quote(f"{source}:A"), shlex.quote(str(tmp_path / "[/i].svg"))
    assert f"wrote {tmp_path}/[/i].svg" in vez(f"sim {mine} -n 2 -o {picture}")[1].replace("\n", "")
    code, out, err = vez(
        f"sim {mine} -n 5 --requests 9 --runs 3 --jobs 1 --shrink {shlex.quote(str(tmp_path / '[/u].toml'))}"
    )
    assert (code, err) == (1, "")
    assert "[/b].py" in out
    assert "[/u].toml" in out


def test_a_bug_is_told_in_one_line_with_its_own_code(
    vez: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise KeyError("two\nlines")

    monkeypatch.setattr(app.app, "main", broken)
    code, out, err = vez("sim bully")
    assert (code, out) == (70, "")
    assert err.splitlines() == [
        r"vez: this is a bug in vez: KeyError: 'two\nlines'",
        "     VEZ_DEBUG=1 shows the traceback; please report it",
    ]
    monkeypatch.setenv("VEZ_DEBUG", "1")
    code, _, err = vez("sim bully")
    assert code == 70
    assert err.startswith("Traceback")


@pytest.mark.parametrize(
    "line",
    [
        "torture --url file: --seconds nan", "observe x --for nan", "elect x --for inf", "elect x --wait nan",
        "status --watch --interval nan", "run x --wait nan -- true", "detectors --loss nan", "detectors --pause nan",
        "node --id 1 --group 1,2 --algorithm bully --beat nan",
        "node --id 1 --group 1,2 --algorithm bully --suspect-after inf",
        "node --id 1 --group 1,2 --algorithm bully --time-scale nan",
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(vez: Any, line: str) -> None:
    code, _, message = vez(line)
    assert code == 64
    assert "is not a finite number" in message
