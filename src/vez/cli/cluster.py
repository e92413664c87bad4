"""`vez cluster`: an algorithm as real processes on this host, judged, measured and drawn like a simulated run."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import msgspec
from rich.live import Live

from vez import draw
from vez.catalogue.load import load_algorithm
from vez.cli.app import settle
from vez.cli.cluster_ending import Ending
from vez.cli.cluster_keys import Keys, keyboard
from vez.cli.cluster_live_table import ClusterView, in_short
from vez.cli.parameters.completion import complete_algorithm
from vez.cli.parameters.forms import (
    ASSIGNMENT,
    CRASH,
    CUT,
    DELAY,
    DRIFT,
    EDGES,
    ELECT,
    IDS,
    PARTITION,
    PAUSE,
    SUSPECT,
    WANT,
)
from vez.cli.parameters.ineffective_options import refuse_for_sim, refuse_two_outputs
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.consoles import new_console
from vez.cli.printing.output import diagram_format, print_diagram, print_json, print_report, write_file
from vez.cli.printing.progress import Line
from vez.cli.sim_scenario import build_scenario
from vez.core.topology import TOPOLOGIES
from vez.core.trace import Trace
from vez.errors import EngineUnavailable, Misuse, ProtocolBug, WorkerDied
from vez.study.report import Report, report, unmet_expectations
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.node.sockets import private_directory
from vez.worlds.sim.scenario import DEFAULT_DELAY, DETECTORS, Scenario
from vez.worlds.sim.setup import Setup
from vez.worlds.sim.simulation import with_drawn_faults

_NOT_HERE = dict.fromkeys(("until", "runs"))
MOST_NODES = 500
"""Largest number of nodes. Each is a process of 30 MB and knows all others: 500 need 15 GB. A typing error must not
stop the machine."""


@click.command(short_help="Run an algorithm as real processes.")
@click.option("--algorithm", shell_complete=complete_algorithm, help="A name, or path/to/file.py:Class.")
@click.option("-n", type=click.IntRange(1), metavar="N", help="Number of nodes, numbered 1 to N.  [default: 5]")
@click.option("--ids", type=IDS, help="Identifiers of the nodes, in ring order, instead of -n.")
@click.option("--topology", type=click.Choice(sorted(TOPOLOGIES)), help="Topology, if not the algorithm's own.")
@click.option("--edges", type=EDGES, help="Channels of a graph: 1-2,2-3.")
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter of the algorithm: lease_ms=5.")
@click.option("--scenario", type=click.Path(path_type=Path), help="A scenario file of `vez sim` (TOML).")
@click.option(
    "--time-scale",
    type=Number(0.01, 1e6),
    default=100.0,
    show_default=True,
    metavar="X",
    help="All times of the scenario and of the algorithm take X times as long.",
)
@click.option(
    "--seconds", type=Number(0.1, 1e6), default=60.0, show_default=True, metavar="S", help="Stop after S seconds."
)
@click.option(
    "--delay",
    type=DELAY,
    help="Delay of a message in ms: 1, uniform(0.5,1.5), …  [default: as it is; with --scenario, that of the file]",
)
@click.option(
    "--fifo/--no-fifo", default=None, help="Deliver in order, or in any order.  [default: as the algorithm assumes]"
)
@click.option("--loss", type=Number(0, 1), metavar="P", help="Chance that a message is lost.")
@click.option("--duplicate", type=Number(0, 1), metavar="P", help="Chance that a message arrives twice.")
@click.option("--reorder", type=Number(0, 1), metavar="P", help="Chance that later messages overtake it.")
@click.option("--seed", type=int, metavar="N", help="Decides requests, stays, delays, losses and random faults.")
@click.option("--requests", type=click.IntRange(0), metavar="N", help="Mutex: requests of each node.  [default: 2]")
@click.option("--think", type=DELAY, help="Mutex: time before each request.  [default: uniform(0, 20)]")
@click.option("--inside", type=DELAY, help="Mutex: time in the critical section.  [default: uniform(1, 3)]")
@click.option("--wait", type=DELAY, help="Mutex: a waiter gives up after this time.  [default: never]")
@click.option("--want", type=WANT, multiple=True, help="Mutex: 2@0+3: node 2 asks at 0 ms and stays 3 ms.")
@click.option("--elect", type=ELECT, multiple=True, help="Election: 2@5: node 2 starts one at 5 ms.")
@click.option(
    "--crash",
    type=CRASH,
    multiple=True,
    help="3@7: kill node 3 at 7 ms; 3@7..15, 3@7..15:amnesia: it recovers; 3@7:after=2: inside a handler.",
)
@click.option("--pause", type=PAUSE, multiple=True, help="2@5+10: stop node 2 at 5 ms for 10 ms.")
@click.option("--partition", type=PARTITION, multiple=True, help="1,2|3@5..20: no messages between the two sides.")
@click.option("--cut", type=CUT, multiple=True, help="1>2@5..20: no messages from 1 to 2.")
@click.option("--drift", type=DRIFT, multiple=True, help="2=1.5: timers of node 2 take 1.5 times as long.")
@click.option("--suspect", type=SUSPECT, multiple=True, help="1:3@5..9: node 1 wrongly suspects 3 from 5 to 9 ms.")
@click.option(
    "--detector",
    type=click.Choice(DETECTORS),
    help="Failure detector; perfect: the cluster tells.  [default: heartbeat; with --scenario, that of the file]",
)
@click.option("--crashes", type=click.IntRange(0), metavar="N", help="Number of random crashes.")
@click.option("--recoveries", type=click.IntRange(0), metavar="N", help="How many of them are followed by a recovery.")
@click.option("--pauses", type=click.IntRange(0), metavar="N", help="Number of random pauses.")
@click.option("--partitions", type=click.IntRange(0), metavar="N", help="Number of random partitions.")
@click.option("--within", type=Number(0), metavar="MS", help="Random faults begin within this time.")
@click.option("-i", "--interactive", is_flag=True, help="Keys crash, pause and recover nodes and cut links; q ends.")
@click.option("--diagram", type=click.Choice(sorted(draw.FORMATS)), help="Draw the run.")
@click.option("-o", "--output", type=OutputFile(), help="Write the picture to this file: .txt, .mmd, .svg or .html.")
@click.option("--trace", "trace_file", type=OutputFile(), help="Write the trace of the run, which `vez show` reads.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep journals, logs and durable fields in this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cluster(**options: Any) -> int:
    """Run --algorithm as real processes on this host, then judge, measure and draw what they did.

    Every node is a `vez node` of its own; they talk over Unix sockets in a private directory. Crashes are SIGKILL,
    pauses are SIGSTOP. Times are written as for `vez sim`, in ms of the algorithm, and take --time-scale times as long.

    The run ends when nothing is under way: no message in transit, no timer, no stay, no fault or request still to come.
    If timers run for ever, it ends when the work is done, or after --seconds.

    Exit codes: 0 nothing promised is broken, 1 a promised property is broken, 2 undecided, 65 a handler
    raised, 71 a node ended by itself, 130 interrupted.

    \b
      vez cluster -n 5 --algorithm maekawa-fair
      vez cluster --algorithm bully --crash 5@20 -o run.html
    """
    if options["interactive"] and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Misuse("--interactive needs a terminal", hint="leave it out, or plan faults with --crash and its like")
    if not hasattr(os, "fork"):
        raise EngineUnavailable("clusters need POSIX signals", hint="run nodes by hand with `vez node`")
    setup = _setup(options)
    kind = diagram_format(options["diagram"], options["output"])
    refuse_two_outputs(options, kind)
    trace, running = _run(setup, options)
    found = report(trace)
    interrupted = trace.header.end == "interrupted"
    code = settle(broken=found.breaks_promise, undecided=found.promise_open, interrupted=interrupted)
    if options["trace_file"]:
        write_file(options["trace_file"], trace.to_bytes())
    missed = [] if interrupted else unmet_expectations(setup.scenario.expect, found)
    _show(found, kind, options, missed, list(running.rounds.resident.values()))
    if running.failure:
        raise (ProtocolBug if trace.header.end == "raised" else WorkerDied)(
            running.failure, hint="the trace goes as far as the run came; --keep DIR keeps the logs of all nodes"
        )
    return code


def _setup(options: dict[str, Any]) -> Setup:
    """The scenario of the options, with random faults written out."""
    scenario = build_scenario({**options, **_NOT_HERE})
    algorithm = load_algorithm(scenario.algorithm)
    refuse_for_sim({**options, **_NOT_HERE}, scenario, algorithm)
    if options["scenario"] and scenario.network.delay is None:  # its times were chosen for the default delay
        scenario = scenario.but(network=msgspec.structs.replace(scenario.network, delay=DEFAULT_DELAY))
    if not options["scenario"] and not options["detector"]:
        scenario = scenario.but(detector=msgspec.structs.replace(scenario.detector, kind="heartbeat"))
    setup = Setup(with_drawn_faults(scenario, algorithm), algorithm)
    if len(setup.ids) > MOST_NODES:
        raise Misuse(f"{len(setup.ids)} real processes are too many", hint=f"up to {MOST_NODES}; `vez sim` takes more")
    return setup


def _run(setup: Setup, options: dict[str, Any]) -> tuple[Trace, Cluster]:
    """Run the cluster in a temporary folder or in the one that is kept, with a live table on a terminal."""
    console = new_console(stderr=True)
    view, watched, ending = ClusterView(), list[Keys](), Ending()
    kept: Path | None = options["keep"]
    if kept is not None and any((kept / name).exists() for name in ("journal", "state")):
        raise Misuse(f"{kept} holds an earlier run", hint="name a new folder, or remove this one")
    temporary = nullcontext(str(kept)) if kept else tempfile.TemporaryDirectory(prefix="vez-cluster-")
    with temporary as name, Line("starting the nodes", live=False) as line:
        folder = Path(name)
        private_directory(folder)

        async def main() -> tuple[Trace, Cluster]:
            scale, interactive = options["time_scale"], options["interactive"]
            running = Cluster(setup, folder, time_scale=scale, watch=watch, endless=interactive)
            watched.extend([Keys(running)] if interactive else [])
            with ending.judged_or_cancelled(running), keyboard(watched[0]) if interactive else nullcontext():
                return await running.run(_seconds(setup, options)), running

        with (
            Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else nullcontext() as live
        ):

            def watch(running: Cluster) -> None:
                line.show(in_short(running))
                if live is not None:
                    live.update(view.table(running, watched[0] if watched else None), refresh=True)

            try:
                return asyncio.run(main())
            except asyncio.CancelledError:
                raise ending.cause() from None


def _seconds(setup: Setup, options: dict[str, Any]) -> float:
    """Longest time of the run in seconds, by the option and by the scenario."""
    until_ms, seconds = setup.scenario.until_ms, float(options["seconds"])
    if until_ms == Scenario(algorithm="").until_ms:
        return seconds
    return min(seconds, max(0.1, until_ms * float(options["time_scale"]) / 1000))


def _show(found: Report, kind: str | None, options: dict[str, Any], missed: list[str], sizes: list[int]) -> None:
    if kind:
        print_diagram(found, kind, options["output"])
    if options["as_json"]:
        values = found.to_json()
        values["time_scale"] = options["time_scale"]
        values["resident_bytes"] = {"mean": round(fmean(sizes)), "most": max(sizes)} if sizes else None
        if options["scenario"]:
            values["unexpected"] = missed
        print_json(values)
        return
    if kind and kind != "text" and options["output"] is None:
        return  # only the picture, so that it can be piped
    print_report(found)
    click.echo(f"real processes: {len(found.trace.header.ids)}, times take {options['time_scale']:g} times as long")
    if sizes:
        click.echo(f"memory: {fmean(sizes) / 1e6:.1f} MB a node, at most {max(sizes) / 1e6:.1f} MB")
    for line in missed:
        click.echo(f"not as the scenario expects: {line}")
    for path in (options["output"], options["trace_file"]):
        if path:
            click.echo(f"wrote {path}")
