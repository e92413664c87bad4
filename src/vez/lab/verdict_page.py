"""Verdict page: the table of truth as Markdown, with a picture of the shortest run behind every broken cell.

Nothing in it depends on when or where it is written: page and pictures are golden files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vez.lab.verify import PATIENT, Cell, Row

HEAD = """# Verdicts: every algorithm against every kind of fault

Written by `vez verify`; do not edit. Each row is one exhaustive search: all deliveries in any order that the
channels allow, timers, choices, and at most the faults that the row names, at any moment. One request each, or
everybody starts an election. *holds* is said only when all states were seen; *not exhausted* means that no
violation was found before {limit:,} states ({patient:,} where nothing goes wrong, and in the rows that name a
parameter). A number of steps is that of the shortest run; `vez check` with the row's options prints and draws it. A
world in *italics* breaks an assumption of the algorithm: what breaks there was never promised.

Algorithms that count or send without end are followed within the bounds that the command names; what must happen some
day is *not judged* there. Durable fields survive a crash unless the row says *with or without*.
"""


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
            return cell.status
        picture = row.pictures.get(name)
        link = f"[picture]({self.folder}/{self._names[picture]}), " if picture else ""
        return f"**broken** ({link}{cell.length})"


def _file_name(row: Row, name: str) -> str:
    options = re.sub("[^a-z0-9]+", "-", row.world.options.lower()).strip("-")
    return f"{row.algorithm}-{name}-{options or 'no-faults'}.svg"


def markdown(rows: list[Row], max_states: int, album: Album) -> str:
    """The table of truth as a page."""
    parts = [HEAD.format(limit=max_states, patient=max_states * PATIENT)]
    for name in dict.fromkeys(row.algorithm for row in rows):
        own = [row for row in rows if row.algorithm == name]
        names = list(own[0].cells)
        parts.append(f"## {name}\n\nn = {own[0].n}. Promised: {', '.join(own[0].promised) or 'nothing'}.\n")
        parts.append("| world | " + " | ".join(names) + " | states | see it |")
        parts.append("|---" * (len(names) + 3) + "|")
        for line in own:
            world = line.world.name if line.kept else f"*{line.world.name}*"
            cells = " | ".join(album.text(line, name) for name in names)
            parts.append(f"| {world} | {cells} | {line.size} | `{line.command}` |")
        parts.append("")
    return "\n".join(parts)
