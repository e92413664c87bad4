"""`vez show`: judge, measure and draw a saved trace."""

from __future__ import annotations

from pathlib import Path

import click

from vez import draw
from vez.cli.app import settle
from vez.cli.effect import refuse_two_outputs
from vez.cli.given import OutputFile
from vez.cli.output import diagram_format, print_diagram, print_json, print_report
from vez.core.trace_file import load
from vez.study.report import report


@click.command(short_help="Judge, measure and draw a saved trace.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--diagram", type=click.Choice(sorted(draw.FORMATS)), help="Format of the picture.  [default: text]")
@click.option("-o", "--output", type=OutputFile(), help="Write the picture to this file: .txt, .mmd, .svg or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(trace: Path, diagram: str | None, output: Path | None, as_json: bool) -> int:
    """Judge, measure and draw TRACE, a file written by `vez sim --trace FILE`.

    Exit codes: 0 nothing promised is broken, 1 a promised property is broken, 2 undecided (the run ended too early).
    """
    kind = diagram_format(diagram, output)
    refuse_two_outputs({"as_json": as_json, "output": output}, kind)
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
