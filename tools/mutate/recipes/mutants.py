"""The mutants of the recipes: every change of every statement, and a name for each that a reader understands.

The name is `FILE FUNCTION: WAS -> IS`. Equal changes in one function are numbered. Lines are no part of the name, so
code that moves keeps its mutants. Statements at the top of a module (constants, tables) are changed as well.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.mutate.mutations import BODIES, functions
from tools.mutate.operators import Change
from tools.mutate.recipes.operators import changes

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path("src/vez/locks/recipes/etcd")


class Mutant(NamedTuple):
    """A recipe with one small change."""

    name: str
    path: str
    """Path relative to the tree."""
    line: int
    lines: tuple[int, ...]
    """The lines of the statement; empty for statements at the top of a module, which every use of it runs."""
    change: Change
    text: str
    """The text of the changed module."""

    @property
    def module(self) -> str:
        """The name of the changed module."""
        return self.path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        yield node
        for name in BODIES:
            for child in getattr(node, name, []):
                yield from _statements(child.body if isinstance(child, ast.ExceptHandler) else [child])


def _is_constant(node: ast.stmt) -> bool:
    """True for a statement at the top of a module that gives a name a value which is no type."""
    return isinstance(node, ast.Assign) and not isinstance(node.value, ast.BinOp | ast.Subscript)


def _applied(text: str, change: Change) -> str:
    lines = text.encode().splitlines(keepends=True)
    (first, start), (last, end) = change.start, change.end
    changed = lines[first - 1][:start] + change.text.encode() + lines[last - 1][end:]
    return b"".join([*lines[: first - 1], changed, *lines[last:]]).decode()


def _was(text: str, change: Change) -> str:
    lines = text.encode().splitlines(keepends=True)
    (first, start), (last, end) = change.start, change.end
    part = lines[first - 1 : last]
    part[-1] = part[-1][:end]
    part[0] = part[0][start:]
    return " ".join(b"".join(part).decode().split())


def _segment(text: str, node: ast.stmt) -> tuple[int, str]:
    """The text of a statement at the top of a module, and the number of lines before it."""
    first = min((one.lineno for one in getattr(node, "decorator_list", [])), default=node.lineno)
    return first - 1, "".join(text.splitlines(keepends=True)[first - 1 : node.end_lineno])


def _moved(change: Change, lines: int) -> Change:
    (first, start), (last, end) = change.start, change.end
    return change._replace(start=(first - lines, start), end=(last - lines, end))


def of_module(text: str, path: str) -> Iterator[Mutant]:
    """The mutants of one module that compile and differ from it."""
    seen: Counter[str] = Counter()
    for top in ast.parse(text).body:
        before, segment = _segment(text, top)
        known = {ast.dump(ast.parse(segment))}
        bodies = [(name, function.body) for name, function in functions(ast.Module([top], []))]
        for name, body in [("", [top])] if _is_constant(top) else bodies:
            for change in (change for statement in _statements(body) for change in changes(statement)):
                dump = _parsed(_applied(segment, _moved(change, before)))
                if not dump or dump in known:
                    continue
                known.add(dump)
                where = " ".join(filter(None, (Path(path).name, name)))
                title = f"{where}: {_was(text, change)} -> {change.text}"
                seen[title] += 1
                number = f" #{seen[title]}" if seen[title] > 1 else ""
                lines = tuple(range(change.start[0], change.end[0] + 1)) if name else ()
                yield Mutant(title + number, path, change.start[0], lines, change, _applied(text, change))


def _parsed(segment: str) -> str:
    """The syntax of a text; empty if it cannot be compiled."""
    try:
        tree = ast.parse(segment)
        compile(tree, "segment", "exec")
    except (SyntaxError, ValueError):
        return ""
    return ast.dump(tree)


def find(tree: Path = ROOT) -> list[Mutant]:
    """Every mutant of the recipes of a tree, in the order of the source."""
    paths = sorted((tree / FOLDER).glob("*.py"))
    return [
        mutant
        for path in paths
        for mutant in of_module(path.read_text(encoding="utf-8"), path.relative_to(tree).as_posix())
    ]
