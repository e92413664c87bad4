"""The parts of the simulator know only the parts that they are given; only the composition root knows all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vez.worlds.sim

FOLDER = Path(vez.worlds.sim.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
ROOT = "simulation"


def tree(module: str) -> ast.Module:
    return ast.parse((FOLDER / f"{module}.py").read_text())


def used(node: ast.AST) -> Iterator[str]:
    """The modules of the simulator that are imported, for types alone too."""
    for inner in ast.walk(node):
        names = [inner.module or ""] if isinstance(inner, ast.ImportFrom) else []
        names += [f"{name}.{alias.name}" for name in names if name == "vez.worlds.sim" for alias in inner.names]  # type: ignore[attr-defined]
        names += [alias.name for alias in inner.names] if isinstance(inner, ast.Import) else []
        yield from (name.split(".")[3] for name in names if name.startswith("vez.worlds.sim."))


def rows() -> list[list[str]]:
    """The list of modules in the package's docstring, row by row."""
    lines = [line[4:] for line in (vez.worlds.sim.__doc__ or "").splitlines() if line.startswith("    ")]
    return [line[:24].replace(",", " ").split() for line in lines if not line.startswith(" ")]


def test_the_docstring_lists_every_module_once() -> None:
    assert sorted(module for row in rows() for module in row) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_only_modules_listed_before_it(module: str) -> None:
    place = next(place for place, row in enumerate(rows()) if module in row)
    allowed = {earlier for row in rows()[: place + 1] for earlier in row} - {module}
    assert set(used(tree(module))) <= allowed


@pytest.mark.parametrize("module", [module for module in MODULES if module != ROOT])
def test_nobody_but_the_root_knows_the_whole_run(module: str) -> None:
    code = tree(module)
    assert ROOT not in set(used(code))
    names = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(code) if isinstance(node, ast.Attribute)}
    names |= {node.arg for node in ast.walk(code) if isinstance(node, ast.arg)}
    assert not names & {"world", "Simulation", "_simulation", "simulation"}


def test_the_guard_sees_imports_for_types_and_of_the_package() -> None:
    code = "from vez.worlds.sim import faults\nif TYPE_CHECKING:\n    from vez.worlds.sim.simulation import Simulation\nimport vez.worlds.sim.loop"
    assert sorted(used(ast.parse(code))) == ["faults", "loop", "simulation"]
