"""Find code that is written twice: `python -m tools.duplicates` lists every block, the longest first.

A block is a run of at least `LEAST` lines that occurs in two places. Lines are compared without indentation. Blank
lines, comments, docstrings, imports, parameter lists and lines that only close brackets do not count, so that every
counted line does some work. `async` and `await` do not count either, and the paired names of tasks and threads
(`tools/unasync.py`) count as equal. So code for tasks that repeats code for threads is a copy. Generated files are left
out. Other names are compared as they are: whether a block with other names is a copy, only a reader can judge.
`tests/test_architecture.py` limits the total.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools import unasync

ROOT = Path(__file__).resolve().parent.parent
TREES = ("src", "tests", "bench", "tools", "examples")
LEAST = 8
"""Smallest number of lines of a block. Shorter repetitions are mostly the same call with the same arguments, which a
function would not make shorter."""
CLOSERS = frozenset(")]}, ")


class Line(NamedTuple):
    """A line that counts: its number in the file, and its text without indentation."""

    number: int
    text: str


class Place(NamedTuple):
    """One copy of a block."""

    path: Path
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path}:{self.first}-{self.last}"


class Block(NamedTuple):
    """Lines that occur in two places."""

    lines: int
    earlier: Place
    later: Place


def python_files(root: Path = ROOT) -> list[Path]:
    """Every Python file of the project, packages or not, in one order on every machine."""
    return sorted(path for tree in TREES for path in (root / tree).rglob("*.py"))


def lines_that_count(text: str) -> list[Line]:
    ignored: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        bare_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if bare_text or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            ignored.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            ignored.update(range(node.lineno + 1, node.body[0].lineno))
    return [
        Line(number, unasync.folded(line.strip()))
        for number, line in enumerate(text.splitlines(), 1)
        if number not in ignored and not CLOSERS.issuperset(line) and not line.lstrip().startswith("#")
    ]


def find_blocks(files: dict[Path, list[Line]], least: int = LEAST) -> list[Block]:
    """Every later copy of earlier lines, each line in one block only, the longest first."""
    seen: dict[tuple[str, ...], tuple[Path, int]] = {}
    blocks: list[Block] = []
    for path, lines in files.items():
        blocks += _copies_in(path, lines, files, seen, least)
    return sorted(blocks, key=lambda block: (-block.lines, block.earlier, block.later))


def _copies_in(
    path: Path,
    lines: list[Line],
    files: dict[Path, list[Line]],
    seen: dict[tuple[str, ...], tuple[Path, int]],
    least: int,
) -> Iterator[Block]:
    texts = [line.text for line in lines]
    start = 0
    while start + least <= len(texts):
        window = tuple(texts[start : start + least])
        where, at = seen.setdefault(window, (path, start))
        if where == path and at + least > start:  # itself, or a run of equal lines that overlaps itself
            start += 1
            continue
        other = files[where]
        length = least
        while (
            start + length < len(texts)
            and at + length < (start if where == path else len(other))
            and other[at + length].text == texts[start + length]
        ):
            length += 1
        yield Block(
            length,
            Place(where, other[at].number, other[at + length - 1].number),
            Place(path, lines[start].number, lines[start + length - 1].number),
        )
        start += length


def project() -> dict[Path, list[Line]]:
    """The lines that count, of every Python file of the project that is written by hand."""
    made = {ROOT / to for to in unasync.FILES.values()}
    return {
        path.relative_to(ROOT): lines_that_count(path.read_text(encoding="utf-8"))
        for path in python_files()
        if path not in made
    }


def main() -> None:
    """Print every block and the total."""
    blocks = find_blocks(project())
    for block in blocks:
        print(f"{block.lines:4} lines  {block.later}  as in  {block.earlier}")
    print(f"{sum(block.lines for block in blocks)} lines in {len(blocks)} blocks")


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit("usage: python -m tools.duplicates")
    main()
