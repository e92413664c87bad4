"""What the documentation shows is run: files are written, commands are run, and what they print must be there.

In a page, ```python file=NAME (append) and ```toml file=NAME become files; in ```console (exit=N) blocks every
`$ ` line is run in the folder of those files, and each line after it must be a part of what it printed. A backslash at
the end of a line continues the command.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def words(text: str) -> str:
    return " ".join(text.split())


def for_the_shell(line: str) -> list[str]:
    """What a shell would not take as part of a word: a reader who copies the command must be able to run it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    return [token for token in lexer if token and set(token) <= set("();<>|&")]


def run_console(body: str, options: str, folder: Path) -> int:
    wanted = int(found[1]) if (found := re.search(r"exit=(\d+)", options)) else 0
    count = 0
    joined = body.replace("\\\n", " ")  # a command may go on in the next line
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        line, *expected = part.splitlines()
        assert not for_the_shell(line), f"quote {for_the_shell(line)} in: $ {line}"
        arguments = shlex.split(line)
        if arguments[0] in ("vez", ".venv/bin/vez"):
            arguments[:1] = [sys.executable, "-m", "vez"]
        elif arguments[0] == "python":
            arguments[0] = sys.executable
        environment = os.environ | {"COLUMNS": "120", "VEZ_DIR": str(folder / "turns")}
        done = subprocess.run(
            arguments, cwd=folder, capture_output=True, text=True, env=environment, check=False, timeout=120
        )
        assert done.returncode == wanted, f"$ {line}\n{done.stdout}{done.stderr}"
        printed = words(done.stdout)
        for text in expected:
            assert words(text) in printed, f"$ {line}\nexpected {text!r} in\n{done.stdout}"
        count += 1
    return count


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
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
            done = subprocess.run(
                [sys.executable, "-c", body],
                cwd=tmp_path, capture_output=True, text=True, env=environment, check=False, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, f"{page}:\n{body}\n{done.stderr}"


def test_the_runner_of_examples_can_fail(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="expected"):
        run_console("$ vez --version\nvez 99\n", "", tmp_path)
    with pytest.raises(AssertionError):
        run_console("$ vez --version\n", " exit=1", tmp_path)
    with pytest.raises(AssertionError, match="quote"):
        run_console("$ vez sim bully --delay uniform(1,2)\n", "", tmp_path)
