"""`vez check`: every interleaving of an algorithm, and the shortest run to a violation.

An option is declared here and becomes part of the search in `check_search.py`. For models without it,
`parameters/ineffective_options.py` refuses it.
"""

from __future__ import annotations

from typing import Any

import click

from vez.cli.parameters.completion import complete_checkable
from vez.cli.parameters.forms import ASSIGNMENT, CUT, EDGES, ELECT, IDS, PARTITION, WANT
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, all_given, renamed
from vez.cli.parameters.thread_programs import print_programs, programs
from vez.cli.printing.output import SUFFIXES
from vez.cli.printing.progress import Line
from vez.core.assumptions import Assumption
from vez.core.topology import TOPOLOGIES

MAX_STATES = 100_000_000
MAX_MEMORY_MB = 4096


@click.command("check", short_help="Explore every possible run.")
@click.argument("algorithm", shell_complete=complete_checkable)
@click.option("-n", type=click.IntRange(1), metavar="N", help="Number of processes, numbered 1 to N.  [default: 3]")
@click.option("--ids", type=IDS, help="Identifiers of the processes, in ring order, instead of -n.")
@click.option("--topology", type=click.Choice(sorted(TOPOLOGIES)), help="Topology, if not the algorithm's own.")
@click.option("--edges", type=EDGES, help="Channels of a graph: 1-2,2-3.")
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter of the algorithm: lease_ms=5.")
@click.option(
    "--requests",
    metavar="N",
    help="Requests, or elections, of each process; `forever` for no end.  [default: forever for algorithms that count "
    "nothing, otherwise 1]",
)
@click.option("--want", type=WANT, multiple=True, help="Mutex: this process wants in once; repeat the option for more.")
@click.option(
    "--elect",
    type=ELECT,
    multiple=True,
    help="Election: this process starts one; repeat the option for more.  [default: all]",
)
@click.option("--crashes", type=click.IntRange(0), metavar="N", default=0, help="Largest number of crashes.")
@click.option(
    "--crashes-inside",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Largest number of crashes inside a handler, after some of its sends and durable writes.",
)
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
    "--partitions",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Largest number of times that the network is cut; it may heal.",
)
@click.option(
    "--partition", type=PARTITION, multiple=True, help="Only this may be cut: 1,2|3.  [default: any two groups]"
)
@click.option("--cut", type=CUT, multiple=True, help="Only this may be cut: 1>2, the channel from 1 to 2.")
@click.option(
    "--pauses",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Largest number of pauses of a process, where bounds on time are kept; with heartbeats add --capacity.",
)
@click.option(
    "--drift",
    type=Number(0, 1, max_open=True),
    metavar="E",
    default=0.0,
    help="Where bounds on time are kept: a timer of 10 ms runs out after 10(1-E) to 10(1+E) ms.",
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
    "--longest-delay",
    type=Number(0),
    metavar="MS",
    help="Longest delay of a message, where bounds on time are assumed; 0: messages take no time.  "
    "[default: what the algorithm tolerates]",
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
    help="Stop before the process uses more memory than this.",
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

    ALGORITHM is a name from `vez algorithms`, a class of your own (path/to/file.py:Class), a program of
    threads (threads:counter, or threads:path/to/file.py:function), or a recipe, which is how clients of a server
    take turns (recipe:etcd-lock). `vez check threads:` lists the programs, `vez check recipe:` the recipes.
    table:lock and others are the turn table of vez's own locks; `vez check table:` lists them.

    A verdict holds for every run with the processes and faults that are printed, and for no others. A violation is
    shown by a shortest run. What must happen some day is judged under weak fairness: a step that is possible all the
    while happens in the end. The kinds of step are printed; requests and faults need not happen. Ctrl-C stops the
    search and prints what was found so far.

    Exit codes: 0 nothing promised is broken, 1 a promised property is broken, 2 undecided (a limit was reached),
    130 interrupted before anything was found broken.

    \b
      vez check ricart-agrawala -n 3
      vez check coordinator-lease --without bounded_stay
      vez check token-ring --crashes 1 -o lost-token.html
      vez check threads:counter
      vez check table:lock
      vez check recipe:etcd-lock --set doubts=1
    """
    if options["algorithm"] == "threads:":
        print_programs(programs(), "vez check threads:PROGRAM", as_json=options["as_json"])
        return 0
    if options["algorithm"] == "recipe:":
        from vez.cli.check_recipes import print_recipes

        print_recipes(as_json=options["as_json"])
        return 0
    if options["algorithm"].startswith("threads:"):
        from vez.cli.check_threads import check_threads

        return check_threads(options, all_given())
    if options["algorithm"].startswith("table:"):
        from vez.cli.check_models import as_asked, print_models

        if options["algorithm"] == "table:":
            print_models(as_json=options["as_json"])
            return 0
        options = as_asked(options, all_given())
    if options["algorithm"].startswith("recipe:"):
        from vez.cli.check_recipes import as_found

        options = as_found(options, all_given())
    with Line("loading the checker"):
        from vez.cli.check_search import check_algorithm  # here, so that --help does not import the checker

    return check_algorithm(options)
