"""The search of `vez check`: the question from the options, and the result as text, files and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.markup import escape

from vez.catalogue.load import load_algorithm
from vez.cli.app import settle
from vez.cli.check_progress import expectation, state_of
from vez.cli.parameters.ineffective_options import refuse_for_check, refuse_two_outputs
from vez.cli.printing.language import in_words, language
from vez.cli.printing.output import (
    console,
    counted,
    diagram_format,
    print_diagram,
    print_json,
    print_verdicts,
    write_file,
)
from vez.cli.printing.progress import Line
from vez.cli.printing.without_numpy import Note
from vez.core.process import Process, name_of
from vez.errors import Misuse
from vez.judge.words import Sentence, property_name, said
from vez.study.report import report as report_run
from vez.worlds.check import Budget, Configuration, Counterexample, Limits, Progress, Report, check
from vez.worlds.check.checker import BUG, properties_of
from vez.worlds.check.liveness.lassos import LIVENESS
from vez.worlds.check.model.configuration import BUDGETS, FOREVER, default_requests
from vez.worlds.check.search import INTERRUPTED
from vez.worlds.check.search.limits import FIRST, RAISED
from vez.worlds.sim.scenario import Network, Scenario, beside, dumps


def check_algorithm(options: dict[str, Any]) -> int:
    """Search and report. Returns the exit code."""
    refuse_two_outputs(options, diagram_format(options["diagram"], options["output"]))  # before the search
    limits = Limits(options["max_states"], options["max_memory"], whole_process=True)
    note = Note()
    with Line("preparing the search"):
        configuration = _configuration(options)
    with Line(expectation(configuration, options, limits)) as line:

        def watch(now: Progress) -> None:
            note.tell(now.states)
            line.show(state_of(now))

        found = check(
            configuration,
            tuple(options["properties"]),
            limits=limits,
            first=options["first"],
            reduce=options["reduce"],
            symmetry=options["symmetry"],
            workers=options["jobs"] or 0,
            watch=watch,
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
    """The exit code. A broken property counts if it was promised. An undecided one always counts, because the search
    was meant to decide it. A promised property that a reduction prevented from being judged counts as undecided."""
    promises = any(verdict.promised for verdict in found.verdicts if verdict.name in found.broken)
    return settle(
        broken=promises or bool(found.bugs),
        undecided=found.undecided,
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
        partition=(*options["partition"], *options["cut"]),
        network=Network(fifo=options["fifo"]),
    )
    algorithm = load_algorithm(scenario.algorithm)
    refuse_for_check(options, algorithm, scenario.algorithm)
    _refuse_times(options)
    budget = Budget(**{name: options[name] for name in BUDGETS})
    for name, value in options["bound"]:
        if not isinstance(value, int):
            raise Misuse(f"--bound {name}={value}: expected a whole number")
    configuration = Configuration(
        scenario,
        algorithm,
        requests=_requests(options, algorithm, faults=any(budget.counts()) or bool(options["without"])),
        budget=budget,
        timeouts=options["timeouts"],
        amnesia=options["amnesia"],
        without=options["without"],
        bounds=dict(options["bound"]),
        capacity=options["capacity"],
        victims=options["victims"] or (),
        longest_delay_ms=options["longest_delay"],
        drift=options["drift"],
    )
    if options["first"] and all(name in LIVENESS for name in properties_of(configuration, options["properties"])):
        raise Misuse("--first is for safety properties, and none is judged", hint="leave --first out")
    if budget.mistakes and not configuration.detector:
        name = name_of(configuration.algorithm)
        raise Misuse(f"{name} listens to no failure detector, so that none can mislead it", hint="leave --mistakes out")
    return configuration


def _requests(options: dict[str, Any], algorithm: type[Process], *, faults: bool) -> int:
    """The number of requests of each process."""
    requests = options["requests"]
    if requests is None:
        reduced = options["reduce"] or options["symmetry"]
        return default_requests(algorithm, tuple(options["properties"]), faults=faults, reduced=reduced)
    if requests == "forever":
        return FOREVER
    if not requests.isdigit():
        raise Misuse(f"--requests {requests!r}: expected a number or `forever`")
    return int(requests)


def _refuse_times(options: dict[str, Any]) -> None:
    """Refuse options with times, because the checker tries every moment and every length of a stay."""
    for partition in (*options["partition"], *options["cut"]):
        if partition.at_ms or partition.until_ms is not None:
            raise Misuse("the checker cuts and heals at every time, so a time has no effect", hint="leave @MS..MS out")
    for option in ("want", "elect"):
        for asked in options[option]:
            if asked != type(asked)(process=asked.process):
                raise Misuse(
                    f"--{option}: the checker tries every time, so a time has no effect",
                    hint=f"give the process alone, --{option} {asked.process}; --withdrawals N lets N stop waiting",
                )


def _shown(found: Report) -> tuple[str, Counterexample] | None:
    """The counterexample to draw: first that of a promised property, then that of a bug, then any other; among equals
    the first in the table."""
    names = [verdict.name for verdict in found.verdicts if verdict.promised]
    for name in (*names, BUG, *(verdict.name for verdict in found.verdicts)):
        if name in found.counterexamples:
            return name, found.counterexamples[name]
    return None


def _write(example: tuple[str, Counterexample] | None, options: dict[str, Any]) -> dict[str, Path]:
    if example is None:
        return {}
    name, run = example
    files: dict[str, Path] = {}
    if options["save_scenario"]:
        path = files["scenario"] = options["save_scenario"]
        what = "to a bug" if name == BUG else f"in which {name} is broken"
        which = str(_which(run, options)).capitalize()
        comment = f"{which} {what}. See it:\n    vez sim --scenario {path.name} --diagram text"
        write_file(path, dumps(beside(run.scenario, path), comment))
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
    out.print(f"[bold]{escape(found.algorithm)}[/]  {escape(found.setting.told(language()))}")
    rate, each = found.transitions / found.seconds if found.seconds else 0, found.bytes_per_state
    spoken = language()
    whole = in_words("all explored", "tudo explorado")
    if found.stop is not None:
        whole = f"[yellow]{in_words('stopped', 'parada')} {found.stop.told(spoken)}[/]"
    out.print(
        in_words(
            f"{counted(found.states, 'state')}, {counted(found.transitions, 'transition')}, depth {found.depth}, "
            f"{whole} in {found.seconds:.2f} s ({rate:,.0f} transitions/s, {each:.0f} bytes a stored state)",
            f"{counted(found.states, 'estado')}, {counted(found.transitions, 'passo')}, profundidade {found.depth}, "
            f"{whole} em {found.seconds:.2f} s ({rate:,.0f} passos/s, {each:.0f} bytes por estado guardado)",
        )
    )
    if found.abstraction:
        out.print(f"[dim]{in_words('abstracted', 'abstraído')}: {found.abstraction}[/]")
    for text in found.bugs:
        out.print(f"[bold red]bug:[/] {escape(text)}")
    print_verdicts(out, found.verdicts)
    if found.undecided and found.stop is not None and found.stopped != INTERRUPTED:
        out.print(f"[dim]{_next_step(found.stop)}[/]")
    if found.on_request:
        asked = " ".join(f"--property {name}" for name in found.on_request)
        before = in_words("promised, but judged only on request", "prometida, mas julgada só a pedido")
        out.print(f"[dim]{before}: {', '.join(found.on_request)} ({asked})[/]")
    if found.never_ran:
        before = in_words(
            "never ran in these states, so not checked", "sem execução nestes estados, logo sem verificação"
        )
        out.print(f"[dim]{before}: {', '.join(found.never_ran)}[/]")
    if found.fairness:
        happens = ", ".join(words.told(spoken) for words in found.fairness)
        before = in_words("fairness: in the end", "justiça: no fim,")
        after = in_words("requests and faults may never happen", "pedidos e falhas podem nunca acontecer")
        out.print(f"[dim]{before} {happens}; {after}[/]")
    if example is not None:
        _print_run(*example, _which(example[1], options))
    for path in files.values():
        out.print(f"wrote {path}", soft_wrap=True)
    if example is None and any(options[name] for name in ("output", "save_scenario", "trace_file")):
        out.print(in_words("nothing is broken: no file was written", "nada é violado: nenhum arquivo foi escrito"))


def _next_step(stop: Sentence) -> str:
    """What to do after a search that stopped early for this reason."""
    if stop == RAISED:
        return in_words(
            "next: repair the handler that raises, then check again",
            "a seguir: corrija o tratador que lança a exceção, depois verifique de novo",
        )
    if stop == FIRST:
        return in_words(
            "next: leave --first out to judge all properties",
            "a seguir: sem --first, todas as propriedades são julgadas",
        )
    return in_words(
        "next: fewer processes, requests or faults, --reduce, --symmetry, or a larger --max-states or --max-memory",
        "a seguir: menos processos, pedidos ou falhas, --reduce, --symmetry, ou --max-states ou --max-memory maior",
    )


def _which(run: Counterexample, options: dict[str, Any]) -> Sentence:
    """The words that say whether the run is the shortest. A breadth-first search finds the shortest run. With a
    reduction the shortest run may be missing, and for loops any run is enough."""
    if options["reduce"] or run.path.loop is not None:
        return said("a_run")
    timed = any(step.kind == "advance" for step in run.path.steps)
    return said("the_shortest_run_with_ticks" if timed else "the_shortest_run")


def _heading(name: str, run: Counterexample, which: Sentence) -> Sentence:
    bold = f"[bold]{name if language() == 'en' else property_name(name, language())}[/]"
    if not run.steps:
        return said("bug_at_the_start") if name == BUG else said("broken_at_the_start", name=bold)
    repeated = said("no_loop" if run.path.loop is None else "then_a_loop")
    if name == BUG:
        return said("run_to_the_bug", which=which, steps=run.steps, repeated=repeated)
    return said("run_that_breaks", which=which, name=bold, steps=run.steps, repeated=repeated)


def _print_run(name: str, run: Counterexample, which: Sentence) -> None:
    out, spoken = console(), language()
    out.print(_heading(name, run, which).told(spoken))
    for words in run.sentences_at_start:
        out.print(f"          {escape(words.told(spoken))}")
    for_ever, no_way_back = (said(key).told(spoken) for key in ("from_here_for_ever", "no_way_back"))
    place = passed_us = 0
    for number, step in enumerate(run.path.steps):
        if number == run.path.loop:
            out.print(f"[dim]   ┌ {for_ever}[/]")
        if run.path.no_return == number and number:
            out.print(f"[dim]   ─ {no_way_back}[/]")
        mark = "│" if run.path.loop is not None and number >= run.path.loop else " "
        if step.kind != "advance":
            place += 1
            out.print(f"   {mark} {place:3}  {escape(run.sentences[number].told(spoken))}")
            continue
        passed_us += step.detail
        if not _goes_on(run, number):
            out.print(f"   {mark}      {said('time_passes', ms=passed_us / 1000).told(spoken)}")
            passed_us = 0


def _goes_on(run: Counterexample, number: int) -> bool:
    """True if the next step is another tick, and nothing is printed between the two."""
    steps, following = run.path.steps, number + 1
    last = following == len(steps) or following in (run.path.loop, run.path.no_return)
    return not last and steps[following].kind == "advance"


def to_json(found: Report, files: dict[str, Path]) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "algorithm": found.algorithm,
        "configuration": found.configuration,
        "abstraction": found.abstraction,
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "ends": found.ends,
        "seconds": round(found.seconds, 3),
        "bytes_per_state": round(found.bytes_per_state, 1),
        "complete": not found.stopped,
        "stopped": found.stopped,
        "bugs": found.bugs,
        "on_request": found.on_request,
        "never_ran": found.never_ran,
        "fairness": [str(words) for words in found.fairness],
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
                "start": list(run.start),
                "steps": list(run.words),
                "loop": run.path.loop,
                "no_return": run.path.no_return,
                "scenario": run.scenario,
            }
            for name, run in found.counterexamples.items()
        },
        "files": {name: str(path) for name, path in files.items()},
    }
