"""Places: the yield of its source at which a generator is suspended, and the locals that matter there.

A place is the same on every version of Python: it is the number of the yield in its function, and not that of an
instruction. Python tells the line and the column of the instruction, which lead to the yield in the syntax tree.
"""

from __future__ import annotations

import ast
import linecache
import types
from functools import cache
from typing import Any, NamedTuple

from vez.errors import ProtocolBug
from vez.locks.models.recipes.live_locals import live_at_yields
from vez.locks.models.recipes.scopes import FUNCTIONS, captured

Span = tuple[int | None, int | None, int | None, int | None]
"""First and last line, first and last column, as in `co_positions`."""


class Place(NamedTuple):
    """A yield of a function."""

    function: str
    """Qualified name; the second function of that name in a module ends in `~2`, and so on."""
    number: int
    """Number of the yield in the function, from 1, in the order of the source."""
    live: frozenset[str]
    """The locals that may be read from here on before they are written."""


def place_of(generator: types.GeneratorType[Any, Any, Any]) -> Place:
    """The place of a generator that has yielded."""
    frame, code = generator.gi_frame, generator.gi_code
    assert frame is not None, "it has yielded, so it is not over"
    key = (code.co_filename, code)  # equal functions of two files are equal code
    if key not in _known:
        linecache.lazycache(code.co_filename, frame.f_globals)  # for a module that was imported from an archive
        _known[key] = _Function(code)
    return _known[key].at(frame.f_lasti)


class _Function:
    """The places of one function, found by instruction."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.spans = list(code.co_positions())
        self.name, tree = _functions(code.co_filename).get((code.co_qualname, code.co_firstlineno), ("", None))
        if not isinstance(tree, ast.FunctionDef):
            raise self._refused("its source is not found, as a function that begins with def")
        inner = captured(tree)
        if not inner.issuperset(code.co_cellvars):
            raise self._refused("its source is not what was compiled")
        always = inner | frozenset(code.co_freevars)
        found = sorted(live_at_yields(tree).items(), key=lambda item: _span(item[0])[::2])
        self.places = {
            _span(node): Place(self.name, number, live | always) for number, (node, live) in enumerate(found, 1)
        }

    def at(self, instruction: int) -> Place:
        """The place whose yield the instruction at this offset belongs to."""
        span: Span = self.spans[instruction // 2]
        found = [self.places[span]] if span in self.places else []
        if span[2] is None:  # Python was told to forget columns: PYTHONNODEBUGRANGES, -X no_debug_ranges
            found = [place for known, place in self.places.items() if known[0] == span[0]]
        if len(found) != 1:
            raise self._refused(f"which yield of line {span[0]} it stands at is not clear")
        return found[0]

    def _refused(self, why: str) -> ProtocolBug:
        return ProtocolBug(
            f"recipe {self.code.co_qualname} in {self.code.co_filename} has no place: {why}",
            hint="its states are named after its source, which must be there, as it was imported",
        )


_known: dict[tuple[str, types.CodeType], _Function] = {}


@cache
def _functions(file: str) -> dict[tuple[str, int], tuple[str, ast.AST]]:
    """The functions of a file by qualified name and first line, each with the name that no other one has."""
    found: dict[tuple[str, int], tuple[str, ast.AST]] = {}
    seen: dict[str, int] = {}
    waiting: list[tuple[str, ast.AST]] = [("", ast.parse("".join(linecache.getlines(file))))]
    while waiting:
        prefix, node = waiting.pop()
        if isinstance(node, FUNCTIONS):
            name = prefix + node.name
            count = seen[name] = seen.get(name, 0) + 1
            first = min(one.lineno for one in (node, *node.decorator_list))
            found[name, first] = (name if count == 1 else f"{name}~{count}", node)
            prefix = f"{name}.<locals>."
        elif isinstance(node, ast.ClassDef):
            prefix = f"{prefix}{node.name}."
        waiting += reversed([(prefix, one) for one in ast.iter_child_nodes(node)])
    return found


def _span(node: ast.AST) -> Span:
    assert isinstance(node, ast.expr)
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
