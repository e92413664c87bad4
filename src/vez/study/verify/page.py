"""Verdict page: the table of truth as Markdown, with a picture of the shortest run behind every broken cell.

Nothing in it depends on when or where it is written: page and pictures are golden files.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from vez.study.verify.matrix import CASES, USUAL_N, Cell, Row

HEAD = """# Verdicts: every algorithm against every kind of fault

Written by `vez verify`; do not edit. Each row is one exhaustive search: all deliveries in any order that the
channels allow, timers, choices, and at most the faults that the row names, at any moment. One request each, or
everybody starts an election. *holds* is said only when all states were seen, for that row's n and number of states;
*not exhausted* means that no violation was found before {limit:,} states, and then a second row tries two processes.
**broken** comes with the number of steps of the shortest run and its picture; `vez check` with the row's options prints
it too. A world in *italics* breaks an assumption of the algorithm: what breaks there was never promised.

Algorithms that count or send without end are followed within the bounds that the command names, and what holds, holds
within them; a note says why. Durable fields survive a crash unless the row says *with or without*.
"""
ORDER_HEAD = """## The order of requests

Where nothing goes wrong. `request_order`: nobody who knew of a request, by whatever chain of messages, when it asked
gets in before it. `bounded_waiting`: the most bypasses of any request.

| algorithm | n | request_order | bounded_waiting | states | see it |
|---|---|---|---|---|---|"""


class Album:
    """The pictures of a page by the name of their file; a run that is met again is not kept again."""

    def __init__(self, rows: Iterable[Row], folder: str) -> None:
        self.folder = folder
        self.pictures: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for row in rows:
            for name, picture in row.pictures.items():
                if picture not in self._names:
                    self._names[picture] = _file_name(row, name)
                    self.pictures[self._names[picture]] = picture

    def text(self, row: Row, name: str) -> str:
        """A cell as the table shows it."""
        cell: Cell = row.cells[name]
        if cell.status != "broken":
            return f"{cell.status} ({cell.worst})" if cell.worst else cell.status
        picture = row.pictures.get(name)
        link = f"[picture]({self.folder}/{self._names[picture]}), " if picture else ""
        return f"**broken** ({link}{cell.length})"


def _file_name(row: Row, name: str) -> str:
    faults = "order" if row.world.properties else row.world.name
    few = f"-n-{row.n}" if row.n != USUAL_N else ""
    return f"{row.algorithm}-{name}-{re.sub('[^a-z0-9]+', '-', faults.lower())}{few}.svg"


def markdown(rows: list[Row], max_states: int, album: Album) -> str:
    """The table of truth as a page."""
    parts = [HEAD.format(limit=max_states)]
    for name in dict.fromkeys(row.algorithm for row in rows):
        own = [row for row in rows if row.algorithm == name and not row.world.properties]
        names = list(own[0].cells)
        parts.append(f"## {name}\n\nPromised: {', '.join(own[0].promised) or 'nothing'}.\n")
        if name in CASES:
            parts += [textwrap.fill(CASES[name].note, 118, break_on_hyphens=False), ""]
        parts.append("| world | n | " + " | ".join(names) + " | states | see it |")
        parts.append("|---" * (len(names) + 4) + "|")
        for line in own:
            world = line.world.name if line.kept else f"*{line.world.name}*"
            cells = " | ".join(album.text(line, name) for name in names)
            parts.append(f"| {world} | {line.n} | {cells} | {line.size} | `{line.command}` |")
        parts.append("")
    ordered = [row for row in rows if row.world.properties]
    if ordered:
        parts.append(ORDER_HEAD)
    for line in ordered:
        cells = " | ".join(album.text(line, name) for name in line.cells)
        parts.append(f"| {line.algorithm} | {line.n} | {cells} | {line.size} | `{line.command}` |")
    return "\n".join(parts).rstrip() + "\n"
