"""`vez compare`: the costs and the tolerance of every algorithm of a kind, measured beside its formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from vez.cli.app import settle
from vez.cli.parameters.option_checks import OutputFile, not_together
from vez.cli.printing.charts import json_option, save, show
from vez.cli.printing.output import console, json_text, print_json, write_file
from vez.cli.printing.progress import progress
from vez.cli.printing.table_files import markdown_table, write_table
from vez.cli.printing.tables import Column, print_table
from vez.draw.chart import Axis, Chart, Series
from vez.errors import Misuse, UnknownName
from vez.study.compare import election as compare_election
from vez.study.compare import mutex as compare_mutex
from vez.study.compare.figure import Figure, Metric, Row

KINDS: dict[str, Any] = {"mutex": compare_mutex, "election": compare_election}
"""The module of each kind: `METRICS`, `LEGEND`, `names()`, `compare(name, n)`, `growth(name, ns, step)`, `GROWTH_…`."""
LEAST_N, MOST_N = 4, 300
DEFAULT_N = 9
SIGNS = {True: "✓", False: "✗", None: ""}
STYLES = {True: "green", False: "bold red", None: "default"}


@click.command(short_help="Compare what algorithms cost and tolerate, with the formulas.")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option(
    "-n",
    "ns",
    type=int,
    multiple=True,
    metavar="N",
    help=f"Number of processes; may be repeated.  [default: {DEFAULT_N}]",
)
@click.option(
    "-a", "--algorithm", "only", multiple=True, metavar="NAME", help="Measure only this one; may be repeated."
)
@click.option(
    "--growth",
    is_flag=True,
    help="Draw the number of messages over N: up to 256 (elections on rings: 10,000), or each -n given.",
)
@click.option(
    "-o",
    "--output",
    type=OutputFile(".svg", ".txt", ".md", ".json"),
    help="Write the table to a file: .txt, .md or .json; or the chart of --growth: .svg, .txt or .json.",
)
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@json_option
def compare(
    kind: str,
    ns: tuple[int, ...],
    only: tuple[str, ...],
    growth: bool,
    output: Path | None,
    markdown: bool,
    as_json: bool,
) -> int:
    """Measure the cost of all algorithms of a kind in the simulator, and compare it with the formulas of the papers.

    \b
      vez compare mutex
      vez compare mutex -n 16 -n 25 --markdown
      vez compare election -n 16
      vez compare mutex --growth -o growth.svg
    """
    not_together("markdown", "as_json")
    not_together("markdown", "growth")
    if growth and output is not None and output.suffix.lower() == ".md":
        raise Misuse(f"{output}: a chart is not Markdown", hint="use a name that ends in .svg, .txt or .json")
    module = KINDS[kind]
    names = _names(module, kind, only)
    _check(ns, max(MOST_N, *module.GROWTH_NS), growth)
    if growth:
        _growth(module, names, ns or module.GROWTH_NS, output, as_json)
        return 0
    rows = _measured(module, names, ns or (DEFAULT_N,))
    code = settle(broken=not all(row.passed for row in rows))
    if output is not None and output.suffix.lower() == ".svg":
        _growth(module, names, ns or module.GROWTH_NS, output, as_json=False)
    elif output is not None:
        write_table(
            output,
            lambda out: _print_tables(out, kind, rows),
            lambda: _markdown(kind, rows),
            lambda: _as_json(kind, rows),
        )
    if as_json:
        print_json(_as_json(kind, rows))
    elif markdown:
        click.echo(_markdown(kind, rows), nl=False)
    else:
        _print_tables(console(), kind, rows)
    return code


def _measured(module: Any, names: list[str], sizes: tuple[int, ...]) -> list[Row]:
    rows = []
    with progress("comparing", len(names) * len(sizes)) as step:
        for n in sizes:
            for name in names:
                rows.append(module.compare(name, n))
                step(name)
    return rows


def _names(module: Any, kind: str, only: tuple[str, ...]) -> list[str]:
    known: list[str] = module.names()
    for name in only:
        if name not in known:
            raise UnknownName(f"{kind} algorithm", name, known)
    return [name for name in known if name in only] if only else known


def _check(ns: tuple[int, ...], most_growing: int, growth: bool) -> None:
    most = most_growing if growth else MOST_N
    for n in ns:
        if LEAST_N <= n <= most:
            continue
        if n < LEAST_N:
            hint = f"fewer than {LEAST_N} leave nobody to wait"
        elif growth:
            hint = f"{most:,} is the most that a chart of the growth goes to"
        else:
            hint = f"more than {most} take too long for the whole table"
            if most_growing > most:
                hint += f"; --growth counts the messages alone, up to {most_growing:,}"
            else:
                hint += "; --growth draws how the messages grow up to there"
        raise Misuse(f"-n {n}: expected {LEAST_N} to {most} processes", hint=hint)


def _growth(module: Any, names: list[str], ns: tuple[int, ...], output: Path | None, as_json: bool) -> None:
    sizes = sorted(set(ns))
    with progress("growing", len(names) * len(sizes)) as step:
        curves = {name: module.growth(name, sizes, step) for name in names}
    found = {name: [{"n": n, "messages": messages} for n, messages in curve] for name, curve in curves.items()}
    drawn = sorted((name for name in curves if curves[name]), key=lambda name: -curves[name][-1][1])
    series = tuple(Series(name, tuple(curves[name])) for name in drawn)  # the legend in the order of the right end
    chart = Chart(module.GROWTH_TITLE, Axis("N: processes", "log"), Axis(module.GROWTH_UNIT, "log"), series)
    charted = any(messages for curve in curves.values() for _, messages in curve)
    if output is not None and output.suffix.lower() == ".json":
        write_file(output, json_text(found))
        click.echo(f"wrote {output}", err=True)
    elif output is not None and charted:
        save(chart, output)
    missing = [name for name, curve in curves.items() if len(curve) < len(sizes)]
    if as_json:
        print_json(found)
    elif missing:
        click.echo(f"not done in reasonable time for the larger N: {', '.join(missing)}", err=True)
    if output is None and not as_json and charted:
        show(chart)


def _print_tables(out: Console, kind: str, rows: list[Row]) -> None:
    metrics: tuple[Metric, ...] = KINDS[kind].METRICS
    columns = [Column("algorithm"), *(Column(metric.title, right=True) for metric in metrics)]
    for n in dict.fromkeys(row.n for row in rows):
        cells = [
            [row.algorithm, *(_cell(row.figures[metric.name]) for metric in metrics)] for row in rows if row.n == n
        ]
        print_table(out, columns, cells, title=f"N = {n}", split=True)
    meanings = [[metric.title, escape(metric.meaning)] for metric in metrics]
    print_table(out, [Column(style="dim"), Column()], meanings, ruled=False)
    out.print(f"\n{escape(KINDS[kind].LEGEND)}")
    judged = [figure.passed for row in rows for figure in row.figures.values() if figure.passed is not None]
    out.print(f"{sum(judged)} of {len(judged)} figures are as their formulas say")


def _cell(found: Figure) -> str:
    """The measurement, and the formula below it."""
    head = f"[{STYLES[found.passed]}]{escape(found.text)} {SIGNS[found.passed]}[/]".replace(" [/]", "[/]")
    return f"{head}\n[dim]{escape(found.claim)}[/]" if found.claim else head


def _markdown(kind: str, rows: list[Row]) -> str:
    metrics: tuple[Metric, ...] = KINDS[kind].METRICS
    cells = [
        [f"`{row.algorithm}`", str(row.n), *(escape(_markdown_cell(row.figures[metric.name])) for metric in metrics)]
        for row in rows
    ]
    return markdown_table(["algorithm", "N", *(metric.title for metric in metrics)], cells)


def _markdown_cell(found: Figure) -> str:
    words = f"{found.text} {SIGNS[found.passed]}".strip()
    return f"{words} ({found.claim})" if found.claim else words


def _as_json(kind: str, rows: list[Row]) -> dict[str, Any]:
    meanings = {metric.name: metric.meaning for metric in KINDS[kind].METRICS}
    return {"kind": kind, "metrics": meanings, "rows": [_row_json(row) for row in rows]}


def _row_json(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(row)
    return found | {"passed": row.passed}
