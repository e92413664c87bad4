"""`vez threads counter`: lost updates with and without locks, and the cost of locks."""

from __future__ import annotations

import platform
from typing import Any

from vez.cli.app import settle
from vez.cli.printing.output import console, print_json
from vez.threads.native import native_increments
from vez.threads.programs import LESSONS
from vez.threads.programs.classics import LOCKS, counter
from vez.threads.real import Outcome, run


def run_counter(options: dict[str, Any]) -> int:
    """Run with each lock in turn, and in plain Python."""
    threads, rounds, switch = options["threads"] or 10, options["rounds"] or 10_000, options["switch"]
    expected = threads * rounds
    rows = [
        _row(f"lock {lock}", expected, run(counter(threads, rounds, lock), switch_us=switch, patience_s=600))
        for lock in ((options["lock"],) if options["lock"] else LOCKS)
    ]
    sound = LESSONS["counter"].sound["lock"]
    code = settle(broken=any(row["lost"] for row in rows if row["what"].removeprefix("lock ") in sound))
    plain = [_row(what, expected, outcome) for what, outcome in native_increments(threads, rounds, switch).items()]
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    if options["as_json"]:
        print_json({
            "threads": threads, "rounds": rounds, "interpreter": interpreter, "runs": rows, "bare": plain[0],
            "plain": plain,
        })  # fmt: skip
        return code
    out = console()
    out.print(f"[bold]counter[/]  {threads} threads × {rounds:,} rounds, hand-over after {switch:g} µs, {interpreter}")
    for group in (rows, plain):
        first = group[0]["seconds"]
        for row in group:
            color = "bold red" if row["lost"] else "green"
            cost = f", {row['seconds'] / first:.2f}× the time" if row is not group[0] else ""
            out.print(
                f"{row['what']:22} {row['found']:>10,} of {expected:,}  [{color}]{row['lost']:,} lost[/]  "
                f"{row['seconds']:.3f} s{cost}"
            )
    if rows[0]["what"] == "lock none" and not rows[0]["lost"] and threads > 1:
        out.print("Without a lock nothing was lost this time: try more --rounds, or a smaller --switch.")
    out.print(_ACCIDENT if not plain[0]["lost"] else _LOST_TOO, soft_wrap=True)
    return code


_ACCIDENT = (
    "The bare loop lost nothing, by accident: this interpreter hands over only at jumps and calls, never inside "
    "`counter += 1`.\nNothing promises that. Reading and writing apart, as in the runs above, is what real code does."
)
_LOST_TOO = "The bare loop loses updates too: on this interpreter `counter += 1` is not one step."


def _row(what: str, expected: int, outcome: Outcome) -> dict[str, Any]:
    found = outcome.variables["counter"]
    return {"what": what, "found": found, "lost": expected - found, "seconds": round(outcome.seconds, 6)}
