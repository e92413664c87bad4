"""`vez sim`: run an algorithm in virtual time, judge it, measure it, draw it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from vez import draw
from vez.catalogue.load import load_algorithm
from vez.cli.app import settle
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
from vez.cli.parameters.ineffective_options import refuse_for_sim, refuse_two_outputs, say_drift_without_effect
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, given
from vez.cli.printing.output import (
    console,
    counted,
    diagram_format,
    print_diagram,
    print_json,
    print_report,
    write_file,
)
from vez.cli.printing.progress import Line
from vez.cli.sim_scenario import SWEEP_DELAY, build_scenario
from vez.cli.sim_sweep import run_sweep, shrunk_json
from vez.cli.sim_without import run_without
from vez.core.assumptions import Assumption, Property
from vez.core.process import Process
from vez.core.topology import TOPOLOGIES
from vez.errors import ProtocolBug
from vez.study.report import Report, report_run, unmet_expectations
from vez.study.report import report as judged
from vez.study.shortest import Shortest, shortest
from vez.worlds.sim import Progress, simulate
from vez.worlds.sim.delays import US
from vez.worlds.sim.scenario import DETECTORS, Expect, Scenario, beside, dumps
from vez.worlds.sim.setup import DEFAULT_N


class SimCommand(click.Command):
    """Remembers the typed arguments, so that a sweep can print the command for one of its seeds."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["vez.typed"] = list(args)
        return super().parse_args(ctx, args)


@click.command(cls=SimCommand, short_help="Run an algorithm in virtual time.")
@click.argument("algorithm", required=False, shell_complete=complete_algorithm)
@click.option("-n", type=click.IntRange(1), metavar="N", help="Number of processes, numbered 1 to N.  [default: 5]")
@click.option("--ids", type=IDS, help="Identifiers of the processes, in ring order, instead of -n.")
@click.option("--topology", type=click.Choice(sorted(TOPOLOGIES)), help="Topology, if not the algorithm's own.")
@click.option("--edges", type=EDGES, help="Channels of a graph: 1-2,2-3.")
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter of the algorithm: lease_ms=5.")
@click.option(
    "--scenario", type=click.Path(path_type=Path), help="Read a scenario file (TOML); the other options change it."
)
@click.option("--seed", type=int, metavar="N", help="Decides everything random.  [default: 0]")
@click.option("--until", type=Number(0), metavar="MS", help="Stop at this virtual time, in ms.  [default: 1000]")
@click.option(
    "--delay",
    type=DELAY,
    help="Delay of a message in ms: 1, uniform(0.5,1.5), exponential(1), lognormal(1,0.5), pareto(0.5,2).",
)
@click.option(
    "--fifo/--no-fifo", default=None, help="Deliver in order, or in any order.  [default: as the algorithm assumes]"
)
@click.option("--loss", type=Number(0, 1), metavar="P", help="Chance that a message is lost.")
@click.option("--duplicate", type=Number(0, 1), metavar="P", help="Chance that a message arrives twice.")
@click.option("--reorder", type=Number(0, 1), metavar="P", help="Chance that later messages overtake a message.")
@click.option("--requests", type=click.IntRange(0), metavar="N", help="Mutex: requests of each process.  [default: 2]")
@click.option("--think", type=DELAY, help="Mutex: time before each request.  [default: uniform(0, 20)]")
@click.option("--inside", type=DELAY, help="Mutex: time in the critical section.  [default: uniform(1, 3)]")
@click.option("--wait", type=DELAY, help="Mutex: a waiter gives up after this time.  [default: never]")
@click.option(
    "--want",
    type=WANT,
    multiple=True,
    help="Mutex: 2@0+3: process 2 asks at 0 ms and stays 3 ms; 2@0+3..5: and gives up at 5 ms.",
)
@click.option(
    "--elect", type=ELECT, multiple=True, help="Election: 2@5: process 2 starts one at 5 ms.  [default: all at 0]"
)
@click.option(
    "--crash",
    type=CRASH,
    multiple=True,
    help="3@7: process 3 crashes at 7 ms; 3@7..15: and recovers; 3@7..15:amnesia: without memory; 3@7:after=2: inside "
    "a handler, after 2 actions.",
)
@click.option("--pause", type=PAUSE, multiple=True, help="2@5+10: process 2 is paused at 5 ms for 10 ms.")
@click.option(
    "--partition", type=PARTITION, multiple=True, help="1,2|3@5..20: no messages between the two sides from 5 to 20 ms."
)
@click.option("--cut", type=CUT, multiple=True, help="1>2@5..20: no messages from 1 to 2 from 5 to 20 ms.")
@click.option("--drift", type=DRIFT, multiple=True, help="2=1.5: process 2's timers take 1.5 times as long.")
@click.option("--suspect", type=SUSPECT, multiple=True, help="1:3@5..9: process 1 wrongly suspects 3 from 5 to 9 ms.")
@click.option(
    "--detector",
    type=click.Choice(DETECTORS),
    help="Failure detector; all but the first two can be wrong.  [default: perfect]",
)
@click.option("--crashes", type=click.IntRange(0), metavar="N", help="Number of random crashes.")
@click.option(
    "--recoveries",
    type=click.IntRange(0),
    metavar="N",
    help="Number of random crashes that are followed by a recovery.",
)
@click.option("--pauses", type=click.IntRange(0), metavar="N", help="Number of random pauses.")
@click.option("--partitions", type=click.IntRange(0), metavar="N", help="Number of random partitions.")
@click.option(
    "--within",
    type=Number(0),
    metavar="MS",
    help="Random faults begin within this time, in ms.  [default: while the run without them is active]",
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    help=f"Run N seeds and count what breaks; --delay is then {SWEEP_DELAY} by default.",
)
@click.option(
    "--without",
    type=click.Choice([str(assumption) for assumption in Assumption]),
    metavar="ASSUMPTION",
    help=f"Turn an assumption off, and search --runs seeds for a broken guarantee: {', '.join(Assumption)}.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Cores for --runs.  [default: all]")
