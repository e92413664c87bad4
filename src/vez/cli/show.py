"""`vez show`: judge, measure and draw a saved trace."""

from __future__ import annotations

from pathlib import Path

import click

from vez import draw
from vez.cli.app import settle
from vez.cli.parameters.ineffective_options import refuse_two_outputs
from vez.cli.parameters.option_checks import OutputFile, only_with
from vez.cli.parameters.recorded_runs import is_known, merged
from vez.cli.printing.output import diagram_format, print_diagram, print_json, print_report, write_file
from vez.cli.printing.progress import Line
from vez.core.trace_file import load
from vez.errors import Misuse
from vez.study.report import report


@click.command(short_help="Judge, measure and draw a saved trace.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--diagram", type=click.Choice(sorted(draw.FORMATS)), help="Format of the picture.  [default: text]")
@click.option("-o", "--output", type=OutputFile(), help="Write the picture to this file: .txt, .mmd, .svg or .html.")
@click.option("--trace", "trace_file", type=OutputFile(), help="Of a folder: write the merged trace to this file.")
@click.option("--algorithm", metavar="FILE.py:Class", help="Of a folder whose journals name a Python file: that file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(
    trace: Path,
    diagram: str | None,
    output: Path | None,
    trace_file: Path | None,
    algorithm: str | None,
    as_json: bool,
) -> int:
    """Judge, measure and draw TRACE, a file written by `vez sim --trace FILE`, or a folder of journals.

    A folder holds journals of nodes (`vez node --trace DIR`, `vez cluster --keep DIR`), which are merged. Where they
    ran on several hosts, their clocks cannot be compared: stays that are not ordered by messages count as possibly
    overlapping.

    Exit codes: 0 nothing promised is broken, 1 a promised property is broken, 2 undecided (the run ended too early).
    """
    kind = diagram_format(diagram, output)
    refuse_two_outputs({"as_json": as_json, "output": output}, kind)
    only_with("a folder of journals", trace.is_dir(), "trace_file", "algorithm")
    with Line(f"reading {trace}"):
        loaded = merged(trace, algorithm) if trace.is_dir() else load(trace)
    if algorithm is not None and algorithm != loaded.header.algorithm and is_known(loaded.header.algorithm):
        raise Misuse(f"--algorithm has no effect: the journals are of {loaded.header.algorithm}", hint="leave it out")
    with Line(f"judging {len(loaded.events):,} events"):
        found = report(loaded)
    if trace_file is not None:
        write_file(trace_file, found.trace.to_bytes())
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
