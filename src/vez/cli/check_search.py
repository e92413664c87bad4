"""The search of `vez check`: the question from the options, and what was found as text, files and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.markup import escape

from vez.check import Budget, Configuration, Counterexample, Limits, Progress, Report, check
from vez.check.checker import properties_of
from vez.check.liveness.lassos import LIVENESS
from vez.check.model.configuration import FOREVER
from vez.check.search import INTERRUPTED
from vez.cli.app import settle
from vez.cli.effect import refuse_for_check, refuse_two_outputs
from vez.cli.output import console, diagram_format, print_diagram, print_json, print_verdicts, write_file
from vez.cli.progress import Line
from vez.errors import Misuse
from vez.properties import Status
from vez.sim.scenario import Network, Scenario, dumps
from vez.study import load_algorithm
from vez.study.report import report as report_run


def check_algorithm(options: dict[str, Any]) -> int:
    """Search, report, and give the exit code."""
    refuse_two_outputs(options, diagram_format(options["diagram"], options["output"]))  # before the search
    configuration = _configuration(options)
    limits = Limits(options["max_states"], options["max_memory"])
    with Line() as line:
        found = check(
            configuration,
            tuple(options["properties"]),
            limits=limits,
            first=options["first"],
            reduce=options["reduce"],
            symmetry=options["symmetry"],
            workers=options["jobs"] or 0,
            watch=lambda progress: line.show(_progress(progress)),
        )
    code = _settled(found)
    example = _shown(found)
    files = _write(example, options)
    if options["as_json"]:
        print_json(to_json(found, files))
    else:
        _print(found, example, options, files)
    return code


def _settled(found: Report) -> int:
    """Broken counts where it was promised; undecided always, since the search was to decide it."""
    promises = any(verdict.promised for verdict in found.verdicts if verdict.name in found.broken)
    return settle(
        broken=promises or bool(found.bugs),
        undecided=any(verdict.status is Status.UNDECIDED for verdict in found.verdicts),
        interrupted=found.stopped == INTERRUPTED,
    )


def _configuration(options: dict[str, Any]) -> Configuration:
    scenario = Scenario(
        algorithm=options["algorithm"],
        n=options["n"],
        ids=options["ids"] or (),
        topology=options["topology"],
        edges=options["edges"] or (),
        parameters=dict(options["parameters"]),
        want=options["want"],
        elect=options["elect"],
        network=Network(fifo=options["fifo"]),
    )
    algorithm = load_algorithm(scenario.algorithm)
    refuse_for_check(options, algorithm, scenario.algorithm)
    _refuse_times(options)
    requests = options["requests"]
    if requests != "forever" and not requests.isdigit():
        raise Misuse(f"--requests {requests!r}: expected a number or `forever`")
    names = ("crashes", "recoveries", "losses", "duplicates", "mistakes", "withdrawals")
    budget = Budget(**{name: options[name] for name in names})
    for name, value in options["bound"]:
        if not isinstance(value, int):
            raise Misuse(f"--bound {name}={value}: expected a whole number")
    configuration = Configuration(
        scenario,
        algorithm,
        requests=FOREVER if requests == "forever" else int(requests),
        budget=budget,
        timeouts=options["timeouts"],
        amnesia=options["amnesia"],
        without=options["without"],
        bounds=dict(options["bound"]),
        capacity=options["capacity"],
        victims=options["victims"] or (),
    )
    if options["first"] and all(name in LIVENESS for name in properties_of(configuration, options["properties"])):
        raise Misuse("--first is for safety properties, and none is judged", hint="leave --first out")
    if budget.mistakes and not configuration.detector:
        name = configuration.algorithm.name
        raise Misuse(f"{name} listens to no failure detector, so that none can mislead it", hint="leave --mistakes out")
    return configuration


def _refuse_times(options: dict[str, Any]) -> None:
    """The checker tries every moment and every length of a stay."""
    for option in ("want", "elect"):
        for asked in options[option]:
            if asked != type(asked)(process=asked.process):
                raise Misuse(
                    f"--{option}: the checker tries every time, so a time has no effect",
                    hint=f"give the process alone, --{option} {asked.process}; --withdrawals N lets N stop waiting",
                )


def _progress(now: Progress) -> str:
    rate = now.transitions / now.seconds if now.seconds else 0
    return (
        f"{now.states:,} states, {rate:,.0f} transitions/s, depth {now.depth}, "
        f"queue {now.queue:,}, {now.memory >> 20:,} MiB"
    )


def _shown(found: Report) -> tuple[str, Counterexample] | None:
    """The counterexample to draw: a promised property's before another's, then the first in the table."""
    order = sorted(found.verdicts, key=lambda verdict: not verdict.promised)
    for verdict in order:
        if verdict.name in found.counterexamples:
            return verdict.name, found.counterexamples[verdict.name]
    return None


def _write(example: tuple[str, Counterexample] | None, options: dict[str, Any]) -> dict[str, Path]:
    if example is None:
        return {}
    name, run = example
    files: dict[str, Path] = {}
    if options["save_scenario"]:
        path = files["scenario"] = options["save_scenario"]
        comment = (
            f"{_which(run, options).capitalize()} in which {name} is broken. See it:\n"
            f"    vez sim --scenario {path.name} --diagram text"
        )
        write_file(path, dumps(run.scenario, comment))
    if options["trace_file"]:
        files["trace"] = options["trace_file"]
        write_file(options["trace_file"], run.trace.to_bytes())
    if options["output"]:
        kind = diagram_format(options["diagram"], options["output"])
        files["diagram"] = options["output"]
        print_diagram(report_run(run.trace), kind or "text", options["output"])
    return files


def _print(
    found: Report, example: tuple[str, Counterexample] | None, options: dict[str, Any], files: dict[str, Path]
) -> None:
    out = console()
    if options["diagram"] and not options["output"] and example is not None:
        print_diagram(report_run(example[1].trace), options["diagram"], None)
        if options["diagram"] != "text":
            return
    out.print(f"[bold]{escape(found.algorithm)}[/]  {found.configuration}")
    rate = found.transitions / found.seconds if found.seconds else 0
    whole = "all explored" if not found.stopped else f"[yellow]stopped {found.stopped}[/]"
    out.print(
        f"{found.states:,} states, {found.transitions:,} transitions, depth {found.depth}, {whole} in "
        f"{found.seconds:.2f} s ({rate:,.0f} transitions/s, {found.bytes_per_state:.0f} bytes a state)"
    )
    for text in found.bugs:
        out.print(f"[bold red]bug:[/] {escape(text)}")
    print_verdicts(out, found.verdicts)
    if found.never_ran:
        out.print(f"[dim]never ran in these states, so not checked: {', '.join(found.never_ran)}[/]")
    if example is not None:
        _print_run(*example, _which(example[1], options))
    for path in files.values():
        out.print(f"wrote {path}", soft_wrap=True)
    if example is None and any(options[name] for name in ("output", "save_scenario", "trace_file")):
        out.print("nothing is broken: no file was written")


def _which(run: Counterexample, options: dict[str, Any]) -> str:
    """Breadth first finds the shortest; among fewer interleavings it need not be there, and of loops one is enough."""
    return "a run" if options["reduce"] or run.path.loop is not None else "the shortest run"


def _print_run(name: str, run: Counterexample, which: str) -> None:
    out = console()
    repeated = ", then round in a loop" if run.path.loop is not None else ""
    steps = f"{run.steps} step{'s' * (run.steps != 1)}"
    out.print(f"{which} in which [bold]{name}[/] is broken, {steps}{repeated}:")
    place = 0
    for number, step in enumerate(run.path.steps):
        if number == run.path.loop:
            out.print("[dim]   ┌ from here on for ever[/]")
        if run.path.no_return == number and number:
            out.print("[dim]   ─ no way back from here: every continuation fails[/]")
        place += step.kind != "advance"
        mark = "│" if run.path.loop is not None and number >= run.path.loop else " "
        out.print(f"   {mark} {place:3}  {escape(run.words[number])}")


def to_json(found: Report, files: dict[str, Path]) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "algorithm": found.algorithm,
        "configuration": found.configuration,
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "ends": found.ends,
        "seconds": round(found.seconds, 3),
        "bytes_per_state": round(found.bytes_per_state, 1),
        "complete": not found.stopped,
        "stopped": found.stopped,
        "bugs": found.bugs,
        "never_ran": found.never_ran,
        "properties": {
            verdict.name: {
                "verdict": verdict.words,
                "status": verdict.status,
                "evidence": verdict.evidence,
                "promised": verdict.promised,
            }
            for verdict in found.verdicts
        },
        "counterexamples": {
            name: {
                "steps": list(run.words),
                "loop": run.path.loop,
                "no_return": run.path.no_return,
                "scenario": run.scenario,
            }
            for name, run in found.counterexamples.items()
        },
        "files": {name: str(path) for name, path in files.items()},
    }