@click.option(
    "--shrink",
    "shrink_to",
    type=OutputFile(),
    help="Shorten a run that breaks a property, and write it to this scenario file.",
)
@click.option("--diagram", type=click.Choice(sorted(draw.FORMATS)), help="Draw the run.")
@click.option("-o", "--output", type=OutputFile(), help="Write the picture to this file: .txt, .mmd, .svg or .html.")
@click.option("--trace", "trace_file", type=OutputFile(), help="Write the trace of the run, which `vez show` reads.")
@click.option("--debug", is_flag=True, help="Run every handler again and refuse those that are not deterministic.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def sim(context: click.Context, /, **options: Any) -> int:
    """Run ALGORITHM in virtual time, then judge, measure and draw the run.

    ALGORITHM is a name from `vez algorithms`, or a class of your own: path/to/file.py:Class. The same
    options and seed give the same run on any machine.

    Exit codes: 0 nothing promised is broken, 1 a promised property is broken (or a scenario did not end as it
    expects), 2 undecided (the run ended too early to judge a promised property), 130 interrupted.

    \b
      vez sim ricart-agrawala -n 4 --diagram text
      vez sim coordinator-lease --want 2@0+30 -o slow.html
      vez sim bully -n 5 --crash 5@20
      vez sim token-ring --runs 1000 --crashes 1
      vez sim lamport --without fifo
    """
    if options["without"]:
        return run_without(options)
    scenario = build_scenario(options)
    algorithm = load_algorithm(scenario.algorithm)
    refuse_for_sim(options, scenario, algorithm)
    if options["runs"]:
        typed = context.meta["vez.typed"]
        return run_sweep(scenario, options, typed, lambda failing, broken: _shrink(failing, broken, options))
    kind = diagram_format(options["diagram"], options["output"])
    refuse_two_outputs(options, kind)
    try:
        report = _run(scenario, algorithm, debug=options["debug"])
    except ProtocolBug as error:
        return _show_exception(scenario, error, kind, options)
    interrupted = report.trace.header.end == "interrupted"
    if given("drift") and not interrupted:
        say_drift_without_effect(scenario, report.trace)
    missed = [] if interrupted else unmet_expectations(scenario.expect, report)
    if interrupted:
        code = settle(broken=report.breaks_promise, interrupted=True)
    elif scenario.expect != Expect():
        code = settle(broken=bool(missed))
    else:
        code = settle(broken=report.breaks_promise, undecided=report.promise_open)
    if options["trace_file"]:
        write_file(options["trace_file"], report.trace.to_bytes())
    broken = next((verdict.name for verdict in report.broken if verdict.promised), None)
    shrunk = None
    if options["shrink_to"] and not interrupted:
        shrunk = _shrink(scenario, broken or next((verdict.name for verdict in report.broken), None), options)
    _show(report, kind, options, missed, shrunk)
    return code


def _show_exception(scenario: Scenario, error: ProtocolBug, kind: str | None, options: dict[str, Any]) -> int:
    """Show the run up to an exception of a handler. Raise it again unless the scenario expects it."""
    expected = Property.NO_EXCEPTIONS in scenario.expect.broken
    if error.trace is None or not (expected or kind or options["trace_file"]):
        raise error
    found = judged(error.trace)
    missed = unmet_expectations(scenario.expect, found)
    code = settle(broken=bool(missed)) if expected else 0
    if options["trace_file"]:
        write_file(options["trace_file"], found.trace.to_bytes())
    _show(found, kind, options, missed, None)
    if not expected:
        raise error
    return code


def _run(scenario: Scenario, algorithm: type[Process], *, debug: bool) -> Report:
    """Run and judge, with a status line if it takes long. An interrupted run is judged up to the interruption."""
    name = scenario.algorithm
    with Line(f"{name}: simulating {counted(len(scenario.ids) or scenario.n or DEFAULT_N, 'process')}") as line:

        def show(progress: Progress) -> None:
            counts = f"{progress.steps:,} of at most {scenario.max_events:,} events, {progress.messages:,} messages"
            line.show(f"{name}: {progress.at_ms:,.0f} ms of virtual time, {counts}")

        run = simulate(scenario, algorithm, debug=debug, watch=show)
    if run.end == "interrupted":
        counts = f"{run.ended_at / US:,.0f} ms of virtual time, {counted(sum(run.messages.values()), 'message')}"
        click.echo(f"vez: interrupted after {counts}; judging the run so far (Ctrl-C ends that too)", err=True)
    with Line(f"{name}: judging"):
        return report_run(run)


def _show(
    report: Report, kind: str | None, options: dict[str, Any], missed: list[str], shrunk: Shortest | None
) -> None:
    output: Path | None = options["output"]
    if kind:
        print_diagram(report, kind, output)
    if options["as_json"]:
        found = report.to_json()
        files = {"diagram": output, "trace": options["trace_file"], "shrunk": shrunk and options["shrink_to"]}
        found["files"] = {name: str(path) for name, path in files.items() if path}
        found["unexpected"] = missed
        found["shrunk"] = shrunk_json(shrunk)
        print_json(found)
        return
    if kind and kind != "text" and output is None:
        return  # only the picture, so that it can be piped
    print_report(report)
    out = console()
    for line in missed:
        out.print(f"[bold red]not as expected:[/] {escape(line)}")
    for path in (output, options["trace_file"], shrunk and options["shrink_to"]):
        if path:
            click.echo(f"wrote {path}")
    if shrunk:
        out.print(escape(shrunk.words))


def _shrink(scenario: Scenario, broken: str | None, options: dict[str, Any]) -> Shortest | None:
    """Shorten the broken run and write it. None, and no file, if nothing is broken."""
    if broken is None:
        click.echo("vez: nothing is broken, so there is nothing to shrink", err=True)
        return None
    path: Path = options["shrink_to"]
    with Line(f"{scenario.algorithm}: shrinking"):
        short = shortest(scenario, load_algorithm(scenario.algorithm), broken)
    comment = f"A short run in which {broken} is broken, from seed {scenario.seed}. See it:"
    comment += f"\n    vez sim --scenario {path.name} --diagram text\n{textwrap.fill(short.words, 100)}"
    write_file(path, dumps(beside(short.scenario, path), comment))
    return short
