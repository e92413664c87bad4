"""What commands print: tables for people, JSON for programs, files where asked."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from vez.cli.tables import Column, print_table
from vez.errors import CannotWrite, Misuse
from vez.properties import Measurements, Status, Verdict
from vez.properties.measure import Summary
from vez.study.report import Report

SUFFIXES = {".txt": "text", ".mmd": "mermaid", ".mermaid": "mermaid", ".md": "mermaid", ".svg": "svg",
            ".html": "html", ".htm": "html"}  # fmt: skip
PIPE_WIDTH = 110
LEAST_WIDTH = 20
"""Columns below which nothing can be read; a narrower terminal wraps."""
NARROW = 70
"""Columns below which three columns of words would squeeze each other."""
STYLES = {
    Status.HOLDS: "green",
    Status.HOLDS_IN_RUNS: "green",
    Status.BROKEN: "bold red",
    Status.UNDECIDED: "yellow",
    Status.NOT_JUDGED: "dim",
}


def console() -> Console:
    """Standard output: as wide as the terminal or as `COLUMNS` says; PIPE_WIDTH columns in a pipe without `COLUMNS`."""
    out = Console(highlight=False)
    asked = os.environ.get("COLUMNS", "")
    if not out.is_terminal and not (asked.isdigit() and int(asked)):  # 0 says that nobody knows
        return Console(highlight=False, width=PIPE_WIDTH)
    return out if out.width >= LEAST_WIDTH else Console(highlight=False, width=LEAST_WIDTH)


def json_text(value: Any) -> str:
    """JSON, readable and in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def print_json(value: Any) -> None:
    """JSON on standard output."""
    click.echo(json_text(value), nl=False)


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all. What is no regular file (a device, a pipe) is written to, never replaced."""
    data = content.encode() if isinstance(content, str) else content
    try:
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data, mode)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name that cannot be
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        hint = f"make the folder {path.parent} first" if missing else "choose another file"
        raise CannotWrite(f"cannot write {path}: {reason}", hint=hint) from error


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    """Put the data where the file was, in one step and with the mode that it had."""
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
    from vez import draw  # only for those who want a picture: it takes longer to load than many a search

    if kind == "text":
        out = console()
        color = output is None and out.is_terminal and not out.no_color
        width = out.width if output is None else PIPE_WIDTH
        picture = draw.text(report.trace, report.verdicts, width=width, color=color)
    else:
        picture = draw.FORMATS[kind](report.trace, report.verdicts)
    if output is None:
        click.echo(picture)
    else:
        write_file(output, picture if picture.endswith("\n") else picture + "\n")


def print_report(report: Report) -> None:
    """Verdicts and measurements for people."""
    header, out = report.trace.header, console()
    ending = {
        "quiet": "nothing left to happen",
        "finished": "the work was done",
        "time": "the time was up",
        "events": "the limit of events was met",
        "interrupted": "interrupted",
    }[header.end]
    out.print(
        f"[bold]{escape(header.algorithm)}[/]  {counted(len(header.ids), 'process')}, {escape(header.topology)}, "
        f"seed {header.seed}; ended at {header.ended_at / 1000:g} ms: {ending}"
    )
    for name, text in report.broken_assumptions.items():
        out.print(f"[yellow]this run did not keep an assumption:[/] {name} ({escape(text)})", style="default")
    if report.verdicts:
        print_verdicts(out, report.verdicts)
    _print_costs(out, report)


def print_verdicts(out: Console, verdicts: Sequence[Verdict]) -> None:
    """Verdicts for people; on a narrow terminal the evidence goes below the table."""
    narrow = out.width < NARROW
    columns = [Column("property"), Column("verdict"), *([] if narrow else [Column("evidence")])]
    print_table(out, columns, [_verdict_cells(verdict)[: len(columns)] for verdict in verdicts])
    for verdict in verdicts if narrow else ():
        out.print(f"{verdict.name}:", Padding(escape(verdict.evidence), (0, 0, 0, 2)))


def _verdict_cells(verdict: Verdict) -> list[str]:
    """Property, verdict and evidence; a broken property that was not promised is yellow, not red."""
    unpromised = " (not promised)" if verdict.status is Status.BROKEN and not verdict.promised else ""
    style = "yellow" if unpromised else STYLES[verdict.status]
    return [verdict.name, f"[{style}]{verdict.words}{unpromised}[/]", escape(verdict.evidence)]


def _print_costs(out: Console, report: Report) -> None:
    cost: Measurements = report.measurements
    kinds = escape(", ".join(f"{count} {kind}" for kind, count in cost.by_kind.items()))
    out.print(f"messages         {cost.messages}{f' ({kinds})' if kinds else ''}")
    if report.trace.header.role == "election":
        out.print(f"leader           {report.leader if report.leader is not None else 'none on whom all agree'}")
    if cost.entries:
        out.print(f"entries          {cost.entries}, {cost.messages_per_entry:.4g} messages each")
        out.print(f"client delay     {_summary(cost.client_delay, 'free entry')}")
        out.print(f"synchronization  {_summary(cost.synchronization_delay, 'hand-over')}")
        out.print(f"waits            {_summary(cost.waits, 'entry')}")
    loads = {process: cost.sent[process] + cost.received[process] for process in cost.sent}
    total = sum(loads.values())
    if total:
        busiest = max(loads, key=lambda process: (loads[process], -process))
        out.print(f"busiest process  {busiest}, with {loads[busiest] / total:.0%} of all sending and receiving")


def _summary(summary: Summary, what: str) -> str:
    if summary.mean is None:
        return "nobody was waiting" if what == "hand-over" else "no entry was free of contention"
    if summary.count == 1:
        return f"{summary.mean:.4g} ms (1 {what})"
    return f"{summary.mean:.4g} ms (mean of {counted(summary.count, what)}, {summary.least:g} to {summary.most:g})"


def counted(count: int, what: str) -> str:
    """A number of things: `1 run`, `1,000 runs`, `2 entries`, `3 processes`."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"
