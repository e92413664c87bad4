"""Reads the written verification matrix (`docs/reference/verdicts.md`), row by row."""

from __future__ import annotations

import re
from functools import cache

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "verdicts.md"
_TITLES = re.compile(r"^\| (?:world|algorithm) \| n \| (.*) \| states \| see it \|$", re.MULTILINE)


def written(name: str) -> dict[str, list[str]]:
    """The rows of an algorithm on the page, by their command; those of the last tables have its name for a world."""
    text = PAGE.read_text()
    assert f"## {name}\n" in text, f"run `vez verify -o {PAGE.name}`: {name} is not on the page"
    section = text.split(f"## {name}\n")[1].split("\n## ")[0]
    order = [line for line in text.split("## The order of requests")[1].splitlines() if line.startswith(f"| {name} |")]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "`vez check" in line] + order
    rows = [line.strip("| \n").split(" | ") for line in lines]
    return {cells[-1]: cells for cells in rows}


@cache
def cells(name: str) -> dict[str, dict[str, str]]:
    """For each row of an algorithm, by its command: the cell of each property, without the marks of bold text."""
    titles = _TITLES.findall(PAGE.read_text().split(f"## {name}\n")[1])[0].split(" | ")
    found = {}
    for command, row in written(name).items():
        apart = re.findall(r"--property (\w+)", command)
        columns = zip(apart or titles, row[2:-2], strict=True)
        found[command.strip("`")] = {title: cell.replace("**", "") for title, cell in columns}
    return found


@cache
def held(name: str) -> dict[str, tuple[str, ...]]:
    """For each row of an algorithm, by its command: the properties that hold according to the page."""
    return {
        command: tuple(title for title, cell in row.items() if cell.startswith("holds"))
        for command, row in cells(name).items()
    }
