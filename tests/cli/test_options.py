"""One name for one thing; options without effect are refused; names that are nearly right are offered."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from vez.cli.app import COMMANDS, app, run
from vez.errors import UnknownName
from vez.locks.turns.client import connect

Vez = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def vez(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vez:
    monkeypatch.setenv("VEZ_URL", f"file://{tmp_path}/turns")
    monkeypatch.chdir(tmp_path)

    def call(line: str) -> tuple[int, str, str]:
        code = run(shlex.split(line))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run x --weight 3 -- true", "--weight has no effect without --leader"),
        ("run x --busy-code 3 -- true", "--busy-code has no effect without --wait or --no-wait"),
        ("run x --wait 1 --no-wait -- true", "--wait and --no-wait exclude each other"),
        ("run x --shared --leader -- true", "--shared and --leader exclude each other"),
        ("run x -q --json -- true", "--quiet and --json exclude each other"),
        ("run x --shraed -- true", "No such option '--shraed'. Did you mean '--shared'?"),
        ("status --interval 1", "--interval has no effect without --watch"),
        ("status x --all", "NAME and --all exclude each other"),
        ("observe x --once --for 3", "--once and --for exclude each other"),
        ("quorum -n 5 -p 0.1 --runs 10", "--runs has no effect without --simulate"),
        ("quorum -n 5 -p 0.1 --seed 1", "--seed has no effect without --simulate"),
        ("timeout -e 1 -c 5 --delay 3 --round-trips 5", "--round-trips has no effect without --live"),
        ("timeout -e 1 -c 5 --delay 3 --live", "expected one source of delays"),
        ("compare mutex --markdown --json", "--markdown and --json exclude each other"),
        ("compare mutex --growth -o x.md", "a chart is not Markdown"),
        ("zoo -o x.svg", "x.svg: the list has no form with the suffix '.svg'"),
        ("zoo twins -o x.json", "x.json: a run has no form with the suffix '.json'"),
        ("status --watch -o x.md", "--watch and --output exclude each other"),
        ("algorithms -o x.html", "the suffix '.html' is not the name of a format"),
        ("quorum -n 5 -p 0.1 -o x.png", "the suffix '.png' is not the name of a format"),
        ("timeout -e 1 -c 5 --delay 3 -o x", "the suffix '(none)' is not the name of a format"),
        ("torture -o x.doc", "the suffix '.doc' is not the name of a format"),
    ],
)
def test_options_without_effect_are_refused(vez: Vez, line: str, message: str) -> None:
    code, out, err = vez(line)
    assert (code, out) == (64, "")
    assert message in err.splitlines()[0]
    assert len(err.splitlines()) == 2
    assert err.splitlines()[1].strip()


def test_a_folder_that_is_missing_is_told_before_the_work(vez: Vez) -> None:
    code, out, err = vez("compare mutex -o nowhere/x.md")
    assert (code, out) == (73, "")
    assert "there is no folder nowhere" in err


@pytest.mark.parametrize("name", [name for group in COMMANDS.values() for name in group])
def test_one_name_for_one_thing(name: str) -> None:
    """`-o` writes files, `--jobs` is parallelism, `--workers` only where workers are the subject, `--url` is the engine."""
    command = app.get_command(click.Context(app), name)
    assert command is not None
    options = {option: one for one in command.params for option in one.opts if not getattr(one, "hidden", False)}
    assert not options.keys() & {"--plot", "--out", "--file", "--processes", "--parallel", "--engine"}
    assert ("-o" in options) == ("--output" in options)
    assert "--workers" not in options or name == "torture"
    assert ("--url" in options) == (name in ("run", "status", "break", "prune", "elect", "observe", "torture"))
    without = [one.name for one in command.params if isinstance(one, click.Option) and not (one.help or one.hidden)]
    assert without == []


@pytest.mark.parametrize("name", ["", *(name for group in COMMANDS.values() for name in group)])
def test_help_fits_a_narrow_terminal(vez: Vez, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are named N, S, MS, P …: `INTEGER RANGE` says less and takes the room of the text beside it."""
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = vez(f"{name} --help")
    assert code == 0
    assert [line for line in out.splitlines() if len(line) > 60 or "RANGE" in line or " INTEGER" in line] == []


