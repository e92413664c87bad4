"""The judges of a mutant, cheap ones first: stories of the recipes, tests of their values, worlds of the matrix.

A story catches a mutant if it is told otherwise (`tests/locks/recipes`). A world catches one if something breaks that
holds there according to the page of the matrix. The number of states catches nothing: another way is no mistake.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from tests.verdicts_page import held, written
from tools.mutate.recipes.mutants import FOLDER, ROOT
from vez.core.process import Process
from vez.study.verify.matrix import commanded, configuration
from vez.study.verify.recipes import RECIPE_WORLDS
from vez.study.verify.world import World
from vez.worlds.check import Limits, check

RECIPES = str(ROOT / FOLDER)
STORIES = Path("tests/locks/recipes/stories")
TESTS = "tests/locks/recipes/test_values.py"
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-W", "ignore::pytest.PytestAssertRewriteWarning")
SLACK = 4
"""A mutant may have so many times the states of the right recipe before its search ends undecided."""


class Row(NamedTuple):
    """A row of the matrix, as the page has it."""

    command: str
    recipe: str
    world: World
    states: int
    holds: tuple[str, ...]


def rows(largest: int) -> list[Row]:
    """The rows of the recipes with at most so many states, small ones first."""
    found = []
    for recipe, worlds in RECIPE_WORLDS.items():
        for world in worlds:
            command = commanded(recipe, world, world.n or 3)
            states = int(written(recipe)[f"`{command}`"][-2].replace(",", ""))
            if states <= largest:
                found.append(Row(command, recipe, world, states, held(recipe)[command]))
    return sorted(found, key=lambda row: row.states)


def broken(row: Row) -> str:
    """What breaks in a world where it should hold; empty if nothing does."""
    from vez.locks.models.recipes import find_recipe  # in the child, where a module of it may be changed

    kind: type[Process] = find_recipe(row.recipe)
    asked = configuration(row.recipe, kind, row.world)
    limits = Limits(row.states * SLACK + 1000)
    report = check(asked, row.holds, limits=limits, first=True, pictures=False, no_return=False, workers=1)
    return ", ".join(verdict.name for verdict in report.verdicts if verdict.name in report.broken)


def retold() -> str:
    """The first group of stories that is not told as written; empty if all are."""
    from tests.locks.recipes.played import told
    from tests.locks.recipes.stories import STORIES as GROUPS

    for name, stories in GROUPS.items():
        if "\n".join(map(told, stories)) != (ROOT / STORIES / f"{name}.txt").read_text(encoding="utf-8"):
            return f"stories of {name}"
    return ""


def judged(chosen: Iterable[Row]) -> str:
    """The first judge that catches the mutant of this process; empty if none does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a mutant prints; this process ends soon
    os.dup2(1, 2)
    try:
        if found := retold():
            return found
    except Exception as error:
        return f"stories: {type(error).__name__}"
    if pytest.main([*OPTIONS, str(ROOT / TESTS)]) != 0:
        return TESTS
    for row in chosen:
        try:
            says = broken(row)
        except Exception as error:
            says = type(error).__name__
        if says:
            return f"{row.command}: {says}"
    return ""


def reached(row: Row) -> list[str]:
    """The lines of recipes that a world runs, each as `path:line`."""
    lines: set[tuple[str, int]] = set()

    def on_call(frame: FrameType, event: str, value: Any) -> Any:
        return on_line if frame.f_code.co_filename.startswith(RECIPES) else None

    def on_line(frame: FrameType, event: str, value: Any) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return on_line

    sys.settrace(on_call)
    try:
        says = broken(row)
    finally:
        sys.settrace(None)
    if says:
        raise SystemExit(f"without a mutant, {row.command} breaks {says}: regenerate the page of the matrix")
    return sorted(f"{Path(path).relative_to(ROOT).as_posix()}:{line}" for path, line in lines)
