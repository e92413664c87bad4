"""Charts on the command line: as text in the terminal, or in a file whose suffix decides the format."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.output import PIPE_WIDTH, console, write_file
from vez.draw.chart import Chart, Panels
from vez.draw.chart.svg import svg
from vez.draw.chart.text import text

output_option = click.option(
    "-o", "--output", type=OutputFile(".svg", ".txt"), help="Write the chart to a file: .svg or .txt."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def save(chart: Chart | Panels, output: Path) -> None:
    """Write the chart to a file. Call it before printing, because the reader of standard output may close it."""
    write_file(output, svg(chart) if output.suffix.lower() == ".svg" else text(chart, PIPE_WIDTH))
    click.echo(f"wrote {output}", err=True)


def show(chart: Chart | Panels) -> None:
    """Print the chart as text."""
    click.echo("\n" + text(chart, width()), nl=False)


def say(paragraph: str, *, indent: str = "") -> None:
    """Print a paragraph, wrapped at words."""
    click.echo(textwrap.fill(paragraph, width(), initial_indent=indent, subsequent_indent=f"{indent}  ",
                             break_long_words=False, break_on_hyphens=False))  # fmt: skip


def width() -> int:
    """Columns of a paragraph or a chart: those of the console, 30 to 100."""
    return min(100, max(30, console().width - 1))
