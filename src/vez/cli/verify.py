"""`vez verify`: the verification matrix, every algorithm against every kind of fault."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vez.catalogue.algorithms import ALGORITHMS
from vez.catalogue.load import load_algorithm
from vez.cli.app import settle
from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.output import console, counted, json_text, print_json, write_file
from vez.cli.printing.progress import Line
from vez.cli.printing.tables import Column, print_table
from vez.locks.models.recipes import RECIPES

if TYPE_CHECKING:
    from vez.study.verify.finished_rows import Kept
    from vez.study.verify.matrix import Row
    from vez.study.verify.run import At, Question

MAX_STATES = 3_100_000
"""Largest number of states for each world; the whole catalogue then takes some minutes."""


@click.command("verify", short_help="Check all algorithms.")
@click.argument("algorithms", nargs=-1)
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    default=MAX_STATES,
    show_default=True,
    help="Stop each search after this many states.",
)
@click.option("--jobs", type=click.IntRange(1, 2), metavar="N", help="Number of cores.  [default: all, at most 2]")
@click.option(
    "--resume",
    type=OutputFile(),
    help="Keep finished rows in this file, and go on from those that an earlier call kept there.",
)
@click.option("-o", "--output", type=OutputFile(".md", ".json"), help="Write the matrix to this file: .md or .json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_command(
    algorithms: tuple[str, ...], max_states: int, jobs: int | None, resume: Path | None, output: Path | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Check ALGORITHMS (default: all, and the recipes) with a few processes, under each kind of fault.

    The exit code depends only on faults that the algorithm's assumptions allow; algorithms that are wrong on purpose
    do not count. Ctrl-C prints the rows that are finished; with --resume, the same command continues from there.

    Exit codes: 0 every promise holds, 1 a promise is broken, 2 a promise is undecided, 130 interrupted.

    \b
      vez verify ricart-agrawala bully
      vez verify --resume rows.jsonl -o verdicts.md
    """
    chosen = {name: load_algorithm(name) for name in algorithms} or ALGORITHMS | RECIPES
    with Line("loading the checker"):
        from vez.study.verify.page import markdown  # here, so that --help does not import the checker
        from vez.study.verify.run import questions

    asked = questions(chosen)
    rows, interrupted = _checked(asked, max_states, jobs, _kept(resume, max_states))
    honest = [row for row in rows if not chosen[row.algorithm].wrong]
    surprises = [row for row in honest if row.has_promised("broken")]
    undecided = [row for row in honest if row.has_promised("not exhausted")]
    code = settle(broken=bool(surprises), undecided=bool(undecided), interrupted=interrupted)
    found = _json(rows, len(asked), surprises, undecided, interrupted)
    if output and not interrupted:
        write_file(output, markdown(rows, max_states) if output.suffix.lower() == ".md" else json_text(found))
    if as_json:
        print_json(found)
    else:
        _print(rows, surprises, undecided)
        if output and not interrupted:
            console().print(f"wrote {output}", soft_wrap=True)
    if interrupted:
        _tell_interrupted(_worlds(rows), len(asked), resume, output)
    return code


def _kept(resume: Path | None, max_states: int) -> Kept | None:
    if resume is None:
        return None
    from vez.study.verify.finished_rows import Kept

    kept = Kept(resume, max_states)
    if kept.stale:
        click.echo(f"vez: {resume} is of other code or another --max-states: all rows are checked anew", err=True)
    elif kept:
        click.echo(f"vez: {counted(len(kept), 'row')} taken from {resume}", err=True)
    return kept


def _checked(asked: list[Question], max_states: int, jobs: int | None, kept: Kept | None) -> tuple[list[Row], bool]:
    """The rows, and True if Ctrl-C came before all were finished."""
    from vez.cli.printing.without_numpy import Note
    from vez.study.verify.run import verify

    rows: list[Row] = []
    note = Note()
    with Line(f"{counted(len(asked), 'world')} to check") as line:

        def watch(at: At) -> None:
            states = f", {at.search.states:,} states" if at.search else ""
            if at.search:
                note.tell(at.search.states)
            line.show(f"{at.done} of {len(asked)} worlds checked; {at.words}{states}")

        try:
            # one by one, so that an interruption keeps the finished rows
            rows.extend(verify(asked, max_states, kept=kept, jobs=jobs or 0, watch=watch))
        except KeyboardInterrupt:
            return rows, True
    return rows, False


def _worlds(rows: list[Row]) -> int:
    """Number of worlds in which the algorithms were checked; a world with two numbers of processes counts once."""
    return len({(row.algorithm, row.world.name, row.world.properties) for row in rows})


def _tell_interrupted(done: int, total: int, resume: Path | None, output: Path | None) -> None:
    click.echo(f"vez: interrupted; {done} of {total} worlds are checked", err=True)
    if output:
        click.echo(f"     {output} was not written", err=True)
    if resume:
        click.echo(f"     they are kept in {resume}: the same command goes on from there", err=True)
    else:
        click.echo("     with --resume FILE a later call can go on where this one ended", err=True)


def _json(rows: list[Row], total: int, surprises: list[Row], undecided: list[Row], interrupted: bool) -> dict[str, Any]:
    from vez.study.verify.matrix import to_json

    return {
        "rows": [to_json(row) for row in rows],
        "worlds": {"checked": _worlds(rows), "asked": total},
        "interrupted": interrupted,
        "surprises": len(surprises),
        "undecided": len(undecided),
    }


def _print(rows: list[Row], surprises: list[Row], undecided: list[Row]) -> None:
    out = console()
    for name in dict.fromkeys(row.algorithm for row in rows):
        title = f"[bold]{name}[/]"
        for columns in dict.fromkeys(tuple(row.cells) for row in rows if row.algorithm == name):
            own = [row for row in rows if row.algorithm == name and tuple(row.cells) == columns]
            cells = [(row.world.name, str(row.n), *(_cell(row, one) for one in columns), row.size) for row in own]
            print_table(out, _columns(columns), cells, title=title)
            title = ""
    for row in undecided:
        out.print(f"[yellow]a promise is undecided:[/] {row.algorithm}, {row.world.name}, n={row.n}")
    for row in surprises:
        out.print(f"[bold red]a promise is broken:[/] {row.algorithm}, {row.world.name}, n={row.n}")


def _columns(names: tuple[str, ...]) -> list[Column]:
    judged = [Column(name.replace("_", " ")) for name in names]
    return [Column("world"), Column("n", right=True), *judged, Column("states", right=True)]


def _cell(row: Row, title: str) -> str:
    cell: Any = row.cells[title]
    if cell.status == "broken":
        style = "bold red" if row.kept and title in row.promised else "yellow"
        return f"[{style}]broken[/] ({cell.steps})"
    return f"[green]{cell.status}[/]" if cell.status == "holds" else f"[dim]{cell.status}[/]"
