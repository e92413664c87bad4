"""The page of the verification matrix: a table for each algorithm, and for each broken cell the command that draws it.

It does not depend on the time or the machine, so the page is a golden file.
"""

from __future__ import annotations

import textwrap

from vez.core.assumptions import Property
from vez.study.verify.matrix import CASES, Cell, Row

HEAD = """# Verdicts: every algorithm against every kind of fault

The verification matrix, written by `vez verify`; do not edit. Each row is one exhaustive search: all deliveries in any
order that the channels allow, timers, choices, and at most the faults that the row names, at any moment. Requests
without end where that leads to finitely many states, otherwise one each; or everybody starts an election. *holds* is
said only when all states were seen, for that row's n and number of states; *not exhausted* means that there are more
than {limit:,} states and no violation was found among these, and then a second row tries two processes. **broken**
comes with the number of steps of the shortest run; the list below the table has the command that draws that run, in
the terminal (`--diagram text`) or into a file (`-o run.svg`, `-o run.html` instead). A world in *italics* breaks an
assumption of the algorithm: what breaks there was never promised.

Algorithms that count or send without end are followed within the bounds that the command names, and what holds, holds
within them; a note says why. Durable fields survive a crash unless the row says *with or without*. The last tables are
those of recipes, which clients of a server run.
"""
RUNS_HEAD = "To draw the broken cells:\n"
APART_HEADS = {
    Property.REQUEST_ORDER: """## The order of requests

Where nothing goes wrong, for the requests that the cell names. Nobody who knew of a request, by whatever chain of
messages, when it asked gets in before it.
""",
    Property.BOUNDED_WAITING: """## Bounded waiting

Where nothing goes wrong. How often requests that are made after another was placed get in before it; *not judged* where
the algorithm names no bound.
""",
}


def markdown(rows: list[Row], max_states: int) -> str:
    """The verification matrix as a page."""
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
            cells = " | ".join(text(cell) for cell in line.cells.values())
            parts.append(f"| {world} | {line.n} | {cells} | {_size(line, max_states)} | `{line.command}` |")
        parts += ["", *_runs(own, max_states)]
    for name, head in APART_HEADS.items():
        apart = [row for row in rows if row.world.properties == (name,)]
        if not apart:
            continue
        parts += [head, f"| algorithm | n | {name} | states | see it |", "|---|---|---|---|---|"]
        for line in apart:
            cells = f"{text(line.cells[name])} | {_size(line, max_states)}"
            parts.append(f"| {line.algorithm} | {line.n} | {cells} | `{line.command}` |")
        parts += ["", *_runs(apart, max_states)]
    return "\n".join(parts).rstrip() + "\n"


def _size(row: Row, max_states: int) -> str:
    return f"more than {max_states:,}" if row.states is None else row.size


def text(cell: Cell) -> str:
    """A cell as the table shows it."""
    if cell.status == "broken":
        return f"**broken** ({cell.length})"
    return f"{cell.status} ({cell.extent})" if cell.extent else cell.status


def _runs(rows: list[Row], max_states: int) -> list[str]:
    """The command that draws the run, for each broken cell."""
    lines = [
        f"- {name} ({cell.length}), {row.algorithm if row.world.properties else row.world.name}{_few(row, rows)}: "
        f"`{row.drawing(name, max_states)}`"
        for row in rows
        for name, cell in row.cells.items()
        if cell.status == "broken"
    ]
    return [RUNS_HEAD, *lines, ""] if lines else []


def _few(row: Row, rows: list[Row]) -> str:
    """The number of processes, if the same world was also checked with another number."""
    same = [other for other in rows if (other.algorithm, other.world) == (row.algorithm, row.world)]
    return f", n={row.n}" if len(same) > 1 else ""
