"""`vez servers`: models of a server under real load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, all_given, option
from vez.cli.printing.charts import say, width
from vez.cli.printing.output import console, print_json, write_file
from vez.cli.printing.progress import Line
from vez.cli.printing.table_files import markdown_table, write_table
from vez.cli.printing.tables import Column, print_table
from vez.draw.chart import Chart, Panels
from vez.draw.chart.svg import svg as chart_svg
from vez.draw.chart.text import text as chart_text
from vez.draw.lanes import Lanes
from vez.draw.lanes.svg import svg as lanes_svg
from vez.draw.lanes.text import text as lanes_text
from vez.draw.report import Section, is_figure, report
from vez.errors import Misuse, UnknownName

MOST_PICTURES = 5
"""Largest number of pictures that are printed in a terminal; for more, a page is better."""


class Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas; one that is given twice counts once."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names."""
        if isinstance(value, tuple):
            return value
        return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


class Counts(click.ParamType[tuple[int, ...]]):
    """Whole numbers separated by commas; one that is given twice counts once."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The numbers."""
        try:
            return value if isinstance(value, tuple) else tuple(dict.fromkeys(map(int, value.split(","))))
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers, such as 1,16,256.", param, ctx)


@click.command("servers", short_help="Five models of a server under real load.")
@click.argument("experiment", required=False)
@click.option("--models", type=Names(), metavar="NAMES", help="Only these models, separated by commas.")
@click.option("--clients", type=Counts(), metavar="N[,N…]", help="Number of clients, 1 to 256; `load` takes several.")
@click.option("--work", "works", type=Names(), metavar="NAMES", help="load: short, mixed, slow-client, slow-disk.")
@click.option("--seconds", type=Number(0.01, 60), metavar="S", help="How long clients ask in each trial.")
@click.option("-o", "--output", type=OutputFile(".html", ".svg", ".txt", ".md", ".json"),
              help="Write a file: .html (all), .svg (the first picture), .txt, .md or .json.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def servers(experiment: str | None, output: Path | None, as_json: bool, **options: Any) -> None:
    """Run EXPERIMENT with real servers and real clients on this machine; without EXPERIMENT, list them.

    Each server is a process on a free loopback port. The models: single, thread-per-request, pool, staged, loop.

    \b
      vez servers
      vez servers load --clients 1,16,256 -o load.html
      vez servers timeline --models pool,staged
      vez servers lost-updates
    """
    from vez.servers.experiments import EXPERIMENTS, Findings, Options, run_experiment  # needs vez[serving]

    if experiment is None:
        _refuse("the list", frozenset())
        rows = [[name, (run.__doc__ or "").strip(), _heeded(heeded)] for name, (run, heeded) in EXPERIMENTS.items()]
        if as_json:
            print_json([{"experiment": name, "question": question} for name, question, _ in rows])
        else:
            print_table(console(), [Column("experiment"), Column("question"), Column("options")], rows)
        return
    if experiment not in EXPERIMENTS:
        raise UnknownName("experiment", experiment, EXPERIMENTS)
    _refuse(experiment, EXPERIMENTS[experiment][1])
    if experiment != "load" and len(options["clients"] or ()) > 1:
        raise Misuse(f"{experiment} takes one number of clients", hint="only `load` takes several")
    with Line(f"{experiment}: starting") as line:
        found: Findings = run_experiment(
            experiment, Options(**options), lambda what: line.show(f"{experiment}: {what}")
        )
    if output is not None:
        _save(found, output)
    if as_json:
        print_json({"experiment": experiment, "found": found.data})
    else:
        _print(found, pictures=output is None)


def _heeded(names: frozenset[str]) -> str:
    return " ".join(f"--{name.removesuffix('s') if name == 'works' else name}" for name in sorted(names))


def _refuse(experiment: str, heeded: frozenset[str]) -> None:
    """Refuse options that this experiment does not use."""
    always = {"experiment", "as_json"} | ({"output"} if heeded else set())
    wrong = sorted(map(option, all_given() - heeded - always))
    if wrong:
        raise Misuse(f"{', '.join(wrong)}: not for {experiment}", hint="vez servers lists what each experiment heeds")


def _print(found: Any, *, pictures: bool) -> None:
    out = console()
    out.print(f"[bold]{found.title}[/]")
    print_table(out, _columns(found), found.rows, split=True)
    for words in found.words:
        say(words)
    if pictures and len(found.pictures) > MOST_PICTURES:
        say("Charts and timelines: -o FILE.html")
        return
    for picture in found.pictures if pictures else ():
        color = out.is_terminal and not out.no_color
        click.echo("\n" + _text(picture, width(), color=color), nl=False)


def _columns(found: Any) -> list[Column]:
    return [
        Column(name, right=all(is_figure(row[place]) for row in found.rows)) for place, name in enumerate(found.columns)
    ]


def _text(picture: Chart | Panels | Lanes, columns: int, *, color: bool = False) -> str:
    return lanes_text(picture, columns, color=color) if isinstance(picture, Lanes) else chart_text(picture, columns)


def _svg(picture: Chart | Panels | Lanes) -> str:
    return lanes_svg(picture) if isinstance(picture, Lanes) else chart_svg(picture)


def _save(found: Any, output: Path) -> None:
    suffix = output.suffix.lower()
    if suffix == ".html":
        section = Section(
            title=found.title, question=found.question, columns=found.columns, rows=found.rows, words=found.words,
            pictures=[_svg(picture) for picture in found.pictures],
        )  # fmt: skip
        write_file(output, report(found.title, [section]))
    elif suffix == ".svg":
        if not found.pictures:
            raise Misuse("this experiment has no picture", hint="write .html, .txt, .md or .json")
        write_file(output, _svg(found.pictures[0]))
    else:
        write_table(
            output,
            lambda out: print_table(out, _columns(found), found.rows),
            lambda: markdown_table(found.columns, found.rows),
            lambda: found.data,
        )
        return
    click.echo(f"wrote {output}", err=True)
