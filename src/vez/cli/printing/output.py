"""The output of commands: tables for people, JSON for programs, files if requested."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from vez.cli.printing.consoles import new_console
from vez.cli.printing.costs import print_costs
from vez.cli.printing.language import in_words, language
from vez.cli.printing.tables import Column, print_table
from vez.core.trace import Trace
from vez.errors import CannotWrite, Misuse
from vez.judge.properties import Status, Verdict
from vez.judge.words import Sentence, assumption_name, property_name, said, scenario_title, status_words, topology_name
from vez.judge.words.sentence import NO_NAMES
from vez.study.report import Report

SUFFIXES = {".txt": "text", ".mmd": "mermaid", ".mermaid": "mermaid", ".md": "mermaid", ".svg": "svg",
            ".html": "html", ".htm": "html"}  # fmt: skip
PIPE_WIDTH = 110
LEAST_WIDTH = 20
"""Smallest width in columns; a narrower terminal wraps the lines."""
NARROW = 70
"""Width in columns below which three columns of words do not fit side by side."""
STYLES = {
    Status.HOLDS: "green",
    Status.HOLDS_IN_RUNS: "green",
    Status.BROKEN: "bold red",
    Status.UNDECIDED: "yellow",
    Status.NOT_JUDGED: "dim",
}


def console() -> Console:
    """Standard output: as wide as the terminal or as `COLUMNS` says; PIPE_WIDTH columns in a pipe without `COLUMNS`."""
    out = new_console(highlight=False)
    asked = os.environ.get("COLUMNS", "")
    if not out.is_terminal and not (asked.isdigit() and int(asked)):  # 0 means unknown
        return new_console(highlight=False, width=PIPE_WIDTH)
    return out if out.width >= LEAST_WIDTH else new_console(highlight=False, width=LEAST_WIDTH)


def json_text(value: Any) -> str:
    """JSON, readable and in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def print_json(value: Any) -> None:
    """JSON on standard output."""
    click.echo(json_text(value), nl=False)


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all. A file that is not regular (a device, a pipe) is written to, never replaced."""
    data = content.encode() if isinstance(content, str) else content
    try:
        mode = _mode(path)
        if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data, mode)
    except (OSError, ValueError) as error:  # ValueError: an invalid name
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        hint = f"make the folder {path.parent} first" if missing else "choose another file"
        raise CannotWrite(f"cannot write {path}: {reason}", hint=hint) from error


def _mode(path: Path) -> int | None:
    """The mode of the file, None if there is none. Raises for a loop of links: `Path.exists` takes it for no file, and
    from Python 3.13 on `Path.resolve` ends at the link itself."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    """Replace the file by the data, in one step and with its old mode."""
    if mode is None:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def diagram_format(asked: str | None, output: Path | None) -> str | None:
    """The format of the picture: as asked, or by the suffix of the file."""
    if asked or output is None:
        return asked
    kind = SUFFIXES.get(output.suffix.lower())
    if kind is None:
        raise Misuse(
            f"{output}: no picture format goes with the suffix {output.suffix or '(none)'!r}",
            hint=f"use one of {', '.join(SUFFIXES)}, or say --diagram text|mermaid|svg|html",
        )
    return kind


def print_diagram(report: Report, kind: str, output: Path | None) -> None:
    """Draw to a file or to standard output."""
    from vez import draw  # only if a picture is wanted: it takes longer to load than many searches

    if kind == "text":
        out = console()
        color = output is None and out.is_terminal and not out.no_color
        width = out.width if output is None else PIPE_WIDTH
        picture = draw.text(report.trace, report.verdicts, width=width, color=color, language=language())
    else:
        spoken = {} if kind == "html" else {"language": language()}  # a page has both
        picture = draw.FORMATS[kind](report.trace, report.verdicts, **spoken)
    if output is None:
        click.echo(picture)
    else:
        write_file(output, picture if picture.endswith("\n") else picture + "\n")


def print_report(report: Report) -> None:
    """Print verdicts and measurements for people."""
    header, out, spoken = report.trace.header, console(), language()
    if header.title:
        out.print(escape(scenario_title(header.title, spoken)), style="bold")
    heading = said(
        "run_heading",
        count=len(header.ids),
        topology=topology_name(header.topology, spoken),
        seed=header.seed,
        end=header.ended_at / 1000,
        why=said(f"ended_{header.end}"),
    )
    out.print(f"[bold]{escape(header.algorithm)}[/]  {escape(heading.told(spoken))}")
    names = names_of(report.trace)
    print_broken_assumptions(out, report.broken_assumptions, names)
    if report.verdicts:
        print_verdicts(out, report.verdicts, names)
    print_costs(out, report, names)


def names_of(trace: Trace) -> Mapping[int, str]:
    """The names of the processes in a scenario; empty if it has none."""
    if not trace.header.names:
        return NO_NAMES
    from vez.draw.trace.layout import display_names  # only for runs that have names: see `print_diagram`

    return display_names(trace.header)


def print_broken_assumptions(out: Console, found: Mapping[str, Sentence], names: Mapping[int, str] = NO_NAMES) -> None:
    """Print the assumptions that a run did not keep, a line each."""
    spoken = language()
    before = in_words("this run did not keep an assumption:", "esta execução não respeitou uma hipótese:")
    for name, words in found.items():
        what = f"{assumption_name(name, spoken)} ({words.told(spoken, names)})"
        out.print(f"[yellow]{before}[/] {escape(what)}", style="default")


def print_verdicts(out: Console, verdicts: Sequence[Verdict], names: Mapping[int, str] = NO_NAMES) -> None:
    """Print verdicts for people; on a narrow terminal the evidence is below the table."""
    narrow = out.width < NARROW
    heads = ("propriedade", "veredito", "evidência") if language() == "pt" else ("property", "verdict", "evidence")
    columns = [Column(head) for head in heads[: 2 if narrow else 3]]
    print_table(out, columns, [_verdict_cells(verdict, names)[: len(columns)] for verdict in verdicts])
    for verdict in verdicts if narrow else ():
        name, _, evidence = _verdict_cells(verdict, names)
        out.print(f"{name}:", Padding(evidence, (0, 0, 0, 2)))


def _verdict_cells(verdict: Verdict, names: Mapping[int, str]) -> list[str]:
    """Property, verdict and evidence; a broken property that was not promised is yellow, not red."""
    spoken = language()
    unpromised = ""
    if verdict.status is Status.BROKEN and not verdict.promised:
        unpromised = in_words(" (not promised)", " (não prometida)")
    style = "yellow" if unpromised else STYLES[verdict.status]
    name = verdict.name if spoken == "en" else property_name(verdict.name, spoken)
    words = status_words(verdict.status, verdict.runs, spoken)
    return [name, f"[{style}]{words}{unpromised}[/]", escape(verdict.said.told(spoken, names))]


def counted(count: int, what: str) -> str:
    """A number of things: `1 run`, `1,000 runs`, `2 entries`, `3 processes`."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"
