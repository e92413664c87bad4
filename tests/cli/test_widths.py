"""Everything printed fits the terminal, in every width and encoding: nothing is cut, no word is broken."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import vez
from vez.cli import app
from vez.cli.encoding import ascii_form
from vez.cli.printing import tables
from vez.cli.printing.tables import MANY, Column, print_table

SOURCE = Path(__file__).parents[2] / "src" / "vez"
COMMANDS = (
    "algorithms",
    "algorithms bully",
    "algorithms elected-coordinator",
    "zoo",
    "zoo --answer",
    "compare mutex -n 4 -a coordinator -a ricart-agrawala-priority -a maekawa",
    "compare election -n 4 -a bully -a dolev-klawe-rodeh",
    "detectors --beats 300 --trials 5",
    "quorum -n 5 -p 0.01 --want 1e-4",
    "quorum -n 5 -m 3 -p 0.01 --simulate --runs 20",
    "timeout -e 1 -c 500 --delay 'lognormal(2, 0.5)'",
    "sim coordinator-lease -n 3 --want 2@0+3 --want 3@1+6 --pause 2@3+12",
    "sim bully -n 4 --crash 4@20",
)
WORD = re.compile(r"[A-Za-z][\w@=-]{2,}")
TITLES = {"name", "algorithm", "property", "evidence", "since", "token"}
"""Titles of columns, which a table that became blocks does not always show."""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
Out = Callable[[str, int], str]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Out:
    monkeypatch.setenv("VEZ_URL", f"file://{tmp_path}/turns")

    def call(line: str, columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert app.run(shlex.split(line)) in (0, 1)
        return capsys.readouterr().out

    return call


def too_long(text: str, columns: int) -> list[str]:
    """Lines beyond the width; a command to copy may go beyond it, because it must not be broken."""
    return [line for line in text.splitlines() if len(line.rstrip()) > columns and not re.match(r"\s*\$? ?vez ", line)]


def missing(wide: str, narrow: str) -> set[str]:
    """Words that only the wide output has."""
    return set(WORD.findall(wide)) - set(WORD.findall(narrow)) - TITLES


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("line", COMMANDS)
def test_a_narrow_pipe_shows_every_word(printed: Out, line: str, columns: int) -> None:
    wide, narrow = printed(line, 300), printed(line, columns)
    assert too_long(narrow, columns) == []
    assert missing(wide, narrow) == set()
    assert narrow.count("…") == wide.count("…")


@pytest.mark.parametrize("columns", [40, 60])
def test_status_shows_every_word(printed: Out, tmp_path: Path, columns: int) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client, client.lock("a-rather-long-name-of-a-lock", label="backup"):
        client.break_lock("other", "nobody", "lock")
        for line in ("status", "status --all", "status nobody-uses-this"):
            wide, narrow = printed(line, 300), printed(line, columns)
            assert missing(wide, narrow) == set()


def test_a_pipe_is_as_wide_as_COLUMNS_says(printed: Out) -> None:
    assert max(map(len, printed("algorithms", 70).splitlines())) <= 70
    assert max(map(len, printed("algorithms", 150).splitlines())) > 110


def in_terminal(line: str, columns: int, until: bytes = b"", *, errors: bool = False) -> str:
    """The output of a command on a terminal of this many columns, without escape sequences; with `errors`, also its
    errors.

    If the command does not end by itself, it is interrupted when the terminal shows `until`.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    changed = {"TERM": "xterm", "VEZ_PROGRESS": ""}
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | changed
    command = [sys.executable, "-m", "vez", *shlex.split(line)]
    elsewhere = theirs if errors else subprocess.DEVNULL
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=elsewhere, env=environment) as run:
        os.close(theirs)
        parts = []
        while True:
            try:
                parts.append(os.read(ours, 65536))
            except OSError:  # the other side is closed
                break
            if until and until in b"".join(parts):
                run.send_signal(signal.SIGINT)
                until = b""
    os.close(ours)
    return ESCAPES.sub("", b"".join(parts).decode())


@pytest.mark.parametrize("line", [COMMANDS[0], COMMANDS[3], COMMANDS[5], COMMANDS[7]])
def test_a_narrow_terminal_shows_every_word(printed: Out, line: str) -> None:
    narrow = in_terminal(line, 60)
    assert too_long(narrow, 60) == []
    assert missing(printed(line, 300), narrow) == set()


