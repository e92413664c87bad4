"""Live locals: the local variables of a generator that can still be read before they are written again.

A reply of two steps ago often stays in a local that nothing reads any more. Such values would split one state into
many, so they are left out of the name of a position.

They are computed from the syntax tree and not from byte code, which differs between versions of Python: the same recipe
must have the same states on each of them. The tree is walked backwards, from what may be read after a node to what may
be read before it. Where the walk is not exact it keeps too many names, which costs states. To leave out a name that is
still read would make two states one. So anything that is not understood either counts as reading all its names or,
if a generator can be suspended in it, is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from vez.errors import ProtocolBug
from vez.locks.models.recipes.scopes import names, own_nodes

Names = frozenset[str]
NONE: Names = frozenset()
OPERANDS = (
    ast.BinOp, ast.UnaryOp, ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred,
    ast.Tuple, ast.List, ast.Set, ast.JoinedStr, ast.FormattedValue,
)  # fmt: skip
"""Expressions that evaluate all their parts, in the order of the tree."""


class Exits(NamedTuple):
    """The names that may be read after a statement that does not go on with the next one."""

    raising: Names = NONE
    returning: Names = NONE
    breaking: Names = NONE
    continuing: Names = NONE

    def all(self) -> Names:
        """The names that may be read after any of them."""
        return self.raising | self.returning | self.breaking | self.continuing


def live_at_yields(function: ast.FunctionDef) -> dict[ast.AST, Names]:
    """For each `yield` and `yield from`: the names that may be read when the generator goes on, or an exception is
    thrown into it."""
    walk = _Walk(function.name)
    walk.block(function.body, NONE, Exits())
    return walk.live


def yields(*nodes: ast.AST | None) -> list[ast.AST]:
    """The `yield` and `yield from` expressions in these nodes, without those of inner functions."""
    return [node for node in own_nodes(*nodes) if isinstance(node, ast.Yield | ast.YieldFrom)]


class _Walk:
    """The walk through one function. Each method takes the names that are live after a node, and returns those that
    are live before it."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.live: dict[ast.AST, Names] = {}

    def block(self, statements: Sequence[ast.stmt], after: Names, exits: Exits) -> Names:
        """Any statement may raise, so what a handler reads is live before each of them."""
        for statement in reversed(statements):
            after = self.statement(statement, after, exits) | exits.raising
        return after

    def statement(self, node: ast.stmt, after: Names, exits: Exits) -> Names:
        match node:
            case ast.Expr(value):
                return self.expression(value, after, exits)
            case ast.Assign(targets, value):
                return self.expression(value, self.stores(targets, after, exits), exits)
            case ast.AnnAssign(ast.Name(), _, None):
                return after
            case ast.AnnAssign(target, _, value):  # in a function the annotation is not evaluated
                return self.expression(value, self.stores([target], after, exits), exits)
            case ast.AugAssign(target, _, value):
                read = ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
                return self.operands([read, value], self.stores([target], after, exits), exits, NONE)
            case ast.Return(value):
                return self.expression(value, exits.returning, exits)
            case ast.Raise(error, cause):
                return self.operands([error, cause], exits.raising, exits, NONE)
            case ast.Assert(test, message):
                return self.expression(test, after | self.expression(message, exits.raising, exits), exits)
            case ast.Break():
                return exits.breaking
            case ast.Continue():
                return exits.continuing
            case ast.If(test, body, otherwise):
                either = self.block(body, after, exits) | self.block(otherwise, after, exits)
                return self.expression(test, either, exits)
            case ast.While() | ast.For():
                return self.loop(node, after, exits)
            case ast.Try():
                return self.attempt(node, after, exits)
        if yields(node):
            self.refuse(node, f"a yield within {type(node).__name__}")
        return after | names(node) | exits.all()

    def loop(self, node: ast.While | ast.For, after: Names, exits: Exits) -> Names:
        """Walk the loop until nothing changes: what is live at its head is also live at the end of its body."""
        ended = self.block(node.orelse, after, exits)
        head, known = NONE, None
        while head != known:
            known = head
            within = self.block(node.body, head, exits._replace(breaking=after, continuing=head))
            if isinstance(node, ast.For):
                head = head | self.stores([node.target], within, exits) | ended
            else:
                endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
                head = head | self.expression(node.test, within if endless else within | ended, exits)
        return self.expression(node.iter, head, exits) if isinstance(node, ast.For) else head

    def attempt(self, node: ast.Try, after: Names, exits: Exits) -> Names:
        """A `try`. An exception that no handler takes goes on to the handlers around it."""
        if yields(*node.finalbody):  # the stack says how the function goes on after the `finally`, without a name
            self.refuse(node.finalbody[0], "a yield within finally")
        if node.finalbody:
            final = self.block(node.finalbody, after | exits.all(), exits)
            after, exits = final, Exits(final, final, final, final)
        caught = exits.raising
        for handler in reversed(node.handlers):
            taken = self.block(handler.body, after, exits)
            if handler.name is not None:
                taken = (taken - {handler.name}) | exits.raising
            caught = taken if handler.type is None else self.expression(handler.type, taken | caught, exits)
        return self.block(node.body, self.block(node.orelse, after, exits), exits._replace(raising=caught))

    def stores(self, targets: Sequence[ast.expr], after: Names, exits: Exits) -> Names:
        """Assign to targets. The assigned value is on the stack meanwhile."""
        if yields(*targets):
            self.refuse(targets[0], "a yield within the target of an assignment")
        for target in reversed(targets):
            after = self.expression(target, after, exits)
        return after

    def expression(self, node: ast.AST | None, after: Names, exits: Exits, held: Names = NONE) -> Names:
        """Evaluate an expression; `held` are the locals whose values are on the stack meanwhile."""
        match node:
            case ast.Name(name, ast.Store()):
                return (after - {name}) | exits.raising
            case ast.Yield(value) | ast.YieldFrom(value):
                self.live[node] = self.live.get(node, NONE) | after | held | exits.raising
                return self.expression(value, after, exits, held)
        if not any(_changes(one) for one in own_nodes(node)):
            return after | names(node)
        match node:
            case ast.NamedExpr(target, value):
                return self.expression(value, self.stores([target], after, exits), exits, held)
            case ast.IfExp(test, body, otherwise):
                either = self.expression(body, after, exits, held) | self.expression(otherwise, after, exits, held)
                return self.expression(test, either, exits, held)
            case ast.BoolOp(_, values):
                live = after
                for value in reversed(values):  # the others may be skipped after any of them
                    live = self.expression(value, after | live, exits, held)
                return live
            case ast.Compare(left, _, [right]):
                return self.operands([left, right], after, exits, held)
            case _ if isinstance(node, OPERANDS):
                return self.operands(list(ast.iter_child_nodes(node)), after, exits, held)
        assert node is not None
        return self.refuse(node, f"a yield or := within {type(node).__name__}")

    def operands(self, parts: Sequence[ast.AST | None], after: Names, exits: Exits, held: Names) -> Names:
        """Evaluate one after the other. At a yield, the operands before it are on the stack."""
        for place in reversed(range(len(parts))):
            part, kept = parts[place], held
            if yields(part):
                kept = held | self.kept(parts[:place])
                if kept & {one.target.id for one in own_nodes(part) if isinstance(one, ast.NamedExpr)}:
                    self.refuse(part, "a yield and := after an operand that is the same variable")
            after = self.expression(part, after, exits, kept)
        return after

    def kept(self, operands: Sequence[ast.AST | None]) -> Names:
        """The locals that operands on the stack follow from: variables and their attributes, since locals do not change
        in place. Other operands are refused, because no local tells what they are."""
        for one in operands:
            root = one
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.expr | ast.keyword) and not isinstance(root, ast.Name | ast.Constant):
                self.refuse(one, "a yield after an operand that is neither a variable nor a constant")
        return names(*operands)

    def refuse(self, node: ast.AST | None, what: str) -> NoReturn:
        raise ProtocolBug(
            f"recipe {self.function} has {what}, in line {getattr(node, 'lineno', 0)}: its state cannot be named",
            hint="assign the result of the yield to a variable, in a statement of its own",
        )


def _changes(node: ast.AST) -> bool:
    """True for nodes whose place in the order of evaluation matters."""
    return isinstance(node, ast.Yield | ast.YieldFrom | ast.NamedExpr) or (
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
