"""A program of threads on real threads: its printed lines, whether its claim holds, and its picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from vez.cli.app import settle
from vez.cli.parameters.thread_programs import load_program
from vez.cli.printing.language import in_words, language
from vez.cli.printing.output import SUFFIXES, console, print_json, write_file
from vez.cli.printing.tables import Column, print_table
from vez.errors import VezError
from vez.judge.words.threads import threads_words
from vez.threads import Program
from vez.threads.deadlock import wait_for_lines
from vez.threads.programs import LESSONS
from vez.threads.real import Outcome, run
from vez.threads.recording import Recorder, Recording
from vez.worlds.sim.blame import blame_function

Settings = Mapping[str, Any]
RESULTS = ("future", "invoke")
"""Programs whose last line is a result."""


class Lines:
    """Prints the lines of threads as they come; if there are many, only the first and the last ones."""

    MOST, LAST = 400, 10

    def __init__(self, *, silent: bool, everything: bool) -> None:
        self.silent, self.everything = silent, everything
        self.count = 0
        self.last: list[str] = []

    def __call__(self, thread: str, line: str) -> None:
        self.count += 1
        if self.silent:
            return
        if self.everything or self.count <= self.MOST:
            click.echo(f"{thread}: {line}")
        else:
            self.last = [*self.last[-self.LAST + 1 :], f"{thread}: {line}"]

    def finish(self) -> None:
        """Print the last lines, if some were left out."""
        hidden = self.count - self.MOST - len(self.last)
        if self.last and hidden > 0:
            click.echo(f"… {hidden:,} lines more (--all prints them)")
        for line in self.last:
            click.echo(line)


def run_program(name: str, settings: dict[str, Any], options: dict[str, Any]) -> int:
    """Run a program once, or with each of its settings; print and draw. Returns the exit code."""
    lesson = LESSONS.get(name)
    if lesson is not None and lesson.compared and not settings:
        return _compare(name, lesson.compared, options)
    program, outcome = _run(name, {**(lesson.real if lesson else {}), **settings}, options)
    kept = outcome.finished and as_claimed(program, outcome)
    missing = lesson.missing(settings) if lesson is not None else {}
    code = _settle([(kept, not missing, outcome)])
    verdict = _verdict(name, program, outcome, kept)
    if options["as_json"]:
        print_json(
            {"program": name, "kept": kept, "promised": not missing, **_plain(outcome), **_of_ring(name, outcome),
             **result_time(name, outcome)}
        )  # fmt: skip
    else:
        _print(name, outcome, kept, missing, verdict)
    if options["output"]:
        draw_recordings(
            options["output"], name, [("", outcome.recording)], verdict, broken=not kept, quiet=options["as_json"]
        )
    return code


def _settle(runs: Sequence[tuple[bool, bool, Outcome]]) -> int:
    """The exit code for runs: of each, whether its claim was kept, and whether it was promised. What is not promised
    may end in either way. A promised run that was stopped before its end is undecided, unless it was in a deadlock."""
    failed = [outcome for kept, promised, outcome in runs if promised and not kept]
    ended = [outcome for outcome in failed if outcome.finished or outcome.deadlock]
    return settle(broken=bool(ended), undecided=len(ended) < len(failed))


def _run(name: str, settings: Settings, options: dict[str, Any], *, silent: bool = False) -> tuple[Program, Outcome]:
    program = load_program(name, dict(settings))
    lines = Lines(silent=silent or options["as_json"], everything=options["all_lines"])
    lesson = LESSONS.get(name)
    patience = options["patience"] or (lesson.patience_s if lesson else 60.0)
    recorder = Recorder(lines, deeds=options["output"] is not None)
    outcome = run(program, switch_us=options["switch"], patience_s=patience, scale=options["sleep"], recorder=recorder)
    lines.finish()
    if isinstance(outcome.failure, VezError):  # a mistake of the program, with the checker's text
        raise outcome.failure
    if outcome.failure is not None:
        body = next(iter(program.threads.values()))
        raise blame_function(outcome.failure, body, "on a real thread") from outcome.failure
    return program, outcome


def as_claimed(program: Program, outcome: Outcome) -> bool:
    """True if the claim of the program holds at the end of the run."""
    try:
        return program.at_end is None or bool(program.at_end(outcome.memory))
    except (Exception, SystemExit) as error:
        raise blame_function(error, program.at_end, "in at_end") from error


def _verdict(name: str, program: Program, outcome: Outcome, kept: bool) -> str:
    """The end of a run in a sentence."""
    if outcome.deadlock:
        stuck = ", ".join(outcome.deadlock)
        return in_words(
            f"deadlock: {stuck} can never go on; ended after {outcome.seconds:.3f} s",
            f"deadlock: nenhuma continuação possível para {stuck}; encerrado após {outcome.seconds:.3f} s",
        )
    if not outcome.finished:
        blocked, after = ", ".join(outcome.blocked), f"{outcome.seconds:.1f} s"
        return in_words(
            f"no end: {blocked} still ran after {after}, and had to be stopped",
            f"sem fim: após {after} foi preciso encerrar {blocked}",
        )
    claim = program.claim if program.at_end is not None else in_words("every thread ended", "todo thread terminou")
    values = "".join(f"; {name} = {value}" for name, value in outcome.variables.items())
    word = in_words("as claimed", "como afirmado") if kept else in_words("not as claimed", "não como afirmado")
    result_s = result_time(name, outcome).get("result_s")
    if result_s is None:
        return f"{word}: {claim}{values}; {outcome.seconds:.3f} s"
    when = in_words(
        f"the result was there after {result_s:.3f} s, the last thread ended after {outcome.seconds:.3f} s",
        f"resultado disponível após {result_s:.3f} s; último thread terminou após {outcome.seconds:.3f} s",
    )
    return f"{word}: {claim}{values}; {when}"


def _print(name: str, outcome: Outcome, kept: bool, missing: Settings, verdict: str) -> None:
    out = console()
    word, _, rest = verdict.partition(":")
    out.print(f"[{'green' if kept else 'yellow' if missing else 'bold red'}]{word}:[/]{escape(rest)}")
    for line in wait_for_lines(outcome.deadlock) if outcome.deadlock else ():
        out.print(f"    {escape(threads_words(line, language()))}")
    if not kept and (missing or not outcome.finished):
        out.print(f"{in_words('see why', 'veja por quê')}: vez check threads:{escape(name)}", soft_wrap=True)
    if missing:
        needed = escape(" ".join(f"--set {key}={_word(value)}" for key, value in missing.items()))
        out.print(
            in_words(
                f"another run may end differently; with {needed} the claim always holds",
                f"outra execução pode terminar diferente; com {needed} a afirmação sempre vale",
            ),
            soft_wrap=True,
        )
    elif kept:
        out.print(
            in_words(
                "one run tells little: vez check tries every interleaving",
                "uma execução diz pouco: vez check tenta todo entrelaçamento",
            )
        )


def _compare(name: str, variants: tuple[Settings, ...], options: dict[str, Any]) -> int:
    """Run the variants one after the other, and print elapsed time and processor time."""
    rows: list[dict[str, Any]] = []
    runs: list[tuple[str, Outcome]] = []
    judged: list[tuple[bool, bool, Outcome]] = []
    for settings in variants:
        words = ", ".join(f"{key}={_word(value)}" for key, value in settings.items())
        program, outcome = _run(name, settings, options, silent=True)
        good = outcome.finished and as_claimed(program, outcome)
        judged.append((good, not LESSONS[name].missing(settings), outcome))
        runs.append((words, outcome))
        cpu = sum(outcome.cpu_s.values())
        rows.append({"settings": dict(settings), "kept": good, "seconds": round(outcome.seconds, 6),
                     "cpu_s": round(cpu, 6), "cpu_by_thread_s": outcome.cpu_s})  # fmt: skip
    code = _settle(judged)
    if options["as_json"]:
        print_json({"program": name, "runs": rows})
    else:
        columns = [Column("settings"), Column("verdict"), Column("time", right=True), Column("CPU time", right=True)]
        cells = [
            (words, "[green]as claimed[/]" if row["kept"] else "[red]not as claimed[/]", f"{row['seconds']:.3f} s",
             f"{row['cpu_s'] * 1000:.1f} ms")
            for (words, _), row in zip(runs, rows, strict=True)
        ]  # fmt: skip
        print_table(console(), columns, cells)
        console().print(escape(LESSONS[name].teaches))
    if options["output"]:
        verdict = LESSONS[name].teaches
        recordings = [(words, outcome.recording) for words, outcome in runs]
        draw_recordings(options["output"], name, recordings, verdict, broken=bool(code), quiet=options["as_json"])
    return code


def draw_recordings(
    path: Path,
    name: str,
    runs: Sequence[tuple[str, Recording | None]],
    verdict: str,
    *,
    quiet: bool,
    broken: bool = False,
) -> None:
    """Draw the lanes of the threads; with several runs, each lane names its run."""
    from vez.draw.timeline import FORMATS, Bar, Timeline  # only if a picture is wanted

    lanes: list[str] = []
    bars: list[Bar] = []
    left_out, end = 0, 1
    for words, recording in runs:
        if recording is None:
            continue
        before = f"{words}: " if words else ""
        lanes += [before + thread for thread in recording.threads]
        left_out, end = left_out + recording.left_out, max(end, recording.end_us)
        bars += [
            Bar(before + deed.thread, deed.kind, deed.start_us, deed.end_us, deed.words) for deed in recording.deeds
        ]
    notes = (f"{left_out:,} steps were not recorded",) if left_out else ()
    drawn = Timeline(f"threads: {name}", tuple(lanes), tuple(bars), end, verdict, broken, notes)
    write_file(path, FORMATS[SUFFIXES[path.suffix.lower()]](drawn))
    if not quiet:
        console().print(f"wrote {path}", soft_wrap=True)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _plain(outcome: Outcome) -> dict[str, Any]:
    return {
        "variables": outcome.variables,
        "seconds": round(outcome.seconds, 6),
        "finished": outcome.finished,
        "blocked": outcome.blocked,
        "deadlock": {who: {"waits_for": what, "held_by": held} for who, (what, held) in outcome.deadlock.items()},
        "output": [{"thread": thread, "line": line} for thread, line in _output(outcome)],
    }


def _output(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    return outcome.recording.output if outcome.recording is not None else ()


def result_time(name: str, outcome: Outcome) -> dict[str, float]:
    """The time of the last line, for programs that wait for a result but not for every thread."""
    lines = [deed for deed in outcome.recording.deeds if deed.kind == "says"] if outcome.recording else []
    return {"result_s": round(min(lines[-1].end_us / 1e6, outcome.seconds), 6)} if name in RESULTS and lines else {}


def _of_ring(name: str, outcome: Outcome) -> dict[str, Any]:
    """The first and the last form of the message, and the number of times that it was passed on."""
    if name != "ring":
        return {}
    hops = [line for _, line in _output(outcome) if not line.startswith("result: ")]
    return {"sent": hops[0] if hops else "", "received": hops[-1] if hops else "", "hops": len(hops)}
