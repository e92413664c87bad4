"""Tables in files: the suffix decides between text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.consoles import new_console
from vez.cli.printing.output import PIPE_WIDTH, json_text, write_file
from vez.cli.printing.tables import Rows

TABLE_SUFFIXES = (".txt", ".md", ".json")

table_option = click.option(
    "-o", "--output", type=OutputFile(*TABLE_SUFFIXES), help="Write the table to a file: .txt, .md or .json."
)


def write_table(
    output: Path, text: Callable[[Console], None], markdown: Callable[[], str], value: Callable[[], Any]
) -> None:
    """Write a table to a file: `text` prints it, `markdown` and `value` (for JSON) return it."""
    suffix = output.suffix.lower()
    if suffix == ".json":
        content = json_text(value())
    elif suffix == ".md":
        content = markdown()
    else:
        page = StringIO()
        text(new_console(file=page, width=PIPE_WIDTH, highlight=False))
        content = page.getvalue()
    write_file(output, content)
    click.echo(f"wrote {output}", err=True)


def markdown_table(titles: Sequence[str], rows: Rows) -> str:
    """A table in Markdown. Cells are rich markup, as in `print_table`."""
    lines = [_line(titles), "|---" * len(titles) + "|"]
    lines += [_line([Text.from_markup(cell).plain for cell in row]) for row in rows]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"
