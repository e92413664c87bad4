"""Allowed imports, modules that pure parts must not use, lengths of files and functions, and code that is written
twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.duplicates import LEAST, ROOT, find_blocks, lines_that_count, project, python_files
from tools.rooms import (
    DOORS,
    EVERY_ROOM,
    PARTS,
    PUBLIC,
    PURE,
    ROOMS,
    SOURCE,
    Import,
    importers,
    module_of,
    names_imported,
    picture,
    refusal,
    within,
)

FORBIDDEN = {"asyncio", "socket", "time", "random", "logging", "threading", "datetime", "secrets", "os", "subprocess"}
LONGEST_FILE = 500
LONGEST_SOURCE = 400
LONGEST_FUNCTION = 60
COPIED_LINES = 89
"""Lines that `python -m tools.duplicates` finds written twice, for threads and for tasks too. This number may only
fall."""


MODULES = {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def test_rooms_are_few_and_each_is_in_the_rules() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders == set(EVERY_ROOM) == set(ROOMS)
    assert len(folders) <= 11
    assert all(part in MODULES for part in (*DOORS, *PARTS, *PURE, *PUBLIC, *PUBLIC.values()))


@pytest.mark.parametrize("room", EVERY_ROOM)
def test_each_room_says_who_may_import_it(room: str) -> None:
    text = ast.get_docstring(parsed(SOURCE / room / "__init__.py")) or ""
    assert importers(room) in " ".join(text.split())


def test_imports_follow_the_architecture() -> None:
    found = []
    for module, path in MODULES.items():
        for name in names_imported(parsed(path)):
            first, _, imported = name.partition(".")
            if first == "vez" and imported:
                found.append(refusal(Import(module, imported)))
            elif first in FORBIDDEN and any(within(module, part) for part in PURE):
                found.append(f"{module} is pure and may not import {first}")
    assert [text for text in found if text] == []


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("catalogue.mutex.lamport", "core.io", True),
        ("catalogue.mutex.lamport", "worlds.sim", False),
        ("catalogue.mutex.lamport", "sim", False),  # by its public name
        ("catalogue.zoo.tokens", "worlds.sim.scenario", True),
        ("worlds.sim.faults", "worlds.check", False),
        ("worlds.sim.faults", "judge.words", False),
        ("worlds.check.checker", "judge.words", True),
        ("locks.engines.file.core", "locks.turns.client", False),
        ("locks.engines.file.core", "core", False),
        ("locks.peers.instance", "worlds.node.pump", True),
        ("locks.peers.instance", "worlds.check", False),
        ("study.sweep", "servers.serving", False),
        ("errors", "core", True),
    ],
)
def test_the_rules_can_refuse(importer: str, imported: str, allowed: bool) -> None:
    assert (refusal(Import(importer, imported)) is None) is allowed


def test_every_door_is_used() -> None:
    """An unused door must be removed from `DOORS`."""
    used = {
        (part, there)
        for module, path in MODULES.items()
        for name in names_imported(parsed(path))
        for part, doors in DOORS.items()
        for there in doors
        if within(module, part) and within(name.removeprefix("vez."), there)
    }
    assert used == {(part, there) for part, doors in DOORS.items() for there in doors}


def test_the_picture_of_the_rooms_is_the_one_in_the_documentation() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"```\n{picture()}\n```" in page, f"put this into ARCHITECTURE.md:\n{picture()}"


def too_long(path: Path) -> Iterator[str]:
    name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    if text.count("\n") > (LONGEST_SOURCE if SOURCE in path.parents else LONGEST_FILE):
        yield name
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"{name}: {node.name}"


def test_files_and_functions_stay_short() -> None:
    """At most 500 lines in a file, 400 in the package, 60 in a function."""
    found = {name for path in python_files() for name in too_long(path)}
    assert not found, "split by responsibility"


def test_every_file_says_what_it_is_for() -> None:
    """Files are read, not packages imported, so that a folder without `__init__.py` is seen too."""
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if path.name != "__main__.py" and not ast.get_docstring(parsed(path))
    ]
    assert not silent


def listed(text: str) -> set[str]:
    """The modules in the list of a docstring: the first column of indented lines."""
    return {word for row in re.findall(r"^ {4}((?:\w+, )*\w+) {2,}\S", text, re.MULTILINE) for word in row.split(", ")}


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in MODULES.values()}), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_a_folder_that_lists_modules_lists_all_of_them(folder: Path) -> None:
    """Commands and specimens are many of one kind: their folders describe the kind."""
    text = ast.get_docstring(parsed(folder / "__init__.py")) or ""
    inside = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    if folder.name not in ("cli", "zoo") and listed(text) & inside:
        missing = {name for name in inside if not re.search(rf"\b{name}\b", text)} - {"__init__", "__main__"}
        assert not missing, f"the docstring of {folder.name}/__init__.py does not mention them"


def test_little_is_written_twice() -> None:
    blocks = find_blocks(project())
    total = sum(block.lines for block in blocks)
    shown = "\n".join(f"{block.later} as in {block.earlier}" for block in blocks)
    assert total <= COPIED_LINES, f"say it once, in one place that both use:\n{shown}"
    assert total > COPIED_LINES - 2 * LEAST, f"less is copied now: set COPIED_LINES to {total}"


def test_the_search_for_copies_can_find_one() -> None:
    work = [f"    step({number})" for number in range(9)]
    first = "\n".join(["def one():", '    """Text."""', *work, "", "import os"])
    second = "\n".join(["import sys", "def other():", *work[:4], "", "    # a remark", *work[4:8], "    last()"])
    files = {Path("a.py"): lines_that_count(first), Path("b.py"): lines_that_count(second)}
    (block,) = find_blocks(files, least=8)
    assert (block.lines, str(block.earlier), str(block.later)) == (8, "a.py:3-10", "b.py:3-12")
    assert find_blocks(files, least=9) == []
    assert find_blocks({Path("c.py"): lines_that_count("\n".join(["step()"] * 15))}, least=8) == []


def test_the_search_for_copies_sees_through_async_and_await() -> None:
    """A copy for tasks has `await`, and other names for what is the same."""
    tasks = "\n".join(
        [
            "async def take(pump: TaskPump):",
            *(f"    await pump.anext({number})" for number in range(3)),
            "    async with aio_lock as AsyncThing:",
            "        await holder.listen_async(self.__aenter__)",
        ]
    )
    threads = "\n".join(
        [
            "def take(pump: ThreadPump):",
            *(f"    pump.next({number})" for number in range(3)),
            "    with lock as Thing:",
            "        holder.listen(self.__enter__)",
        ]
    )
    files = {Path("tasks.py"): lines_that_count(tasks), Path("threads.py"): lines_that_count(threads)}
    (block,) = find_blocks(files, least=6)
    assert block.lines == 6
    assert [line.text for line in lines_that_count("amount = wait_async(a_name)")] == ["amount = wait(a_name)"]


def test_the_guard_against_impure_imports_can_fail() -> None:
    assert "random" in set(names_imported(ast.parse("import random"))) & FORBIDDEN
    assert set(names_imported(ast.parse("from vez import sim"))) == {"vez.sim"}
