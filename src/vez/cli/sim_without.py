"""`vez sim ALGORITHM --without ASSUMPTION`: search for a run in which a guarantee breaks, and show it shortened."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.markup import escape

from vez.catalogue.load import load_algorithm
from vez.cli.app import settle
from vez.cli.parameters.ineffective_options import refuse_two_outputs
from vez.cli.parameters.option_checks import option
from vez.cli.printing.output import console, counted, diagram_format, print_diagram, print_json, write_file
from vez.cli.printing.progress import progress
from vez.cli.sim_sweep import shrunk_json
from vez.core.assumptions import Assumption
from vez.errors import Misuse
from vez.study.report import run_and_report
from vez.study.search import Break
from vez.study.shortest import Shortest
from vez.study.switches import SEEDS, shortest_break
from vez.worlds.sim.scenario import beside, dumps

_TAKEN = {
    "algorithm", "n", "parameters", "runs", "without", "shrink_to", "diagram", "output", "trace_file", "as_json",
}  # fmt: skip


def run_without(options: dict[str, Any]) -> int:
    """Search and report. Returns the exit code."""
    other = [name for name, value in options.items() if name not in _TAKEN and value not in (None, (), False)]
    if other:
        raise Misuse(
            f"--without chooses the faults itself, and {option(other[0])} would change them",
            hint="leave one of the two out",
        )
    if not options["algorithm"]:
        raise Misuse("which algorithm?", hint="give a name from `vez algorithms`")
    algorithm, seeds = load_algorithm(options["algorithm"]), options["runs"] or SEEDS
    kind = diagram_format(options["diagram"], options["output"])
    refuse_two_outputs(options, kind)
    with progress("seeds", seeds) as bar:
        done = 0

        def watch(tried: int) -> None:
            nonlocal done
            done = tried - 1
            bar.at(tried)

        pair, interrupted = None, False
        try:
            pair = shortest_break(
                algorithm,
                options["without"],
                n=options["n"],
                seeds=seeds,
                parameters=dict(options["parameters"]),
                progress=watch,
            )
        except KeyboardInterrupt:
            seeds, interrupted = done, True
    found, short = pair or (None, None)
    code = settle(broken=found is not None, interrupted=interrupted)
    _show(options, seeds, found, short, kind)
    if interrupted:
        click.echo(f"vez: interrupted after {counted(seeds, 'seed')}", err=True)
    return code


def _show(options: dict[str, Any], seeds: int, found: Break | None, short: Shortest | None, kind: str | None) -> None:
    files = {"shrunk": options["shrink_to"], "diagram": options["output"], "trace": options["trace_file"]}
    if found is None or short is None:
        files = {}
    else:
        scenario = short.scenario.but(algorithm=options["algorithm"])
        report = run_and_report(scenario, load_algorithm(scenario.algorithm))
        if kind or not (options["as_json"] or options["output"]):
            print_diagram(report, kind or "text", options["output"])
        if options["trace_file"]:
            write_file(options["trace_file"], report.trace.to_bytes())
        if options["shrink_to"]:
            comment = f"{scenario.algorithm} without {options['without']}: {found.property} is broken."
            comment += f"\n{textwrap.fill(short.words, 100)}"
            write_file(options["shrink_to"], dumps(beside(scenario, options["shrink_to"]), comment))
    if options["as_json"]:
        print_json(_json(options, seeds, found, short, {name: str(path) for name, path in files.items() if path}))
    elif kind in (None, "text") or options["output"]:
        _print(options, seeds, found, short, [path for path in files.values() if path])


def _print(options: dict[str, Any], seeds: int, found: Break | None, short: Shortest | None, files: list[Path]) -> None:
    out, name = console(), f"[bold]{escape(options['algorithm'])}[/] without {options['without']}"
    meaning = Assumption(options["without"]).meaning
    if found is None or short is None:
        out.print(f"{name} ({meaning}): [green]no guarantee broken in {seeds:,} seeds[/]; that is no proof")
        return
    tried = f"seed {found.seed}, the {_ordinal(found.tried)} tried"
    out.print(f"{name} ({meaning}): [bold red]{found.property} broken[/] ({tried})")
    out.print(f"there: {escape(found.evidence)}")
    out.print(escape(short.words))
    for path in files:
        click.echo(f"wrote {path}")


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _json(
    options: dict[str, Any], seeds: int, found: Break | None, short: Shortest | None, files: dict[str, str]
) -> dict[str, Any]:
    return {
        "algorithm": options["algorithm"],
        "without": options["without"],
        "seeds": seeds if found is None else found.tried,
        "broken": found.property if found else None,
        "seed": found.seed if found else None,
        "evidence": found.evidence if found else "",
        "scenario": _scenario_json(options, short) if short else None,
        "shrunk": shrunk_json(short),
        "files": files,
    }


def _scenario_json(options: dict[str, Any], short: Shortest) -> Any:
    return msgspec.to_builtins(short.scenario.but(algorithm=options["algorithm"]), str_keys=True)
