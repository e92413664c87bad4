"""What is loaded when vez starts: every module of vez and of other packages, and the large ones of the standard library.

`tests/start.txt` lists them. Each costs a fraction of a millisecond or more, and all of them together decide how long
`vez run` takes in a crontab. Whoever adds one sees it in the list.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LIST = Path(__file__).parent / "start.txt"
LISTED = (3, 11)
"""The version of Python for which the list is exact. Newer ones load fewer modules of the standard library."""
LARGE = {
    "argparse", "array", "ast", "asyncio", "bisect", "calendar", "collections", "concurrent", "contextlib", "copy",
    "ctypes", "dataclasses", "datetime", "decimal", "difflib", "dis", "email", "enum", "fnmatch", "functools", "gettext",
    "hashlib", "heapq", "http", "importlib", "inspect", "ipaddress", "json", "linecache", "locale", "logging",
    "multiprocessing", "numbers", "operator", "pathlib", "pickle", "platform", "queue", "random", "re", "selectors",
    "shlex", "shutil", "signal", "socket", "ssl", "statistics", "string", "subprocess", "tempfile", "textwrap",
    "threading", "tokenize", "traceback", "types", "typing", "unicodedata", "urllib", "uuid", "weakref", "zipfile",
}  # fmt: skip
"""Modules of the standard library that take a noticeable time to load."""
TELL = """
import atexit, os, sys
before = set(sys.modules)
atexit.register(lambda: os.write(2, ("\\0" + " ".join(set(sys.modules) - before)).encode()))
"""
CASES = {
    "import vez": "import vez",
    "vez.lock on file:": "import vez\nwith vez.lock('x'): pass",
    "vez run on file:": "from vez.cli import main\nmain(['run', 'x', '--', 'true'])",
    "vez status on file:": "from vez.cli import main\nmain(['status'])",
    "vez --help": "from vez.cli import main\nmain(['--help'])",
}
NEVER = {"asyncio", "ssl", "msgspec", "rich", "logging", "inspect", "pathlib", "urllib", "subprocess", "tempfile"}


def loaded(program: str, folder: Path) -> list[str]:
    """The modules that a program loads, of vez by their full names, others by the first part of theirs."""
    left_out = ("VEZ_", "COV", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environment |= {"VEZ_DIR": str(folder / "turns"), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    command = [sys.executable, "-c", TELL + program]
    for _ in range(2):  # the first run compiles what it loads, and compiling loads modules too
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
    found = set()
    for name in done.stderr.partition("\0")[2].split():
        first = name.partition(".")[0]
        if first == "vez":
            found.add(name)
        elif first in LARGE or first not in sys.stdlib_module_names:
            found.add(first)
    return sorted(found)


def part(case: str) -> set[str]:
    """The modules that the list has for a case."""
    text = LIST.read_text(encoding="utf-8").split(f"{case}\n")[1].split("\n\n")[0]
    return {name.strip() for name in text.splitlines()}


def test_the_modules_that_are_loaded_are_those_of_the_list(tmp_path: Path, golden: Callable[[Path, str], None]) -> None:
    """`pytest --rewrite-golden` writes the list again."""
    found = {case: loaded(program, tmp_path) for case, program in CASES.items()}
    if sys.version_info[:2] == LISTED:
        golden(
            LIST, "\n".join(f"{case}\n" + "".join(f"    {name}\n" for name in names) for case, names in found.items())
        )
    for case, names in found.items():
        assert not set(names) - part(case)


@pytest.mark.parametrize("case", [case for case in CASES if case != "vez --help"])
def test_what_takes_longest_to_load_is_not_in_the_list(case: str) -> None:
    assert not {*NEVER, "click"} & part(case)


def test_a_module_that_should_not_be_loaded_is_found(tmp_path: Path) -> None:
    assert "asyncio" in loaded("import vez.aio", tmp_path)
