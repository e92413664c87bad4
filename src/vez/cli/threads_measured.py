"""`vez threads scheduled` and `vez threads false-sharing`: measured, not explored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from rich.markup import escape

from vez.cli.printing.output import console, print_json
from vez.cli.printing.progress import Line
from vez.cli.printing.tables import Column, print_table
from vez.cli.threads_run import draw_recordings
from vez.threads.scheduled import KINDS, both
from vez.threads.sharing import Measured, load_numpy, measure, share_a_core, two_processors

IDLE = 0.8
"""Share of their processors below which two processes do not run at the same time often enough."""


class Exhibit(msgspec.Struct, frozen=True):
    """A program that is measured, with the options that it uses."""

    teaches: str
    run: Callable[[dict[str, Any]], int]
    heeds: frozenset[str]
    shown: tuple[str, ...] = ()


def run_scheduled(options: dict[str, Any]) -> int:
    """Run both kinds of schedule, and print the planned and the actual start of each run."""
    found = both(options["sleep"])
    if options["as_json"]:
        print_json({"expected": found.expected, "measured": found.measured})
    else:
        out = console()
        columns = [
            Column("kind"),
            *(Column(title, right=True) for title in ("run", "planned", "starts", "ends", "began")),
        ]
        rows = [
            (
                kind,
                str(number),
                *(f"{time:g} s" for time in (want.planned_s, want.start_s, want.end_s)),
                f"{was.start_s:.2f} s",
            )
            for kind in KINDS
            for number, (want, was) in enumerate(zip(found.expected[kind], found.measured[kind], strict=True), 1)
        ]
        print_table(out, columns, rows)
        out.print(
            "Run 2 takes 12 s. At a fixed rate the late runs follow at once, until the plan is caught up; with a fixed "
            "delay each begins 5 s after the end of the one before. The last column is what this machine did."
        )
    if options["output"]:
        words = EXHIBITS["scheduled"].teaches
        draw_recordings(options["output"], "scheduled", [("", found.recording)], words, quiet=options["as_json"])
    return 0


def run_false_sharing(options: dict[str, Any]) -> int:
    """Measure four cases: the processor time of an increment, and the lost increments."""
    load_numpy()
    one, other = two_processors()
    with Line("measuring") as line:
        found = measure(options["rounds"] or 2000, line.show)
    if options["as_json"]:
        print_json(
            {"processors": [one, other], "one_core": share_a_core(one, other), "cases": [_row(row) for row in found]}
        )
        return 0
    out = console()
    base = found[0].cpu_ns
    columns = [Column("case"), *(Column(title, right=True) for title in ("CPU time", "times", "lost"))]
    rows = [(row.case, f"{row.cpu_ns:.2f} ns", _ratio(row.cpu_ns, base), f"{row.lost:,}") for row in found]
    print_table(out, columns, rows)
    out.print(f"{found[0].increments:,} increments in each case, by two processes on processors {one} and {other}")
    share = found[1].share
    if share < IDLE:
        out.print(
            f"[yellow]the machine was busy: the processes ran {share:.0%} of the time, so the effect looks small[/]"
        )
    if share_a_core(one, other):
        out.print("[yellow]they are threads of one core and share its cache: false sharing cannot show here[/]")
    out.print(escape(EXHIBITS["false-sharing"].teaches))
    return 0


def _ratio(cpu_ns: float, base: float) -> str:
    """Times of the first case; a dash if the kernel counted no processor time for it, as in a run of a millisecond."""
    return f"{cpu_ns / base:.2f}×" if base else "–"


def _row(row: Measured) -> dict[str, Any]:
    return {**msgspec.structs.asdict(row), "lost": row.lost}


EXHIBITS = {
    "scheduled": Exhibit(
        "a fixed rate keeps the plan, a fixed delay keeps the pause", run_scheduled, frozenset({"sleep", "output"}),
        ("--sleep 1",),
    ),
    "false-sharing": Exhibit(
        "words in one cache line slow each other down; affinity keeps what is really shared on one processor",
        run_false_sharing, frozenset({"rounds"}), ("--rounds 2000",),
    ),
}  # fmt: skip
