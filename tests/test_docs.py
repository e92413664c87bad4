"""Runs the documentation: its files are written, its commands are run, and their output must match.

In a page, ```python file=NAME (append) and ```toml file=NAME become files; in ```console (exit=N) blocks every `$ `
line is run in the folder of those files, and each line after it must be a part of what it printed. A backslash at the
end of a line continues the command.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.prepared import python, vez

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LONG = {
    "docs/reference/checker.md", "docs/reference/recipes.md", "docs/tutorial/da-simulacao-a-processos-reais.md",
}  # fmt: skip
"""Pages whose commands explore many states, and the translation of a page that runs real processes."""


Command = Callable[[list[str], Path, dict[str, str]], subprocess.CompletedProcess[str]]


def words(text: str) -> str:
    return " ".join(text.split())


def for_the_shell(line: str) -> list[str]:
    """Characters that a shell would interpret. A reader who copies the command must be able to run it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    return [token for token in lexer if token and set(token) <= set("();<>|&")]


def run_command(arguments: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command of a page. Those of vez and of Python come from a prepared process, which saves their start."""
    if arguments[0] in ("vez", ".venv/bin/vez"):
        return vez(*arguments[1:], cwd=folder, env=environment)
    if arguments[0] == "python" and arguments[1] != "-m":
        return python(*arguments[1:], cwd=folder, env=environment)
    if arguments[0] == "python":
        arguments[0] = sys.executable
    return subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, env=environment, check=False, timeout=120
    )


def run_console(body: str, options: str, folder: Path, command: Command = run_command) -> int:
    """Run the commands of a block and compare what they print; returns their number."""
    wanted = int(found[1]) if (found := re.search(r"exit=(\d+)", options)) else 0
    count = 0
    joined = body.replace("\\\n", " ")  # a command may go on in the next line
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        line, *expected = part.splitlines()
        assert not for_the_shell(line), f"quote {for_the_shell(line)} in: $ {line}"
        arguments = shlex.split(line)
        environment = os.environ | {"COLUMNS": "120", "VEZ_DIR": str(folder / "turns")}
        done = command(arguments, folder, environment)
        assert done.returncode == wanted, f"$ {line}\n{done.stdout}{done.stderr}"
        printed = words(done.stdout)
        for text in expected:
            assert words(text) in printed, f"$ {line}\nexpected {text!r} in\n{done.stdout}"
        count += 1
    return count


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=[pytest.mark.long] * (name in LONG))
        for page in PAGES
        for name in (str(page.relative_to(ROOT)),)
    ],
)
def test_what_a_page_shows_is_true(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    for language, options, body in BLOCK.findall(page.read_text()):
        named = re.search(r"file=(\S+)", options)
        if named:
            with (tmp_path / named[1]).open("a" if "append" in options else "w") as file:
                file.write(body if "append" not in options else "\n\n" + body)
        elif language == "console":
            assert run_console(body, options, tmp_path), f"{page}: a console block without a command"
        elif language == "python":
            environment = os.environ | {"VEZ_DIR": str(tmp_path / "turns")}
            done = python("-c", body, cwd=tmp_path, env=environment)
            assert done.returncode == 0, f"{page}:\n{body}\n{done.stderr}"


def run_readme(folder: Path, command: Command) -> int:
    """Run the commands of the README, and only those; returns their number."""
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    return sum(run_console(body, options, folder, command) for kind, options, body in blocks if kind == "console")


def test_the_runner_of_examples_can_fail(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="expected"):
        run_console("$ vez --version\nvez 99\n", "", tmp_path)
    with pytest.raises(AssertionError):
        run_console("$ vez --version\n", " exit=1", tmp_path)
    with pytest.raises(AssertionError, match="quote"):
        run_console("$ vez sim bully --delay uniform(1,2)\n", "", tmp_path)
