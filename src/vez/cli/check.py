"""`vez check`: every interleaving of an algorithm, and the shortest run to what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vez import draw
from vez.cli.given import all_given, renamed
from vez.cli.names import complete_algorithm
from vez.cli.options import ASSIGNMENT, EDGES, ELECT, IDS, WANT
from vez.cli.programs import print_programs, programs
from vez.core.assumptions import Assumption
from vez.core.topology import TOPOLOGIES

MAX_STATES = 100_000_000
MAX_MEMORY_MB = 4096


@click.command("check", short_help="Explore every interleaving.")
@click.argument("algorithm", shell_complete=complete_algorithm)
@click.option("-n", type=click.IntRange(1), help="Number of processes, identified 1 to N.  [default: 3]")
@click.option("--ids", type=IDS, help="Identifiers instead, in ring order.")
@click.option("--topology", type=click.Choice(sorted(TOPOLOGIES)), help="Instead of the algorithm's own.")
@click.option("--edges", type=EDGES, help="The channels of a graph, 1-2,2-3.")
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter of the algorithm: lease_ms=5.")
@click.option("--requests", default="1", show_default=True, help="Mutex: how often each wants in, or `forever`.")
@click.option("--want", type=WANT, multiple=True, help="Mutex: who wants in, once for each time it is given.")
@click.option("--elect", type=ELECT, multiple=True, help="Election: who starts.  [default: all]")
@click.option("--crashes", type=click.IntRange(0), default=0, help="At most so many crashes.")
@click.option("--victims", type=IDS, help="Only these may crash.  [default: all]")
@click.option("--recoveries", type=click.IntRange(0), default=0, help="At most so many of the crashed come back.")
@click.option("--amnesia", is_flag=True, help="Who comes back may also have lost its durable fields.")
@click.option("--losses", type=click.IntRange(0), default=0, help="At most so many messages are lost.")
@click.option("--duplicates", type=click.IntRange(0), default=0, help="At most so many messages arrive twice.")
@click.option("--mistakes", type=click.IntRange(0), default=0, help="At most so many wrong suspicions.")
@click.option("--withdrawals", type=click.IntRange(0), default=0, help="Mutex: at most so many stop waiting.")
@click.option("--timeouts", is_flag=True, help="Timers may run out at any moment, whatever is assumed.")
@click.option("--fifo/--no-fifo", default=None, help="Whether channels keep the order.  [default: as assumed]")
@click.option(
    "--without",
    multiple=True,
    metavar="ASSUMPTION",
    help=f"Turn an assumption off: {', '.join(a for a in Assumption if a != Assumption.UNIQUE_IDS)}.",
)
@click.option("--bound", type=ASSIGNMENT, multiple=True, help="Follow a field only up to a value: clock=6.")
@click.option("--capacity", type=click.IntRange(0), default=0, help="Follow at most so many messages on a channel.")
@click.option("--property", "properties", multiple=True, help="Judge this one only; may be given again.")
@click.option("--first", is_flag=True, help="Stop at the first violation of a safety property.")
@click.option("--reduce", is_flag=True, help="Partial-order reduction: fewer states, same verdicts, longer runs.")
@click.option("--symmetry", is_flag=True, help="States that differ by a renaming of the processes count as one.")
@click.option("--jobs", type=click.IntRange(1, 2), help="Cores to use, at most 2.  [default: as there are]")
@click.option("--max-states", type=click.IntRange(1), default=MAX_STATES, show_default=True, help="Stop there.")
@click.option("--max-memory", type=click.IntRange(1), default=MAX_MEMORY_MB, show_default=True, help="In MiB.")
@click.option("--diagram", type=click.Choice(sorted(draw.FORMATS)), help="Draw the shortest run of each violation.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Its file: .txt, .mmd, .svg or .html.")
@click.option("--save-scenario", type=click.Path(path_type=Path), help="Write it for `vez sim --scenario`.")
@click.option("--trace", "trace_file", type=click.Path(path_type=Path), help="Write its trace for `vez show`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@renamed("--workers", "--jobs")
@renamed(
    "--scenario", "--save-scenario", hint="`vez sim --scenario FILE` reads what `vez check --save-scenario FILE` writes"
)
def check_command(**options: Any) -> int:
    """Explore every interleaving of ALGORITHM and judge each property for good.

    ALGORITHM is a name from `vez algorithms`, a class of your own (path/to/file.py:Class), or a program of
    threads (threads:counter, or threads:path/to/file.py:function). A verdict holds for the configuration that
    is printed, exhaustively; a violation comes as the shortest run. Ctrl-C stops the search and prints what was
    found so far. `vez check threads:` alone lists the programs of threads.

    \b
    Exit codes: 0 nothing promised is broken, 1 a promised property is broken, 2 undecided (a limit was met),
    130 interrupted before anything was found broken.

    \b
    vez check ricart-agrawala -n 3
    vez check coordinator-lease --without bounded_stay -o slow.html
    vez check token-ring --crashes 1 --save-scenario lost-token.toml
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
