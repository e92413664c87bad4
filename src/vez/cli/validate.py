"""`vez validate`: check whether an algorithm can have produced a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from vez.cli.app import settle
from vez.cli.parameters.completion import complete_algorithm
from vez.cli.parameters.forms import ASSIGNMENT
from vez.cli.parameters.option_checks import given
from vez.cli.parameters.recorded_runs import algorithm_of, merged
from vez.cli.printing.output import console, counted, print_broken_assumptions, print_json
from vez.cli.printing.progress import Line
from vez.core.trace_file import load
from vez.errors import Misuse
from vez.judge.validate import Answer, Finding, Validation, validate

MOST_SHOWN = 20
"""Largest number of explanations on the terminal; `--json` has all of them."""
STYLES = {Answer.POSSIBLE: "green", Answer.IMPOSSIBLE: "bold red", Answer.UNDECIDED: "yellow"}


@click.command("validate", short_help="Check that a recorded run is one of the algorithm's runs.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--algorithm",
    metavar="NAME",
    shell_complete=complete_algorithm,
    help="Hold the trace against this algorithm: a name, or FILE.py:Class.  [default: the one that the trace names]",
)
@click.option(
    "--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter, for a trace of format 1: lease_ms=5."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def validate_command(trace: Path, algorithm: str | None, parameters: tuple[tuple[str, Any], ...], as_json: bool) -> int:
    """Run the handlers of the algorithm again on what each process of TRACE saw, and compare what they do.

    TRACE is a file, or a folder of journals of `vez node --trace DIR` or `vez cluster --keep DIR`, which are merged.

    Shows the first step that the algorithm could not have taken: what was expected, what was found, and the steps that
    led there. Names the assumptions that the run did not keep.

    \b
      vez validate run.jsonl
      vez validate run.jsonl --algorithm lamport
      vez validate run.jsonl --algorithm mine.py:Mine

    Exit codes: 0 every step is possible, 1 a step is impossible, 2 undecided (too many explanations).
    """
    with Line(f"reading {trace}"):
        loaded = merged(trace, algorithm) if trace.is_dir() else load(trace)
    found_algorithm = algorithm_of(loaded.header.algorithm, algorithm, trace)
    if given("parameters") and "started" not in loaded.header.unseen:
        raise Misuse("--set has no effect: this trace holds the parameters", hint="leave it out")
    total = len(loaded.events)
    with Line(f"{total:,} events to validate") as line:
        found = validate(
            loaded,
            found_algorithm,
            parameters=dict(parameters),
            watch=lambda done: line.show(f"{done:,} of {total:,} events"),
        )
    code = settle(broken=found.answer is Answer.IMPOSSIBLE, undecided=found.answer is Answer.UNDECIDED)
    if as_json:
        print_json(found.to_json())
    else:
        _print(found, trace, len(loaded.header.ids))
    return code


def _print(found: Validation, path: Path, processes: int) -> None:
    out = console()
    sizes = (
        f"{counted(found.events, 'event')}, {counted(processes, 'process')}, {counted(found.steps, 'step')} run again"
    )
    words = {
        Answer.POSSIBLE: f"{found.algorithm} can have taken every step of {path}",
        Answer.IMPOSSIBLE: f"{found.algorithm} cannot have taken a step of {path}",
        Answer.UNDECIDED: f"whether {found.algorithm} can have taken the steps of {path}",
    }[found.answer]
    out.print(f"[{STYLES[found.answer]}]{found.answer}[/]  {escape(words)} ({sizes})")
    if found.finding is not None:
        _print_finding(out, found.finding)
        if path.is_dir():
            out.print(escape(f"lines are those of the merged trace, which `vez show {path} --trace FILE` writes"))
    if found.undecided:
        _indented(out, found.undecided)
    print_broken_assumptions(out, found.broken_assumptions)
    for process, explanations in found.open.items():
        out.print(f"the events of process {process} have {counted(len(explanations), 'explanation')}:")
        _print_list(out, ["; ".join(guesses) or "as recorded" for guesses in explanations])
    for me, fields in found.initial.items():
        words = ", ".join(f"{name} = {value!r}" for name, value in fields.items())
        out.print(f"[yellow]taken from the header:[/] process {me} starts with {escape(words)}", style="default")
    for text in found.unseen:
        out.print(f"[yellow]not in the trace:[/] {escape(text)}", style="default")


def _print_finding(out: Console, finding: Finding) -> None:
    where = "the end" if finding.line is None else f"line {finding.line}"
    rows = Table.grid(padding=(0, 2))
    for name, text in (
        ("where", f"{where}, at {finding.at_ms:g} ms"),
        ("step", finding.step),
        ("expected", finding.expected),
        ("found", finding.found),
    ):
        if text:
            rows.add_row(f"  {name}", escape(text))
    out.print(rows)
    if finding.led:
        out.print("the steps that led there:")
        for text in finding.led:
            _indented(out, text)
    if finding.explanations:
        out.print(f"{counted(len(finding.explanations), 'explanation')} of the events before, and where each ends:")
        _print_list(
            out,
            [
                f"{'; '.join(one.guesses) or 'as recorded'}. Line {one.index + 2}: expected {one.expected}; "
                f"found {one.found}"
                for one in finding.explanations
            ],
        )


def _indented(out: Console, text: str) -> None:
    out.print(Padding(escape(text), (0, 0, 0, 2), expand=False))


def _print_list(out: Console, texts: list[str]) -> None:
    for number, text in enumerate(texts[:MOST_SHOWN], 1):
        _indented(out, f"{number}. {text}")
    if len(texts) > MOST_SHOWN:
        _indented(out, f"and {len(texts) - MOST_SHOWN} more: --json lists all")
