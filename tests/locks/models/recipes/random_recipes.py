"""Random generators: programs with every kind of statement that a recipe may have, and means to drive them.

Every loop `while` yields first, so a run that is given few replies ends. Yields tell the values of some locals, and
`odd` makes the way through the program depend on others: a local that has another value shows sooner or later.
"""

from __future__ import annotations

import ctypes
import linecache
import random
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from vez.locks.recipes.base import Withdrawn

LOCALS = ("a", "b", "c", "d")
THROW = "throw"
"""A reply that stands for an exception which is thrown."""


def odd(*values: Any) -> bool:
    """A decision that depends on values, the same on every machine."""
    return bool(zlib.crc32(repr(values).encode()) & 1)


def apply(function: Callable[[], Any]) -> Any:
    """Call a function that an inner scope has made."""
    return function()


def compiled(seed: int) -> tuple[Callable[..., Any], str]:
    """A random generator function of four arguments, and its source."""
    source = "\n".join(["def made(a, b, c, d):", *_Writer(seed).block(1, False, 3), "    yield (a, b)", ""])
    file = f"<recipe {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    found: dict[str, Any] = {"odd": odd, "apply": apply, "Withdrawn": Withdrawn, "__name__": f"made{seed}"}
    exec(compile(source, file, "exec"), found)  # noqa: S102  # our own text
    return found["made"], source


