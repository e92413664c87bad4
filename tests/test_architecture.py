"""Who may import whom, what the pure parts may not touch, how long a file may be, and how much may be written twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vez
from tools.duplicates import LEAST, ROOT, find_blocks, lines_that_count, project, python_files

SOURCE = Path(vez.__file__).parent
ALLOWED = {
    "errors": set(),
    "words": {"errors"},
    "plugins": {"errors"},
    "core": {"errors"},
    "algorithms": {"core", "errors"},
    "detectors": {"errors"},
    "sim": {"core", "detectors", "errors"},
    "node": {"core", "detectors", "errors"},
    "cluster": {"core", "errors", "node", "sim"},
    "zoo": {"algorithms", "core", "errors", "sim"},
    "properties": {"core", "errors", "words"},
    "draw": {"core", "errors", "properties", "words"},
    "validate": {"core", "errors", "properties", "words"},
    "threads": {"errors"},
    "check": {"core", "errors", "properties", "sim", "threads", "words"},
    "table": {"errors"},
    "models": {"core", "errors", "recipes", "table"},
    "study": {
        "algorithms", "check", "core", "detectors", "draw", "errors", "models", "plugins", "properties",
        "serving", "sim", "words", "zoo",
    },
    "recipes": {"errors"},
    "engines": {"errors", "plugins", "recipes", "table"},
    "peers": {"core", "detectors", "engines", "errors", "node", "sim", "study"},
    "turns": {"engines", "errors"},
    "aio": {"turns"},
    "fence": {"errors"},
    "fetching": {"draw", "errors", "serving"},
    "metrics": {"turns", "fence", "errors"},
    "paging": {"draw", "errors", "serving", "testing"},
    "testing": {"aio", "engines", "errors", "turns"},
    "torture": {"core", "engines", "errors", "properties", "turns", "words"},
    "supervise": {"aio", "engines", "errors"},
    "serving": {"errors"},
    "cli": {
        "aio", "algorithms", "check", "cluster", "core", "detectors", "draw", "engines", "errors", "fetching", "models", "node", "paging", "plugins", "properties", "serving", "sim", "study",
        "supervise", "threads", "torture", "turns", "validate", "words", "zoo", "__version__",
    },
    "demo": {"cli", "cluster", "core", "draw", "properties", "sim", "study", "torture", "turns"},
}  # fmt: skip
FORBIDDEN = {"asyncio", "socket", "time", "random", "logging", "threading", "datetime", "secrets", "os", "subprocess"}
PURE = ("core", "algorithms", "detectors", "models", "recipes", "table")
LONGEST_FILE = 500
LONGEST_SOURCE = 400
LONGEST_FUNCTION = 60
COPIED_LINES = 44
"""Lines that `python -m tools.duplicates` finds written twice. This number may only fall."""


def sources() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "vez":
                yield from (f"vez.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_architecture(path: Path) -> None:
    package = package_of(path)
    if package in ("__init__", "__main__"):
        return
    for name in imports(ast.parse(path.read_text())):
        first, _, rest = name.partition(".")
        if first == "vez":
            target = rest.split(".")[0]
            assert target == package or target in ALLOWED[package], f"{package} may not import vez.{rest}"
        if package in PURE:
            assert first not in FORBIDDEN, f"{package} is pure and may not import {first}"


def too_long(path: Path) -> Iterator[str]:
    name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    if text.count("\n") > (LONGEST_SOURCE if SOURCE in path.parents else LONGEST_FILE):
        yield name
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"{name}: {node.name}"


def test_files_and_functions_stay_short() -> None:
    """At most 500 lines in a file, 400 in the package, 60 in a function."""
    found = {name for path in python_files() for name in too_long(path)}
    assert not found, "split by responsibility"


def test_every_file_says_what_it_is_for() -> None:
    """Files are read, not packages imported, so that a folder without `__init__.py` is seen too."""
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if path.name != "__main__.py" and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_little_is_written_twice() -> None:
    blocks = find_blocks(project())
    total = sum(block.lines for block in blocks)
    shown = "\n".join(f"{block.later} as in {block.earlier}" for block in blocks)
    assert total <= COPIED_LINES, f"say it once, in one place that both use:\n{shown}"
    assert total > COPIED_LINES - 2 * LEAST, f"less is copied now: set COPIED_LINES to {total}"


def test_the_search_for_copies_can_find_one() -> None:
    work = [f"    step({number})" for number in range(9)]
    first = "\n".join(["def one():", '    """Text."""', *work, "", "import os"])
    second = "\n".join(["import sys", "def other():", *work[:4], "", "    # a remark", *work[4:8], "    last()"])
    files = {Path("a.py"): lines_that_count(first), Path("b.py"): lines_that_count(second)}
    (block,) = find_blocks(files, least=8)
    assert (block.lines, str(block.earlier), str(block.later)) == (8, "a.py:3-10", "b.py:3-12")
    assert find_blocks(files, least=9) == []
    assert find_blocks({Path("c.py"): lines_that_count("\n".join(["step()"] * 15))}, least=8) == []


def test_the_guard_against_impure_imports_can_fail() -> None:
    assert "random" in set(imports(ast.parse("import random"))) & FORBIDDEN
    assert set(imports(ast.parse("from vez import sim"))) == {"vez.sim"}
