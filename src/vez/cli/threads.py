"""`vez threads`: the same programs on real threads, where updates really get lost."""

from __future__ import annotations

import platform
from typing import Any

import click
from rich.markup import escape

from vez.cli.app import settle
from vez.cli.given import all_given, option
from vez.cli.numbers import Number
from vez.cli.options import ASSIGNMENT
from vez.cli.output import console, print_json
from vez.cli.programs import load_program, print_programs, programs
from vez.errors import Misuse
from vez.sim.blame import blame_function
from vez.threads import Program
from vez.threads.programs import LOCKS
from vez.threads.real import Outcome, bare_increments, run
from vez.threads.ring import ring


@click.command("threads", short_help="Run programs on real threads.")
@click.argument("program", required=False)
@click.option(
    "--threads", type=click.IntRange(1, 1000), metavar="N", help="counter, ring: number of threads.  [default: 10, 30]"
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    metavar="N",
    default=10_000,
    show_default=True,
    help="counter: updates by each thread.",
)
@click.option("--lock", type=click.Choice(LOCKS), help="counter: only with this lock.  [default: with each in turn]")
@click.option(
    "--letters",
    type=click.IntRange(1, 100_000),
    metavar="N",
    default=80,
    show_default=True,
    help="ring: length of the message.",
)
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="ring: seed of the random message.")
@click.option(
    "--switch",
    type=Number(0.1, 1e6),
    metavar="US",
    default=10.0,
    show_default=True,
    help="Microseconds after which the interpreter may switch threads; Python's default is 5000.",
)
@click.option(
    "--set", "parameters", type=ASSIGNMENT, multiple=True, help="Other programs: a setting, such as rounds=2."
)
@click.option(
    "--patience",
    type=Number(0.1),
    metavar="S",
    default=60.0,
    show_default=True,
    help="Other programs: seconds until blocked threads count as a deadlock.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def threads_command(program: str | None, **options: Any) -> int:
    """Run PROGRAM on real threads; without PROGRAM, list the programs.

    PROGRAM is a name from the list, or a function of your own (path/to/file.py:function).

    Exit codes: 0 as claimed, 1 not as claimed, or a deadlock.

    \b
      vez threads
      vez threads counter --threads 10 --rounds 10000
      vez threads ring
      vez threads two-locks --patience 2
    """
    if program is None:
        _refuse("the list", frozenset())
        print_programs(programs() | LISTED, "vez threads PROGRAM", as_json=options["as_json"])
        return 0
    _refuse(program, OWN.get(program, OTHERS))
    if program == "counter":
        return _counter(options)
    if program == "ring":
        return _ring(options)
    made = load_program(program, dict(options["parameters"]), OWN)
    outcome = run(made, switch_us=options["switch"], patience_s=options["patience"])
    if outcome.failure is not None:
        body = next(iter(made.threads.values()))
        raise blame_function(outcome.failure, body, "on a real thread") from outcome.failure
    kept = outcome.finished and _as_claimed(made, outcome)
    code = settle(broken=not kept)
    if options["as_json"]:
        print_json({"program": program, "kept": kept, **_plain(outcome)})
    else:
        out = console()
        if outcome.blocked:
            out.print(f"[bold red]deadlock:[/] {', '.join(outcome.blocked)} blocked for {options['patience']:g} s")
            out.print(f"see why: vez check threads:{program}")
        else:
            word = "[green]as claimed[/]" if kept else "[bold red]not as claimed[/]"
            values = "".join(f"; {name} = {value}" for name, value in outcome.variables.items())
            claim = made.claim if made.at_end is not None else "every thread ended"
            out.print(f"{word}: {escape(claim + values)}; {outcome.seconds:.3f} s")
            if kept:
                out.print("one run tells little: vez check tries every interleaving")
    return code


def _as_claimed(program: Program, outcome: Outcome) -> bool:
    try:
        return program.at_end is None or bool(program.at_end(outcome.variables))
    except (Exception, SystemExit) as error:
        raise blame_function(error, program.at_end, "in at_end") from error


OWN = {
    "counter": frozenset({"threads", "rounds", "lock", "switch"}),
    "ring": frozenset({"threads", "letters", "seed"}),
}
"""The options of the two programs that have options of their own."""
LISTED = {
    "counter": (programs()["counter"][0], ("--threads 10", "--rounds 10000", "--lock none|step|loop|atomic")),
    "ring": ((ring.__doc__ or "").strip(), ("--threads 30", "--letters 80", "--seed 0")),
}
"""How the list shows them."""
OTHERS = frozenset({"parameters", "switch", "patience"})


def _refuse(program: str, heeded: frozenset[str]) -> None:
    """Refuse options that this program would not heed."""
    wrong = sorted(map(option, all_given() - heeded - {"program", "as_json"}))
    if wrong:
        own = "its options: vez threads --help" if program in OWN else "its settings: --set NAME=VALUE"
        raise Misuse(f"{', '.join(wrong)}: not for {program}", hint=own if heeded else "name a program")


def _counter(options: dict[str, Any]) -> int:
    threads, rounds, switch = options["threads"] or 10, options["rounds"], options["switch"]
    expected = threads * rounds
    rows: list[dict[str, Any]] = []
    for lock in (options["lock"],) if options["lock"] else LOCKS:
        settings = {"threads": threads, "rounds": rounds, "lock": lock}
        outcome = run(load_program("counter", settings), switch_us=switch, patience_s=600)
        rows.append(_row(f"lock {lock}", expected, outcome))
    bare = _row("bare counter += 1", expected, bare_increments(threads, rounds, switch_us=switch))
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    if options["as_json"]:
        print_json({"threads": threads, "rounds": rounds, "interpreter": interpreter, "runs": rows, "bare": bare})
        return 0
    out = console()
    out.print(f"[bold]counter[/]  {threads} threads × {rounds:,} rounds, hand-over after {switch:g} µs, {interpreter}")
    first = rows[0]["seconds"]
    for row in [*rows, bare]:
        color = "bold red" if row["lost"] else "green"
        cost = f", {row['seconds'] / first:.2f}× the time" if row is not rows[0] and row is not bare else ""
        out.print(
            f"{row['what']:18} {row['found']:>10,} of {expected:,}  [{color}]{row['lost']:,} lost[/]  "
            f"{row['seconds']:.3f} s{cost}"
        )
    if rows[0]["what"] == "lock none" and not rows[0]["lost"] and threads > 1:
        out.print("Without a lock nothing was lost this time: try more --rounds, or a smaller --switch.")
    out.print(_ACCIDENT if not bare["lost"] else _LOST_TOO, soft_wrap=True)
    return 0


_ACCIDENT = (
    "The bare loop lost nothing, by accident: this interpreter hands over only at jumps and calls, never inside "
    "`counter += 1`.\nNothing promises that. Reading and writing apart, as in the runs above, is what real code does."
)
_LOST_TOO = "The bare loop loses updates too: on this interpreter `counter += 1` is not one step."


def _row(what: str, expected: int, outcome: Outcome) -> dict[str, Any]:
    found = outcome.variables["counter"]
    return {"what": what, "found": found, "lost": expected - found, "seconds": round(outcome.seconds, 6)}


def _ring(options: dict[str, Any]) -> int:
    lap = ring(options["threads"] or 30, options["letters"], options["seed"])
    if options["as_json"]:
        print_json(lap)
        return 0
    out = console()
    out.print(f"sent      {lap.sent}", soft_wrap=True)
    out.print(f"received  {lap.received}", soft_wrap=True)
    out.print(
        f"{len(lap.turned)} threads, {lap.hops} hops, each turned {min(lap.turned.values())} to "
        f"{max(lap.turned.values())} letters; {lap.seconds * 1000:.1f} ms"
    )
    return 0


def _plain(outcome: Outcome) -> dict[str, Any]:
    return {
        "variables": outcome.variables,
        "seconds": round(outcome.seconds, 6),
        "finished": outcome.finished,
        "blocked": outcome.blocked,
    }