class _Writer:
    """Writes the lines of one program."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.yields = 0

    def name(self) -> str:
        return self.chance.choice(LOCALS)

    def block(self, depth: int, in_loop: bool, budget: int) -> list[str]:
        lines = [line for _ in range(self.chance.randint(1, 4)) for line in self.statement(depth, in_loop, budget)]
        return [
            *lines,
            *([f"{'    ' * depth}{self.chance.choice(['break', 'continue'])}"] if self.once(in_loop) else []),
        ]

    def once(self, possible: bool) -> bool:
        return possible and self.chance.random() < 0.2

    def statement(self, depth: int, in_loop: bool, budget: int) -> list[str]:
        kinds: list[Any] = [self.assign, self.assign, self.suspend, self.suspend, self.simple]
        compound: list[Any] = [self.branch, self.loop, self.each, self.attempt, self.attempt] if budget else []
        kind = self.chance.choice([*kinds, *compound])
        if kind in compound:
            lines: list[str] = kind(depth, in_loop, budget - 1)
            return lines
        return [f"{'    ' * depth}{kind()}"]

    def value(self) -> str:
        a, b, c = self.name(), self.name(), self.name()
        return self.chance.choice((
            a, "1", f"odd({a}, {b})", f"({a}, {b})[0]", f"({a} if odd({b}) else {c})", f"({a} := {b})",
            f"(odd({a}) and ({b} := {c}))", f"[{a} for {a} in ({b}, {c})][1]", f"[odd({a}, {b}) for {a} in (1, 2)][0]",
            f"tuple(odd({a}, x) for x in (1, {b}))", f"apply(lambda: {a})", f"(lambda {a}={b}: odd({a}))()",
        ))  # fmt: skip

    def suspended(self) -> str:
        self.yields += 1
        a, b, c = self.name(), self.name(), self.name()
        plain = f"(yield ({self.yields}, {a}))"
        return self.chance.choice((
            plain, plain, f"(odd({a}) and {plain})", f"({plain} if odd({b}) else {c})", f"({b}, {plain})",
            f"odd({b}, {plain}, {c})", f"(yield from ({a}, {self.yields}))", f"({plain} or {b})",
        ))  # fmt: skip

    def suspend(self) -> str:
        a, b = self.name(), self.name()
        suspended = self.suspended()
        return self.chance.choice((
            suspended, f"{a} = {suspended}", f"{a}, {b} = {suspended}, {b}", f"{a} = {b} = {suspended}",
            f"{a}: int = {suspended}", f"if odd({b} := {suspended}): {a} = {b}",
        ))  # fmt: skip

    def assign(self) -> str:
        a, b = self.name(), self.name()
        return self.chance.choice((f"{a} = {self.value()}", f"{a}, {b} = {self.value()}, {self.value()}", f"{a} = {b}"))

    def simple(self) -> str:
        a, b = self.name(), self.name()
        return self.chance.choice((
            f"if odd({a}): raise ValueError({b})", f"if odd({a}, {b}): return {b}", f"assert odd({a}), {b}", f"{a}: int",
            f"{a} = ({a}, {self.value()})[1]", f"if odd({a}): raise Withdrawn({b}) from ValueError()",
        ))  # fmt: skip

    def branch(self, depth: int, in_loop: bool, budget: int) -> list[str]:
        pad, a = "    " * depth, self.name()
        test = self.chance.choice((f"odd({a})", self.value(), self.suspended()))
        lines = [f"{pad}if {test}:", *self.block(depth + 1, in_loop, budget)]
        return [*lines, f"{pad}else:", *self.block(depth + 1, in_loop, budget)] if self.chance.random() < 0.5 else lines

    def loop(self, depth: int, in_loop: bool, budget: int) -> list[str]:
        pad, a, b = "    " * depth, self.name(), self.name()
        test = self.chance.choice(("True", f"odd({a}, {b})", self.suspended()))
        lines = [f"{pad}while {test}:", f"{pad}    {self.name()} = yield {a}", *self.block(depth + 1, True, budget)]
        return [*lines, f"{pad}else:", *self.block(depth + 1, in_loop, budget)] if self.chance.random() < 0.3 else lines

    def each(self, depth: int, in_loop: bool, budget: int) -> list[str]:
        pad, a, b = "    " * depth, self.name(), self.name()
        values = self.chance.choice((f"({a}, {b}, 3)", "range(1, 4)", "((1, 2), (3, 4))"))
        target = self.chance.choice((a, b)) if "((" not in values else "a, b"
        lines = [f"{pad}for {target} in {values}:", *self.block(depth + 1, True, budget)]
        return [*lines, f"{pad}else:", *self.block(depth + 1, in_loop, budget)] if self.chance.random() < 0.3 else lines

    def attempt(self, depth: int, in_loop: bool, budget: int) -> list[str]:
        pad, a, b = "    " * depth, self.name(), self.name()
        lines = [f"{pad}try:", *self.block(depth + 1, in_loop, budget)]
        for kind in self.chance.sample(("Withdrawn", f"ValueError as {b}", "(AssertionError, ValueError)"), 2):
            ending = self.chance.choice(([f"{pad}    raise"], [], [f"{pad}    {a} = {b}"]))
            lines += [f"{pad}except {kind}:", *self.block(depth + 1, in_loop, budget), *ending]
        if self.chance.random() < 0.3:  # it also takes the exception that ends a generator, so it must not yield
            lines += [f"{pad}except:", f"{pad}    {self.assign()}", f"{pad}    return {self.name()}"]
        if self.chance.random() < 0.3:
            lines += [f"{pad}else:", *self.block(depth + 1, in_loop, budget)]
        if self.chance.random() < 0.3:
            lines += [f"{pad}finally:", f"{pad}    {a} = odd({b}) and {self.name()}"]
        return lines


def give(generator: Any, reply: Any) -> tuple[str, str]:
    """Send a reply, or throw. Returns what came of it, as text: two equal exceptions are not equal to Python."""
    try:
        return "yielded", repr(generator.throw(Withdrawn()) if reply == THROW else generator.send(reply))
    except StopIteration as end:
        return "returned", repr(end.value)
    except Exception as error:
        return "raised", repr(error)


def drive(generator: Any, replies: Sequence[Any]) -> list[tuple[str, str]]:
    """Everything that comes of these replies, until the generator is over."""
    told: list[tuple[str, str]] = []
    for reply in replies:
        told.append(give(generator, reply))
        if told[-1][0] != "yielded":
            break
    return told


def overwrite(generator: Any, name: str, value: Any) -> None:
    """Assign to a local of a suspended generator."""
    frame = generator.gi_frame
    frame.f_locals[name] = value
    if sys.version_info < (3, 13):  # there a copy was changed, which has to be written back
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
