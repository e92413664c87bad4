"""Find the mutations of a tree and draw a sample of them that stays the same when files move.

The identity of a mutation is a hash of the room, the function, the statement, the operator and the place in the
statement. No path is part of it, so the same code has the same mutations in every layout. The sample of a room is the
mutations with the smallest hash of seed and identity: code that is added or renamed changes few of them.

Only bodies of functions are mutated, because no single test reaches code that runs at the import of a module.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from tools.mutate.operators import Change, changes, delete

PACKAGE = Path("src/vez")
LOCKS = ("turns", "engines", "recipes", "table", "peers", "supervise", "fence")
ROOMS = {
    "core": ("core",),
    "catalogue": ("algorithms", "zoo", "catalogue/mutex", "catalogue/election", "catalogue/zoo"),
    "checker": ("check", "worlds/check"),
    "simulator": ("sim", "worlds/sim"),
    "locks": (*LOCKS, *(f"locks/{name}" for name in LOCKS)),
}
"""Folders of each room, in the layout of version 0.1 and in the one with `catalogue`, `worlds` and `locks`."""
ELSEWHERE = ("core/detectors",)
"""Folders inside a room's folder that were not part of it in the older layout: the rooms hold the same code in both."""
UNSAFE = {"kill", "killpg", "pidfd_send_signal", "rmtree"}
"""Calls that could end processes, or remove files, of other people. A function with such a call is not mutated."""
BODIES = ("body", "orelse", "finalbody", "handlers")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutation(NamedTuple):
    """One change of one place in the sources."""

    identity: str
    room: str
    path: str
    """Path relative to the tree, with slashes."""
    function: str
    line: int
    lines: tuple[int, ...]
    """Line numbers. A test that runs one of these lines reaches the mutation."""
    statement: str
    operator: str
    change: Change

    def applied(self, text: str) -> str:
        """The text of the module with this change."""
        lines = text.encode().splitlines(keepends=True)
        (first, start), (last, end) = self.change.start, self.change.end
        changed = lines[first - 1][:start] + self.change.text.encode() + lines[last - 1][end:]
        return b"".join([*lines[: first - 1], changed, *lines[last:]]).decode()


class Place(NamedTuple):
    """A change, and its key within its own file."""

    key: tuple[str, ...]
    body: str
    """The text of the function, which orders places of equal key in different files."""
    path: str
    line: int
    lines: tuple[int, ...]
    change: Change


def room_of(path: Path) -> str | None:
    """The room of a file whose path is relative to the package."""
    name = path.as_posix()
    if any(name.startswith(f"{folder}/") for folder in ELSEWHERE):
        return None
    return next((room for room, folders in ROOMS.items() if any(name.startswith(f"{f}/") for f in folders)), None)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function with its qualified name, nested ones too."""
    for child in ast.iter_child_nodes(node):
        if _is_type_checking(child):
            continue
        inner = prefix
        if isinstance(child, Function | ast.ClassDef):
            inner = f"{prefix}{child.name}."
            overloaded = any("overload" in ast.unparse(decorator) for decorator in child.decorator_list)
            if isinstance(child, Function) and not overloaded:
                yield f"{prefix}{child.name}", child
        yield from functions(child, inner)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function that may be mutated, without those of functions and classes inside it."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Raise) or _is_type_checking(
            node
        ):
            continue
        yield node
        for name in BODIES:
            for child in getattr(node, name, []):
                yield from statements(child.body if isinstance(child, ast.ExceptHandler) else [child])
        for case in getattr(node, "cases", []):
            yield from statements(case.body)


def _head(node: ast.stmt) -> ast.stmt:
    """The statement without the statements inside it."""
    head = copy.copy(node)
    for name in BODIES:
        if hasattr(node, name):
            setattr(head, name, [ast.Pass()] if name == "body" else [])
    if isinstance(head, ast.Match):
        head.cases = [ast.match_case(case.pattern, case.guard, [ast.Pass()]) for case in head.cases]
    return head


def _text(head: ast.stmt) -> str:
    if isinstance(head, ast.Try | ast.TryStar):
        return "try"  # nothing in it can be mutated, and without handlers it has no text
    return ast.unparse(head).removesuffix(":\n    pass")


def _without_imports(function: Function) -> str:
    """The text by which functions of one name are ordered: an import changes when a folder moves."""
    lines = ast.unparse(function).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("import ", "from ")))


def _is_unsafe(function: Function) -> bool:
    names = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(function))
    return not UNSAFE.isdisjoint(names)


def lines_of(code: CodeType) -> set[int]:
    """The lines that the code objects of a module run."""
    inner = (lines_of(const) for const in code.co_consts if isinstance(const, CodeType))
    return {line for _, _, line in code.co_lines() if line}.union(*inner)


def places(text: str, path: str, room: str) -> Iterator[Place]:
    """Every change of one module."""
    tree = ast.parse(text)
    run = lines_of(compile(tree, path, "exec"))
    for name, function in functions(tree):
        if _is_unsafe(function):
            continue
        body = _without_imports(function)
        seen: Counter[str] = Counter()
        for statement in statements(function.body):
            head = _head(statement)
            shown = _text(head)
            seen[shown] += 1
            found = [*delete(statement), *changes(head)]
            last = max((change.end[0] for change in found), default=statement.lineno)
            for number, change in enumerate(found):
                exact = run.intersection(range(change.start[0], change.end[0] + 1))
                lines = exact or run.intersection(range(statement.lineno, last + 1))
                key = (room, name, shown, str(seen[shown]), change.operator, str(number))
                yield Place(key, body, path, change.start[0], tuple(sorted(lines)), change)


def find(tree: Path) -> list[Mutation]:
    """Every mutation of the tree, in no useful order."""
    alike: dict[tuple[str, ...], list[Place]] = defaultdict(list)
    package = tree / PACKAGE
    for path in sorted(package.rglob("*.py")):
        room = room_of(path.relative_to(package))
        if room:
            for place in places(path.read_text(encoding="utf-8"), path.relative_to(tree).as_posix(), room):
                alike[place.key].append(place)
    found = []
    for key, same in alike.items():
        for rank, place in enumerate(sorted(same)):
            room, function, statement, _, operator, _ = key
            identity = hashlib.sha256("\0".join([*key, str(rank)]).encode()).hexdigest()[:16]
            what = (identity, room, place.path, function, place.line, place.lines, statement, operator, place.change)
            found.append(Mutation(*what))
    return found


def is_valid(mutation: Mutation, tree: Path) -> bool:
    """True if the mutated module differs in meaning from the module, and compiles."""
    text = (tree / mutation.path).read_text(encoding="utf-8")
    try:
        mutated = ast.parse(mutation.applied(text))
        compile(mutated, mutation.path, "exec")
    except (SyntaxError, ValueError):
        return False
    return ast.dump(mutated) != ast.dump(ast.parse(text))


def sample(tree: Path, size: int, seed: int) -> list[Mutation]:
    """Draw the same number of mutations from each room, or all of them if a room has fewer."""

    def draw(mutation: Mutation) -> str:
        return hashlib.sha256(f"{seed}:{mutation.identity}".encode()).hexdigest()

    drawn: list[Mutation] = []
    ordered = sorted(find(tree), key=draw)
    for number, room in enumerate(ROOMS):
        wanted = size // len(ROOMS) + (number < size % len(ROOMS))
        valid = (mutation for mutation in ordered if mutation.room == room and is_valid(mutation, tree))
        drawn += [mutation for _, mutation in zip(range(wanted), valid, strict=False)]
    return drawn
