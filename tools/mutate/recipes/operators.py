"""Every small change of a statement that could be a mistake in a recipe: many more than `tools.mutate.operators`.

A statement is left out, or its yield is repeated. A condition is forced, negated, or loses an operand. A handler
catches nothing. An argument, an element, a part of a slice or of a text is left out, or two arguments change places. A
constant is one more or less, a comparison has its neighbour or its opposite, and one revision is taken for another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.mutate.operators import ANNOTATIONS, COMPARISONS, EXTREMES, SIGNS, Change

OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
}  # fmt: skip
CALLS = {**EXTREMES, "any": "all", "all": "any"}
WORDS = {"create": "mod", "mod": "create", "oldest first": "newest first", "newest first": "oldest first"}
"""Attributes of entries and orders of keys that a mistake could take for each other."""
TYPED = {"isinstance", "len", "int", "bool", "max", "min", "round", "tuple", "frozenset", "next", "getattr", "range"}
"""Functions whose arguments cannot change places."""
ALONE = (
    ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Raise, ast.Return, ast.Break, ast.Continue, ast.Assert,
)  # fmt: skip
"""Statements without statements inside them."""


def _at(node: ast.expr | ast.stmt, operator: str, text: str) -> Change:
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return Change(operator, (node.lineno, node.col_offset), end, text)


def _new(node: ast.expr, operator: str, new: ast.expr) -> Change:
    return _at(node, operator, f"({ast.unparse(new)})")


def changes(node: ast.stmt) -> Iterator[Change]:
    """Every change of a statement, without those of the statements inside it."""
    if isinstance(node, ALONE):
        yield from _left_out(node)
        yield from _repeated(node)
    if isinstance(node, ast.Break):
        yield _at(node, "continue", "continue")
    elif isinstance(node, ast.Continue):
        yield _at(node, "break", "break")
    elif isinstance(node, ast.If | ast.While):
        yield from _forced(node.test)
    elif isinstance(node, ast.For):
        yield _at(node.iter, "no elements", "()")
    elif isinstance(node, ast.Try):
        for handler in node.handlers:
            if handler.type is not None:
                yield _at(handler.type, "catch nothing", "()")
                yield from _expressions(handler.type)
    for expression in _own(node):
        yield from _expressions(expression)


def _own(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are no part of a statement inside it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    for name, value in ast.iter_fields(node):
        if name in (*ANNOTATIONS, "target", "targets", "msg"):
            continue
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.expr))


def _left_out(node: ast.stmt) -> Iterator[Change]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return
    yield _at(node, "leave out", "pass")
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield _at(node, "return None", "return None")


def _repeated(node: ast.stmt) -> Iterator[Change]:
    """Ask twice, and use the second reply."""
    value = getattr(node, "value", None)
    if isinstance(value, ast.Yield | ast.YieldFrom):
        yield _at(node, "repeat", f"{ast.unparse(value)}; {ast.unparse(node)}")


def _forced(test: ast.expr) -> Iterator[Change]:
    if isinstance(test, ast.Constant):
        return
    yield _at(test, "always", "True")
    yield _at(test, "never", "False")
    yield _new(test, "negate", ast.UnaryOp(ast.Not(), test))


def _expressions(root: ast.expr) -> Iterator[Change]:
    for name, value in ast.iter_fields(root):
        if name not in ANNOTATIONS and not isinstance(root, ast.JoinedStr):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.expr):
                    yield from _expressions(child)
                elif isinstance(child, ast.comprehension):
                    yield from _comprehended(child)
                elif isinstance(child, ast.keyword):
                    yield from _expressions(child.value)
    yield from _changed(root)


def _comprehended(node: ast.comprehension) -> Iterator[Change]:
    yield from _expressions(node.iter)
    for condition in node.ifs:
        yield _at(condition, "always", "True")
        yield _at(condition, "never", "False")
        yield from _expressions(condition)


def _changed(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare(left, ops, right):
            for number, op in enumerate(ops):
                for table in (COMPARISONS, OPPOSITES):
                    if other := table.get(type(op)):
                        changed = [*ops[:number], other(), *ops[number + 1 :]]
                        yield _new(node, other.__name__, ast.Compare(left, changed, right))
        case ast.BoolOp(op, values):
            yield _new(node, "other connective", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
            for number in range(len(values)):
                rest = [*values[:number], *values[number + 1 :]]
                yield _new(node, "leave out", rest[0] if len(rest) == 1 else ast.BoolOp(op, rest))
        case ast.UnaryOp(ast.Not(), operand):
            yield _new(node, "remove not", operand)
        case ast.UnaryOp(ast.USub(), operand):
            yield _new(node, "remove minus", operand)
        case ast.IfExp(_, body, orelse):
            yield from (_new(node, "one branch", one) for one in (body, orelse))
        case ast.BinOp(left, op, right):
            if sign := SIGNS.get(type(op)):
                yield _new(node, sign.__name__, ast.BinOp(left, sign(), right))
            yield from (_new(node, "one operand", one) for one in (left, right))
        case ast.Subscript(value, ast.Slice(lower, upper, None)):
            if lower is not None:
                yield _new(node, "from the start", ast.Subscript(value, ast.Slice(None, upper), ast.Load()))
            if upper is not None:
                yield _new(node, "to the end", ast.Subscript(value, ast.Slice(lower, None), ast.Load()))
        case ast.Attribute(value, attr) if attr in WORDS:
            yield _new(node, WORDS[attr], ast.Attribute(value, WORDS[attr], ast.Load()))
        case ast.Tuple(elements, ast.Load()):
            for number in range(len(elements)):
                rest = [*elements[:number], *elements[number + 1 :]]
                yield _new(node, "leave out", ast.Tuple(rest, ast.Load()))
        case ast.Call():
            yield from _called(node)
        case ast.JoinedStr(parts):
            for number in range(len(parts)):
                yield _new(node, "leave out", ast.JoinedStr([*parts[:number], *parts[number + 1 :]]))
        case ast.Constant(value):
            yield from _constants(node, value)


def _called(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield _at(node.func, CALLS[node.func.id], CALLS[node.func.id])
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name[:1].isupper() and node.args:  # a value, whose last fields have defaults; functions have none
        yield _new(node, "leave out", ast.Call(node.func, node.args[:-1], node.keywords))
    for number in range(0 if name in TYPED else len(node.args) - 1):
        swapped = list(node.args)
        swapped[number : number + 2] = reversed(swapped[number : number + 2])
        yield _new(node, "swap", ast.Call(node.func, swapped, node.keywords))
    for number in range(len(node.keywords)):
        less = [*node.keywords[:number], *node.keywords[number + 1 :]]
        yield _new(node, "leave out", ast.Call(node.func, node.args, less))


def _constants(node: ast.expr, value: object) -> Iterator[Change]:
    if isinstance(value, bool):
        yield _at(node, "flip", str(not value))
    elif isinstance(value, int | float):
        yield from (_at(node, "constant", repr(value + step)) for step in (1, -1))
    elif isinstance(value, str) and value in WORDS:
        yield _at(node, "constant", repr(WORDS[value]))
    elif isinstance(value, str):
        yield _at(node, "constant", repr(f"{value}x" if not value else ""))
