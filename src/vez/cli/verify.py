"""`vez verify`: the verification matrix, every algorithm against every kind of fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from vez.algorithms import ALGORITHMS, find
from vez.cli.app import EXIT_BROKEN
from vez.cli.output import console, print_json, write_file
from vez.cli.progress import Line
from vez.errors import Misuse
from vez.study.verify.matrix import Row, to_json, verify
from vez.study.verify.page import markdown

MAX_STATES = 3_000_000
"""For each world; the whole catalogue then takes some minutes."""


@click.command("verify", short_help="Check the whole catalogue.")
@click.argument("algorithms", nargs=-1)
@click.option("--max-states", type=click.IntRange(1), default=MAX_STATES, show_default=True, help="For each world.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the matrix as a Markdown page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_command(algorithms: tuple[str, ...], max_states: int, output: Path | None, as_json: bool) -> int:
    """Check ALGORITHMS (or all) for few processes against every kind of fault.

    Exit code 1 says that a promise is broken in a world that keeps the algorithm's assumptions, unless the
    algorithm is kept because it is wrong.

    \b
    vez verify ricart-agrawala bully
    vez verify -o docs/reference/verdicts.md
    """
    if output and output.suffix.lower() != ".md":
        raise Misuse(f"{output}: the matrix is written as Markdown", hint="say -o verdicts.md")
    chosen = {name: find(name) for name in algorithms} or dict(ALGORITHMS)
    with Line() as line:
        rows = list(verify(chosen, max_states, line.show))
    if output:
        write_file(output, markdown(rows, max_states))
    surprises = [row for row in rows if not chosen[row.algorithm].wrong and surprising(row)]
    if as_json:
        print_json({"rows": [to_json(row) for row in rows], "surprises": len(surprises)})
    else:
        _print(rows, surprises, output)
    return EXIT_BROKEN if surprises else 0


def surprising(row: Row) -> bool:
    """Whether a promise is broken although all assumptions are kept."""
    return row.kept and any(row.cells[name].status == "broken" for name in row.promised if name in row.cells)


def _print(rows: list[Row], surprises: list[Row], output: Path | None) -> None:
    out = console()
    for name in dict.fromkeys(row.algorithm for row in rows):
        title = f"[bold]{name}[/]"
        for columns in dict.fromkeys(tuple(row.cells) for row in rows if row.algorithm == name):
            out.print(_table([row for row in rows if row.algorithm == name and tuple(row.cells) == columns], title))
            title = ""
    for row in surprises:
        out.print(f"[bold red]a promise is broken:[/] {row.algorithm}, {row.world.name}")
    if output:
        out.print(f"wrote {output}", soft_wrap=True)


def _table(rows: list[Row], title: str) -> Table:
    """The rows of one algorithm that judge the same properties."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left")
    table.add_column("world")
    table.add_column("n", justify="right")
    for name in rows[0].cells:
        table.add_column(name.replace("_", " "))
    table.add_column("states", justify="right")
    for row in rows:
        table.add_row(row.world.name, str(row.n), *(_cell(row, name) for name in row.cells), row.size)
    return table


def _cell(row: Row, title: str) -> str:
    cell: Any = row.cells[title]
    if cell.status == "broken":
        style = "bold red" if row.kept and title in row.promised else "yellow"
        return f"[{style}]broken[/] ({cell.steps})"
    return f"[green]{cell.status}[/]" if cell.status == "holds" else f"[dim]{cell.status}[/]"
