"""Scopes in a syntax tree: which nodes belong to a function itself, and which of its names inner scopes use.

An inner scope is a nested function, a lambda, a class, or a comprehension. Python 3.12 compiles some comprehensions
into the function around them and 3.11 does not. Here every comprehension is a scope, on every Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.Lambda, ast.ClassDef)


def own_nodes(*nodes: ast.AST | None) -> Iterator[ast.AST]:
    """These nodes and all below them that are evaluated in the same scope. An inner scope itself is one of them, with
    its parts that are evaluated outside of it."""
    waiting = [node for node in reversed(nodes) if node is not None]
    while waiting:
        node = waiting.pop()
        yield node
        parts = _outside(node) if isinstance(node, SCOPES) else list(ast.iter_child_nodes(node))
        waiting += reversed(parts)


def names(*nodes: ast.AST | None) -> frozenset[str]:
    """Every name that evaluating these nodes may read or write, inner scopes included."""
    found: set[str] = set()
    for node in own_nodes(*nodes):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, SCOPES):
            found |= _free(node)
    return frozenset(found)


def captured(function: ast.FunctionDef) -> frozenset[str]:
    """Names that the inner scopes of a function use and do not bind: an inner scope may read them at any time."""
    inner = (node for node in own_nodes(*function.body) if isinstance(node, SCOPES))
    return frozenset[str]().union(*map(_free, inner))


def _outside(scope: ast.AST) -> list[ast.AST]:
    """The parts of an inner scope that are evaluated outside of it."""
    if isinstance(scope, COMPREHENSIONS):
        return [scope.generators[0].iter]
    if isinstance(scope, ast.Lambda):
        return [scope.args]
    assert isinstance(scope, (*FUNCTIONS, ast.ClassDef))
    return [node for node in ast.iter_child_nodes(scope) if node not in scope.body]


def _inside(scope: ast.AST) -> list[ast.AST]:
    """The parts of an inner scope that are evaluated in it."""
    if isinstance(scope, COMPREHENSIONS):
        made = [scope.key, scope.value] if isinstance(scope, ast.DictComp) else [scope.elt]
        first, *others = scope.generators
        return [*made, first.target, *first.ifs, *others]
    if isinstance(scope, ast.Lambda):
        return [scope.body]
    assert isinstance(scope, (*FUNCTIONS, ast.ClassDef))
    return [*scope.body]


def _free(scope: ast.AST) -> frozenset[str]:
    """The names that a scope uses and does not bind. May contain too many names, never too few."""
    inside = _inside(scope)
    return names(*inside) - _bound(scope, inside)


def _bound(scope: ast.AST, inside: Iterable[ast.AST]) -> frozenset[str]:
    if isinstance(scope, ast.ClassDef):
        return frozenset()  # a name that the class has not bound yet is looked up outside
    nodes = list(own_nodes(*inside))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if isinstance(scope, COMPREHENSIONS):  # `:=` in a comprehension binds in the function around it
        return frozenset(stored) - {node.target.id for node in nodes if isinstance(node, ast.NamedExpr)}
    assert isinstance(scope, (*FUNCTIONS, ast.Lambda))
    parameters = {node.arg for node in ast.walk(scope.args) if isinstance(node, ast.arg)}
    outer = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return frozenset(stored | parameters) - outer
