"""The modules of a node know only those that the docstring of the package lists before them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vez.worlds.node

FOLDER = Path(vez.worlds.node.__file__).parent
LINES = [line[4:] for line in (vez.worlds.node.__doc__ or "").splitlines() if line.startswith("    ")]
ORDER = [line.split()[0] for line in LINES if not line.startswith("-")]
PURE = ORDER[: LINES.index("----")]
WORLD = {"asyncio", "os", "socket", "ssl", "time", "random", "secrets", "sys", "threading", "signal"}


def imported(module: str) -> set[str]:
    code = ast.parse((FOLDER / f"{module}.py").read_text())
    names = {node.module or "" for node in ast.walk(code) if isinstance(node, ast.ImportFrom)}
    return names | {alias.name for node in ast.walk(code) if isinstance(node, ast.Import) for alias in node.names}


def test_the_docstring_lists_every_module_once() -> None:
    assert sorted(ORDER) == sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", ORDER)
def test_a_module_uses_only_modules_listed_before_it(module: str) -> None:
    used = {name.split(".")[3] for name in imported(module) if name.startswith("vez.worlds.node.")}
    assert used <= set(ORDER[: ORDER.index(module)])


@pytest.mark.parametrize("module", PURE)
def test_what_thinks_does_no_input_and_output(module: str) -> None:
    assert not imported(module) & WORLD


def test_a_node_loads_no_simulator_and_no_judges() -> None:
    """Fifty of them fit on a small machine: each megabyte counts fifty times."""
    code = "import sys, vez.cli.node; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert "vez.worlds.node.node" in loaded
    needless = {"vez.worlds.sim.simulation", "vez.judge.properties", "vez.study.sweep", "multiprocessing", "statistics", "rich", "tempfile",
        "shutil", "difflib"}  # fmt: skip
    assert not needless & set(loaded)
