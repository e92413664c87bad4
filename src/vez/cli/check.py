"""`vez check`: every interleaving of an algorithm, and the shortest run to what goes wrong."""

from __future__ import annotations

from typing import Any

import click

from vez.cli.given import OutputFile, all_given, renamed
from vez.cli.names import complete_algorithm
from vez.cli.options import ASSIGNMENT, EDGES, ELECT, IDS, WANT
from vez.cli.output import SUFFIXES
from vez.cli.programs import print_programs, programs
from vez.core.assumptions import Assumption
from vez.core.topology import TOPOLOGIES

MAX_STATES = 100_000_000
MAX_MEMORY_MB = 4096


@click.command("check", short_help="Explore every possible run.")
@click.argument("algorithm", shell_complete=complete_algorithm)
@click.option("-n", type=click.IntRange(1), metavar="N", help="Number of processes, numbered 1 to N.  [default: 3]")
@click.option("--ids", type=IDS, help="Identifiers of the processes, in ring order, instead of -n.")
@click.option("--topology", type=click.Choice(sorted(TOPOLOGIES)), help="Topology, if not the algorithm's own.")
@click.option("--edges", type=EDGES, help="Channels of a graph: 1-2,2-3.")
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter of the algorithm: lease_ms=5.")
@click.option(
    "--requests",
    default="1",
    show_default=True,
    metavar="N",
    help="Requests, or elections, of each process; `forever` for no end.",
)
@click.option("--want", type=WANT, multiple=True, help="Mutex: this process wants in once; repeat the option for more.")
@click.option(
    "--elect",
    type=ELECT,
    multiple=True,
    help="Election: this process starts one; repeat the option for more.  [default: all]",
)
@click.option("--crashes", type=click.IntRange(0), metavar="N", default=0, help="Largest number of crashes.")
@click.option("--victims", type=IDS, help="Processes that may crash.  [default: all]")
@click.option(
    "--recoveries",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Largest number of crashed processes that come back.",
)
@click.option("--amnesia", is_flag=True, help="A process that comes back may have lost its durable fields too.")
@click.option(
    "--losses", type=click.IntRange(0), metavar="N", default=0, help="Largest number of messages that are lost."
)
@click.option(
    "--duplicates", type=click.IntRange(0), metavar="N", default=0, help="Largest number of messages that arrive twice."
)
@click.option(
    "--mistakes",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Largest number of wrong suspicions of the failure detector.",
)
@click.option(
    "--withdrawals",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Mutex: largest number of waiters that give up.",
)
@click.option(
    "--timeouts", is_flag=True, help="Timers may fire at any moment, whatever the algorithm assumes about time."
)
@click.option(
    "--fifo/--no-fifo", default=None, help="Deliver in order, or in any order.  [default: as the algorithm assumes]"
)
@click.option(
    "--without",
    multiple=True,
    metavar="ASSUMPTION",
    help=f"Turn an assumption off: {', '.join(a for a in Assumption if a != Assumption.UNIQUE_IDS)}.",
)
@click.option(
    "--bound", type=ASSIGNMENT, multiple=True, help="Explore only states in which a field is at most this: clock=6."
)
@click.option(
    "--capacity",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Explore only states with at most this many messages on a channel; 0: any number.",
)
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME",
    help="Judge only this property; repeat the option for more.",
)
@click.option("--first", is_flag=True, help="Stop at the first violation of a safety property.")
@click.option("--reduce", is_flag=True, help="Partial-order reduction: fewer states, same verdicts, longer runs.")
@click.option(
    "--symmetry", is_flag=True, help="Count states as one if they differ only by a renaming of the processes."
)
@click.option("--jobs", type=click.IntRange(1, 2), metavar="N", help="Number of cores.  [default: all, at most 2]")
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    default=MAX_STATES,
    show_default=True,
    help="Stop after this many states.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(1),
    metavar="MIB",
    default=MAX_MEMORY_MB,
    show_default=True,
    help="Stop at this much memory.",
)
@click.option(
    "--diagram", type=click.Choice(sorted(set(SUFFIXES.values()))), help="Draw the shortest run that breaks a property."
)
@click.option("-o", "--output", type=OutputFile(), help="Write the picture to this file: .txt, .mmd, .svg or .html.")
@click.option(
    "--save-scenario", type=OutputFile(), help="Write that run as a scenario, which `vez sim --scenario` reads."
)
@click.option("--trace", "trace_file", type=OutputFile(), help="Write the trace of that run, which `vez show` reads.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@renamed("--workers", "--jobs")
@renamed(
    "--scenario", "--save-scenario", hint="`vez sim --scenario FILE` reads what `vez check --save-scenario FILE` writes"
)
def check_command(**options: Any) -> int:
    """Explore every possible run of ALGORITHM and judge each property.

    ALGORITHM is a name from `vez algorithms`, a class of your own (path/to/file.py:Class), or a program of
    threads (threads:counter, or threads:path/to/file.py:function). `vez check threads:` lists these programs.

    A verdict holds for every run with the processes and faults that are printed, and for no others. A violation is
    shown by a shortest run. Ctrl-C stops the search and prints what was found so far.

    Exit codes: 0 nothing promised is broken, 1 a promised property is broken, 2 undecided (a limit was reached),
    130 interrupted before anything was found broken.

    \b
      vez check ricart-agrawala -n 3
      vez check coordinator-lease --without bounded_stay
      vez check token-ring --crashes 1 -o lost-token.html
      vez check threads:counter
    """
    if options["algorithm"] == "threads:":
        print_programs(programs(), "vez check threads:PROGRAM", as_json=options["as_json"])
        return 0
    if options["algorithm"].startswith("threads:"):
        from vez.cli.check_threads import check_threads

        return check_threads(options, all_given())
    from vez.cli.check_search import check_algorithm  # here, so that --help needs no NumPy

    return check_algorithm(options)
