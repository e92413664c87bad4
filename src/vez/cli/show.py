"""`vez show`: judge, measure and draw a saved trace."""

from __future__ import annotations

from pathlib import Path

import click

from vez import draw
from vez.cli.app import settle
from vez.cli.output import diagram_format, print_diagram, print_json, print_report
from vez.core.trace_file import load
from vez.errors import Misuse
from vez.study.report import report


@click.command(short_help="Judge, measure and draw a saved trace.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--diagram", type=click.Choice(sorted(draw.FORMATS)), help="Draw it.  [default: text]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The picture's file; its suffix can choose the format."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(trace: Path, diagram: str | None, output: Path | None, as_json: bool) -> int:
    """Judge, measure and draw TRACE, a file written by `vez sim --trace FILE`."""
    kind = diagram_format(diagram, output)
    if as_json and kind and output is None:
        raise Misuse("--json and --diagram both want standard output", hint="give the picture a file with -o")
    found = report(load(trace))
    code = settle(broken=found.breaks_promise, undecided=found.promise_open)
    if as_json:
        if kind:
            print_diagram(found, kind, output)
        print_json(found.to_json())
    else:
        print_diagram(found, kind or "text", output)
        if output is not None:
            print_report(found)
            click.echo(f"wrote {output}")
        elif (kind or "text") == "text":
            print_report(found)
    return code
