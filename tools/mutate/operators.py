"""The operators of mutation: the possible changes of a statement, and the text that replaces it.

Docstrings, annotations, f-strings, log calls, `raise` statements and the messages of assertions are not changed: few
tests should depend on their words.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
SIGNS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
EXTREMES = {"min": "max", "max": "min"}
LOGS = {"log", "_log", "logger", "_logger", "logging", "LOG", "warnings"}
ANNOTATIONS = {"annotation", "returns", "type_comment", "type_params"}


class Change(NamedTuple):
    """A text that replaces the one between two positions, each a line and an offset in UTF-8, as in `ast`."""

    operator: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def _at(node: ast.expr | ast.stmt, operator: str, text: str) -> Change:
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return Change(operator, (node.lineno, node.col_offset), end, text)


def _expression(node: ast.expr, operator: str, new: ast.expr) -> Change:
    return _at(node, operator, f"({ast.unparse(new)})")


def _names(node: type[ast.AST], other: type[ast.AST]) -> str:
    return f"{node.__name__} to {other.__name__}"


def _is_log(node: ast.AST) -> bool:
    while isinstance(node, ast.Call | ast.Attribute | ast.Await):
        if isinstance(node, ast.Attribute) and node.attr in LOGS:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in LOGS


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The node and its descendants, in the order of the source, without the parts that are never changed."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _is_log(node)):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ANNOTATIONS or (isinstance(node, ast.Assert) and name == "msg"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from nodes(child)


def delete(node: ast.stmt) -> Iterator[Change]:
    """Delete a call whose result is not used, or an assignment to an attribute."""
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call) and not _is_log(value):
            yield _at(node, "delete the call", "pass")
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    assigns = isinstance(node, ast.Assign | ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value)
    if assigns and all(isinstance(target, ast.Attribute) for target in targets):
        yield _at(node, "delete the assignment", "pass")


def changes(head: ast.stmt) -> Iterator[Change]:
    """Every change of a statement, given without the statements inside it."""
    if isinstance(head, ast.Break):
        yield _at(head, "Break to Continue", "continue")
    elif isinstance(head, ast.Continue):
        yield _at(head, "Continue to Break", "break")
    elif isinstance(head, ast.Return) and head.value is not None and ast.unparse(head.value) != "None":
        yield _at(head, "return None", "return None")
    elif isinstance(head, ast.AugAssign) and type(head.op) in SIGNS and not _is_text(head.value):
        other = SIGNS[type(head.op)]
        new = ast.AugAssign(head.target, other(), head.value)
        yield _at(head, _names(type(head.op), other), ast.unparse(new))
    for node in nodes(head):
        if isinstance(node, ast.expr):
            yield from _changed(node)


def _changed(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare():
            for number, op in enumerate(node.ops):
                other = COMPARISONS[type(op)]
                ops = [*node.ops[:number], other(), *node.ops[number + 1 :]]
                yield _expression(node, _names(type(op), other), ast.Compare(node.left, ops, node.comparators))
        case ast.BoolOp():
            swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield _expression(node, _names(type(node.op), swapped), ast.BoolOp(swapped(), node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield _expression(node, "remove Not", node.operand)
        case ast.BinOp() if type(node.op) in SIGNS and not (_is_text(node.left) or _is_text(node.right)):
            sign = SIGNS[type(node.op)]
            yield _expression(node, _names(type(node.op), sign), ast.BinOp(node.left, sign(), node.right))
        case ast.Constant(value=bool(truth)):
            yield _at(node, f"{truth} to {not truth}", str(not truth))
        case ast.Constant(value=int(value)):
            for step in (1, -1):
                yield _at(node, f"{step:+} on a constant", str(value + step))
        case ast.Call(func=ast.Name(id=name)) if name in EXTREMES:
            yield _at(node.func, f"{name} to {EXTREMES[name]}", EXTREMES[name])