@pytest.mark.parametrize(
    ("line", "file", "start"),
    [
        ("quorum -n 5 -p 0.1", "x.svg", "<svg"),
        ("quorum -n 5 -p 0.1", "x.txt", "Quorums of n = 5"),
        ("timeout -e 1 -c 5 --delay 3", "x.txt", "Expected cost"),
        ("compare mutex -n 4 -a lamport", "x.md", "| algorithm | N |"),
        ("compare mutex -n 4 -a lamport", "x.txt", "N = 4"),
        ("compare mutex -n 4 -a lamport", "x.json", "{"),
        ("compare mutex -n 4 -a lamport", "x.svg", "<svg"),
        ("compare mutex --growth -n 4 -n 5 -a lamport", "x.txt", "Messages"),
        ("compare mutex --growth -n 4 -n 5 -a lamport", "x.json", "{"),
        ("detectors --beats 100 --trials 1 --loss 0.1", "x.txt", "Notice sooner"),
        ("detectors --beats 100 --trials 1 --loss 0.1", "x.md", "| case | detector | detection ms |"),
        ("detectors --beats 100 --trials 1 --loss 0.1", "x.json", "{"),
        ("status", "x.txt", "file:"),
        ("status", "x.md", "| name | kind | who |"),
        ("status", "x.json", "{"),
        ("algorithms", "x.txt", "Mutual exclusion"),
        ("algorithms", "x.md", "## Mutual exclusion\n\n| name | algorithm |\n|---|---|\n| "),
        ("algorithms", "x.json", "{"),
        ("algorithms bully", "x.md", "## bully\n\n"),
        ("zoo", "x.txt", "name "),
        ("zoo", "x.md", "| name | meant to be | breaks | teaches |\n|---|---|---|---|\n| "),
        ("zoo --answer", "x.json", "{"),
        ("zoo twins", "x.html", "<!doctype html>"),
        ("zoo twins", "x.svg", "<svg"),
    ],
)
def test_the_suffix_decides_the_format(vez: Vez, line: str, file: str, start: str) -> None:
    code, _, err = vez(f"{line} -o {file}")
    assert (code, err) == (0, f"wrote {file}\n")
    text = Path(file).read_text()
    assert text.startswith(start)
    if file.endswith(".json"):
        json.loads(text)


def test_a_status_in_a_file_is_the_one_on_the_terminal(vez: Vez, tmp_path: Path) -> None:
    with connect(f"file://{tmp_path}/turns") as client, client.lock("nightly", label="one|[x]") as grant:
        _, out, _ = vez("status -o x.md --json")
        vez("status -o x.json")
    assert json.loads(Path("x.json").read_text()) == json.loads(out)
    (row,) = Path("x.md").read_text().splitlines()[2:]
    assert row.startswith(f"| nightly | lock | one\\|[x] (process {os.getpid()}) | {grant.token} |")


def test_old_forms_work_and_say_what_to_use(vez: Vez, tmp_path: Path) -> None:
    line = "torture {} --seconds 0.2 --workers 2 --faults '' --json"
    code, out, err = vez(line.format(f"file://{tmp_path}/other"))
    assert code == 0
    assert json.loads(out)["url"].endswith("/other")
    assert "vez torture URL is deprecated and will be removed in a later version; use vez torture --url URL" in err
    assert vez(line.format("file:a --url file:b"))[0] == 64


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("smi", "did you mean sim?"),
        ("ricart", "did you mean ricart-agrawala?"),
        ("buly", "did you mean bully?"),
        ("paxos", "known: bully, ricart-agrawala, sim, token-ring"),
        ("ring", "did you mean token-ring?"),
        ("x", "known: bully, ricart-agrawala, sim, token-ring"),
    ],
)
def test_suggestions_only_when_near_else_the_list(name: str, hint: str) -> None:
    assert UnknownName("name", name, ["sim", "bully", "ricart-agrawala", "token-ring"]).hint == hint
