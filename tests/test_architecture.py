"""Who may import whom, what the pure parts may not touch, and how long a file may be."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import vez

SOURCE = Path(vez.__file__).parent
ALLOWED = {
    "errors": set(),
    "core": {"errors"},
    "algorithms": {"core", "errors"},
    "detectors": {"errors"},
    "sim": {"core", "detectors", "errors"},
    "zoo": {"algorithms", "core", "errors", "sim"},
    "properties": {"core", "errors"},
    "draw": {"core", "properties", "errors"},
    "threads": {"errors"},
    "check": {"core", "errors", "properties", "sim", "threads"},
    "study": {"algorithms", "check", "core", "detectors", "draw", "errors", "properties", "sim", "zoo"},
    "engines": {"errors"},
    "turns": {"engines", "errors"},
    "aio": {"turns"},
    "fence": {"errors"},
    "testing": {"aio", "engines", "errors", "turns"},
    "torture": {"core", "engines", "errors", "properties", "turns"},
    "supervise": {"aio", "engines", "errors"},
    "cli": {
        "aio", "algorithms", "check", "core", "detectors", "draw", "engines", "errors", "properties", "sim", "study",
        "supervise", "threads", "torture", "turns", "zoo", "__version__",
    },
    "demo": {"cli", "draw", "properties", "sim", "study", "torture", "turns"},
}  # fmt: skip
FORBIDDEN = {"asyncio", "socket", "time", "random", "logging", "threading", "datetime", "secrets", "os", "subprocess"}
PURE = ("core", "algorithms", "detectors")
LONGEST_FILE = 500
LONGEST_FUNCTION = 60


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


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} is {length} lines long"


def test_every_module_says_what_it_is_for() -> None:
    for info in pkgutil.walk_packages([str(SOURCE)], "vez."):
        if not info.name.endswith("__main__"):
            assert importlib.import_module(info.name).__doc__, f"{info.name} has no docstring"


def test_the_guard_against_impure_imports_can_fail() -> None:
    assert "random" in set(imports(ast.parse("import random"))) & FORBIDDEN
    assert set(imports(ast.parse("from vez import sim"))) == {"vez.sim"}
