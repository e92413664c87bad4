"""`vez threads`: the exercises and the toolbox of threads, on real threads."""

from __future__ import annotations

import inspect
from typing import Any

import click

from vez.cli.parameters.forms import ASSIGNMENT
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, all_given, option
from vez.cli.parameters.thread_programs import load_maker, print_programs, settings_words
from vez.cli.threads_counter import run_counter
from vez.cli.threads_measured import EXHIBITS
from vez.cli.threads_run import Lines, run_program
from vez.errors import Misuse
from vez.threads.programs import LESSONS
from vez.threads.programs.classics import LOCKS

SHORT = ("threads", "rounds", "letters", "seed")
"""Options that set the setting of the same name."""
ALWAYS = frozenset({"program", "as_json"})
RUN = frozenset({"parameters", "switch", "patience", "sleep", "output", "all_lines"})
COUNTER = frozenset({"threads", "rounds", "lock", "switch"})


@click.command("threads", short_help="Run programs on real threads.")
@click.argument("program", required=False)
@click.option("--threads", type=click.IntRange(1, 1000), metavar="N", help="Number of threads.")
@click.option("--rounds", type=click.IntRange(1), metavar="N", help="Rounds of each thread.")
@click.option("--lock", type=click.Choice(LOCKS), help="counter: only with this lock.  [default: with each in turn]")
@click.option("--letters", type=click.IntRange(1, 100_000), metavar="N", help="ring: length of the message.")
@click.option("--seed", type=int, metavar="N", help="ring, join: seed of what is random.  [default: 0]")
@click.option(
    "--sleep",
    type=Number(0),
    metavar="S",
    default=1.0,
    show_default=True,
    help="Seconds that one second of sleep takes; 0.01 runs a hundred times faster.",
)
@click.option(
    "--switch",
    type=Number(0.1, 1e6),
    metavar="US",
    default=10.0,
    show_default=True,
    help="Microseconds after which the interpreter may switch threads; Python's default is 5000.",
)
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A setting of the program, as in the list.")
@click.option(
    "--patience",
    type=Number(0.1),
    metavar="S",
    help="Seconds after which threads that still run are stopped. A deadlock is seen at once.  [default: 60]",
)
@click.option("-o", "--output", type=OutputFile(".svg", ".html", ".txt"), help="Draw the run: a lane for each thread.")
@click.option("--all", "all_lines", is_flag=True, help=f"Print every line of the threads, not only {Lines.MOST}.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def threads_command(program: str | None, **options: Any) -> int:
    """Run PROGRAM on real threads; without PROGRAM, list the programs and what each teaches.

    PROGRAM is a name from the list, or a function of your own (path/to/file.py:function). Most programs can also be
    explored over every interleaving: vez check threads:PROGRAM.

    Without its right settings, a program may end in either way: the exit code is 0, and the last line names what is
    missing. With them, and for a function of your own: 0 as claimed, 1 not as claimed, or a deadlock, 2 stopped
    before its end.

    \b
      vez threads
      vez threads hello --threads 200
      vez threads counter --threads 10 --rounds 10000
      vez threads two-locks -o deadlock.svg
      vez threads ring --sleep 0.05
    """
    if program is None:
        _refuse("the list", frozenset(), ())
        print_programs(_listed(), "vez threads PROGRAM", as_json=options["as_json"])
        return 0
    if program == "counter" and not options["output"]:
        _refuse(program, COUNTER, ())
        return run_counter(options)
    if program in EXHIBITS:
        _refuse(program, EXHIBITS[program].heeds, ())
        return EXHIBITS[program].run(options)
    maker = load_maker(program, EXHIBITS)
    own = [name for name in SHORT if name in inspect.signature(maker).parameters]
    if program == "counter":
        own.append("lock")
    _refuse(program, RUN, own)
    settings = dict(options["parameters"])
    settings |= {name: options[name] for name in own if options[name] is not None}
    return run_program(program, settings, options)


def _listed() -> dict[str, tuple[str, list[str]]]:
    """The programs, with the subject and the settings of a real run of each."""
    found = {}
    for name, lesson in LESSONS.items():
        settings = settings_words(lesson.maker, lesson.real)
        found[name] = (lesson.teaches, settings)
    words = ["--threads 10", "--rounds 10000", f"--lock {'|'.join(LOCKS)}"]
    found |= {"counter": (LESSONS["counter"].teaches, words)}
    return found | {name: (exhibit.teaches, list(exhibit.shown)) for name, exhibit in EXHIBITS.items()}


def _refuse(program: str, heeded: frozenset[str], own: Any) -> None:
    """Refuse options that this program does not use."""
    wrong = sorted(map(option, all_given() - heeded - ALWAYS - set(own)))
    if wrong:
        hint = (
            "its options: vez threads --help"
            if program == "counter" or program in EXHIBITS
            else "its settings: --set NAME=VALUE"
        )
        raise Misuse(f"{', '.join(wrong)}: not for {program}", hint=hint if heeded else "name a program")
