"""What the analysing commands share: a chart in the terminal or in a file, in one way."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from vez.cli.output import write_file
from vez.draw.chart import Chart
from vez.draw.chart.svg import svg
from vez.draw.chart.text import text

output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the chart to a file, as SVG."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def show(chart: Chart, output: Path | None, *, quiet: bool = False) -> None:
    """Print the chart as text, or write it as SVG where a file is named."""
    if output is not None:
        write_file(output, svg(chart))
        click.echo(f"wrote {output}", err=True)
    elif not quiet:
        click.echo("\n" + text(chart, width()), nl=False)


def say(paragraph: str) -> None:
    """Print a paragraph, wrapped at words."""
    click.echo(click.wrap_text(paragraph, width(), subsequent_indent="  "))


def width() -> int:
    """How wide to write: the terminal, within reason."""
    return min(100, max(50, shutil.get_terminal_size().columns - 1))
