"""`vez waterfall`: a page and its twelve files, fetched one after the other and at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.charts import json_option, say, width
from vez.cli.printing.output import PIPE_WIDTH, console, json_text, print_json, write_file
from vez.cli.printing.progress import progress
from vez.cli.printing.table_files import markdown_table
from vez.cli.printing.tables import Column, print_table
from vez.cli.state import MODELS

if TYPE_CHECKING:
    from vez.servers.fetching.client import Load

TITLES = ("page", "ms", "asked at once", "served at once", "waits in a row")


@click.command(short_help="Fetch a page and its files one after the other and at once.")
@click.option("--connections", type=click.IntRange(2, 64), default=6, show_default=True, metavar="N",
              help="Connections of the client that fetches at once; browsers have 6 over HTTP/1.1.")  # fmt: skip
@click.option("--disk", "disk_ms", type=Number(0, 1000), default=30, show_default=True, metavar="MS",
              help="Time that the server needs to read a file.")  # fmt: skip
@click.option("--model", type=click.Choice(MODELS), default="pool", show_default=True, help="Model of the server.")
@click.option("--browser", is_flag=True, help="Let a real Chromium load the page too.")
@click.option("-o", "--output", type=OutputFile(".svg", ".html", ".txt", ".md", ".json"),
              help="Write the waterfalls to a file: .svg, .html or .txt; or the figures: .md or .json.")  # fmt: skip
@json_option
def waterfall(
    connections: int, disk_ms: float, model: str, browser: bool, output: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Fetch a page and its twelve files, one after the other and at once, and draw when each of them came.

    Nobody knows what a page needs before its index.html has been read. After that, all files can be on their way at
    the same time, and the client waits once for all instead of once for each. The server is real, and so is the time
    that it blocks to read a file.

    \b
      vez waterfall
      vez waterfall --browser -o waterfall.html
      vez waterfall --model single
    """
    from vez.servers.fetching.trial import loads

    with progress("fetching", 3 if browser else 2) as step:
        found = loads(model, disk_ms, connections, browser=browser, step=step)
    if output:
        write_file(output, _content(output.suffix.lower(), found))
        click.echo(f"wrote {output}", err=True)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _content(suffix: str, found: Sequence[Load]) -> str:
    from vez.draw.lanes.text import text
    from vez.draw.report import Section, report
    from vez.servers.fetching.picture import svg, waterfalls

    if suffix == ".svg":
        return svg(found)
    if suffix == ".json":
        return json_text(found)
    if suffix == ".md":
        return markdown_table(TITLES, _rows(found))
    if suffix == ".txt":
        return "\n".join(text(lanes, PIPE_WIDTH) for lanes in waterfalls(found))
    section = Section(title="Waterfall", columns=TITLES, rows=_rows(found), pictures=[svg(found)],
                      question="When did each file of the page come, one after the other and at once?")  # fmt: skip
    return report("A page and its twelve files", [section])


def _rows(found: Sequence[Load]) -> list[list[str]]:
    return [
        [load.title, f"{load.milliseconds:.0f}", str(load.at_once), str(load.served_at_once), str(load.waits)]
        for load in found
    ]


def _print(found: Sequence[Load]) -> None:
    from vez.draw.lanes.text import text
    from vez.servers.fetching.picture import waterfalls

    out = console()
    color = out.is_terminal and not out.no_color
    for lanes in waterfalls(found):
        click.echo(text(lanes, width(), color=color))
    columns = [Column(TITLES[0]), *(Column(title, right=True) for title in TITLES[1:])]
    print_table(out, columns, _rows(found), split=True)
    first, second = found[:2]
    if second.waits < first.waits:
        say(f"{first.waits} waits in a row became {second.waits}: the others were hidden behind them.")
    else:
        say("The server worked on one request after the other, so that asking at once hid nothing.")