def test_the_live_status_keeps_a_long_url_in_one_piece(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/{'turns-of-a-long-name-' * 5}"
    with vez.connect(url) as client, client.lock("nightly", label="backup"):
        seen = in_terminal(f"status --watch --url {url}", 60, until=b"holds")
    lines = seen.splitlines()
    assert lines[0] == url
    assert lines[1].split() == ["name", "kind", "who", "token", "since", "state"]
    assert too_long(lines[2], 60) == []


def test_status_of_many_names_shows_how_far_it_is(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns"
    with vez.connect(url) as client:
        for number in range(MANY + 1):
            client.lock(f"n{number}").acquire().release()
    seen = in_terminal(f"status --all --url {url}", 100, errors=True)
    assert re.search(rf"looking .*/{MANY + 1}", seen)
    assert seen.count("free; the last token") == MANY + 1


def with_locale(line: str, locale: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command, at 60 columns, with nothing but these settings of language and encoding."""
    names = ("LANG", "LC_", "PYTHONUTF8", "PYTHONIOENCODING")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    done = subprocess.run(
        [sys.executable, "-m", "vez", *shlex.split(line)],
        capture_output=True, env=kept | {"COLUMNS": "60"} | locale, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode in (0, 1, 64), done.stderr
    assert b"Encode" not in done.stderr
    return done


@pytest.mark.parametrize("line", [*COMMANDS, "--help", "run --help", "zoo twins", "sim nobody-knows-ó"])
def test_every_command_speaks_ascii(line: str) -> None:
    done = with_locale(line, {"PYTHONIOENCODING": "ascii"})
    assert (done.stdout + done.stderr).isascii()
    assert b"?-" not in done.stdout  # no line of a picture is lost


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}])
@pytest.mark.parametrize("line", [COMMANDS[0], COMMANDS[5], "zoo twins"])
def test_other_locales_work(line: str, locale: dict[str, str]) -> None:
    assert with_locale(line, locale).stdout


def test_every_character_that_is_printed_has_an_ascii_form() -> None:
    signs = {sign for path in SOURCE.rglob("*.py") for sign in path.read_text() if not sign.isascii()}
    pictograms = set("📝💀👑🌱❌✂⛔⏸⏰\ufe0f")  # of Mermaid only, where words follow
    assert {sign for sign in signs - pictograms if "?" in ascii_form(sign)} == set()
    assert ascii_form("│──▶┊ Quórum ≤ N² …") == "|-->: Quorum <= N^2 ..."


def table(width: int, columns: list[Column], rows: list[list[str]], *, split: bool = False) -> list[str]:
    out = Console(file=StringIO(), width=width)
    print_table(out, columns, rows, split=split)
    assert isinstance(out.file, StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines() if line.strip(" ─")]


def test_tables_fold_split_and_stack() -> None:
    columns = [Column("name"), Column("messages idle", right=True), Column("what happens")]
    rows = [["ricart-agrawala", "6", "everybody asks everybody else for permission to go in"]]
    assert len(table(100, columns, rows)) == 2
    folded = table(60, columns, rows)
    assert len(folded) > 2
    assert folded[0].split() == ["name", "messages", "idle", "what", "happens"]
    stacked = table(30, columns, rows)
    assert [line.strip() for line in stacked[:2]] == ["ricart-agrawala", "messages idle: 6"]
    figures = [Column("name"), *(Column(f"figure-{number}") for number in range(6))]
    parts = table(40, figures, [["ricart-agrawala", *"123456"]], split=True)
    assert [line.split()[0] for line in parts] == ["name", "ricart-agrawala"] * 3


def test_a_table_of_many_rows_looks_like_one_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [Column("name", style="bold"), Column("token", right=True), Column(), Column("日本", right=True)]
    rows = [[f"n{number}", "7" * (number % 5), "[green]\\[holds][/]", "日" * (number % 3)] for number in range(8)]

    def lines() -> str:
        out = Console(file=StringIO(), width=80)
        print_table(out, columns, rows, ruled=False, title="turns")
        assert isinstance(out.file, StringIO)
        return out.file.getvalue()

    few = lines()
    monkeypatch.setattr(tables, "MANY", 0)
    assert lines() == few
    assert "[holds]" in few


@pytest.mark.parametrize("columns", ["0", "1"])
def test_no_width_hides_everything(columns: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vez", "algorithms"], env={**os.environ, "COLUMNS": columns},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "ricart-agrawala" in done.stdout
