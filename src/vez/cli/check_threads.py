"""`vez check threads:…`: every interleaving of a program of threads."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vez.cli.app import settle
from vez.cli.parameters.ineffective_options import refuse_two_outputs
from vez.cli.parameters.option_checks import option
from vez.cli.parameters.thread_programs import load_program
from vez.cli.printing.consoles import new_console
from vez.cli.printing.language import in_words, language
from vez.cli.printing.output import PIPE_WIDTH, SUFFIXES, console, counted, print_json, write_file
from vez.cli.printing.progress import Line
from vez.errors import Misuse
from vez.judge.words import property_name
from vez.judge.words.threads import threads_words
from vez.threads import Program
from vez.threads.deadlock import wait_for_lines
from vez.worlds.check.search import INTERRUPTED
from vez.worlds.check.threads.interleavings import Found, explore
from vez.worlds.check.threads.machine import Turn

MOST_STATES = 5_000_000
"""Largest number of states. Each is a few Python objects; this many fill the memory of a small machine."""
ALLOWED = {"algorithm", "parameters", "max_states", "max_memory", "diagram", "output", "as_json"}


def check_threads(options: dict[str, Any], given: set[str]) -> int:
    """Explore and print. Returns the exit code. `given` are the options that the user typed."""
    if given - ALLOWED:
        names = ", ".join(option(name) for name in sorted(given - ALLOWED))
        raise Misuse(f"{names}: not for programs of threads", hint="settings of the program: --set rounds=2")
    name = options["algorithm"].removeprefix("threads:")
    _refuse_measured(name)
    program = load_program(name, dict(options["parameters"]))
    kind = _picture_kind(options)
    refuse_two_outputs(options, kind)
    if "max_states" in given and options["max_states"] > MOST_STATES:
        raise Misuse(f"--max-states: at most {MOST_STATES:,} for programs of threads", hint="each is a Python object")
    with Line(f"{name}: exploring") as line:
        found = explore(program, min(options["max_states"], MOST_STATES), options["max_memory"], line.show)
    code = settle(broken=bool(found.broken), undecided=not found.complete, interrupted=found.stopped == INTERRUPTED)
    if options["output"] and found.broken:
        write_file(options["output"], _PICTURES[kind](program, found))
    if options["as_json"]:
        print_json(_json(name, program, found))
    elif kind and not options["output"] and found.broken:
        print(_PICTURES[kind](program, found), end="")
    else:
        _print(name, program, found)
        if options["output"]:
            console().print(f"wrote {options['output']}" if found.broken else "nothing is broken: nothing was drawn")
    return code


def _refuse_measured(name: str) -> None:
    from vez.cli.threads_measured import EXHIBITS  # here, because it loads everything that runs real threads

    if name in EXHIBITS:
        raise Misuse(f"{name} is measured, not explored: it has no interleavings", hint=f"run it: vez threads {name}")


def _picture_kind(options: dict[str, Any]) -> str:
    """The kind of picture of the interleaving. Threads have no messages, so not every kind can show them."""
    kind = options["diagram"] or (SUFFIXES.get(options["output"].suffix.lower(), "") if options["output"] else "")
    if kind in _PICTURES or not (kind or options["output"]):
        return str(kind)
    what = f"--diagram {kind}" if options["diagram"] else str(options["output"])
    raise Misuse(f"{what}: programs of threads are drawn as text or Mermaid", hint="-o lost.mmd or -o lost.txt")


def _print(name: str, program: Program, found: Found) -> None:
    out = console()
    whole = in_words("all interleavings", "todos os entrelaçamentos")
    if not found.complete:
        whole = f"[yellow]{in_words('stopped', 'parada')} {found.stopped}[/]"
    counts = in_words(
        f"{found.states:,} states, {found.transitions:,} transitions, depth {found.depth}",
        f"{found.states:,} estados, {found.transitions:,} passos, profundidade {found.depth}",
    )
    out.print(f"[bold]threads:{escape(name)}[/]  {len(program.threads)} threads; {counts}, {whole}")
    _print_verdicts(out, program, found)
    if found.stopped and not found.broken:
        out.print("[dim]next: fewer threads or rounds (--set), or a larger --max-states or --max-memory[/]")
    for kind, (_, turns) in found.broken.items():
        loop = found.loop if kind == "termination" else None
        out.print(_heading(kind, len(turns), loop))
        out.print(_interleaving(program, turns, loop))
        break
    if "deadlock_freedom" in found.broken:
        out.print(in_words("who waits for whom:", "quem espera por quem:"))
        for line in wait_for_lines(found.wait_for):
            out.print(f"    {escape(threads_words(line, language()))}")


def _heading(kind: str, steps: int, loop: int | None) -> str:
    again = steps - loop if loop is not None else 0
    if language() == "pt":
        endless = f", dos quais os últimos ({again}) se repetem para sempre" * bool(again)
        return f"o entrelaçamento mais curto que viola {_name(kind)}, {counted(steps, 'passo')}{endless}:"
    endless = f", of which the last {again if again > 1 else 'one'} repeat{'s' * (again == 1)} for ever" * bool(again)
    return f"the shortest interleaving in which {kind} is broken, {steps} steps{endless}:"


def _name(kind: str) -> str:
    """The name of a judged property, for people."""
    return in_words(kind, {"claim": "afirmação", "invariant": "invariante"}.get(kind, property_name(kind, "pt")))


def _print_verdicts(out: Console, program: Program, found: Found) -> None:
    not_judged = f"[dim]{in_words('not judged', 'não julgada')}[/]"
    for kind, text in _claims(program).items():
        if kind == "termination" and "deadlock_freedom" in found.broken:
            why = in_words("the deadlock ends it", "o deadlock a encerra")
            out.print(f"{not_judged} {_name(kind)}: {why}")
        elif kind == "claim" and found.complete and not found.ended and kind not in found.broken:
            why = in_words("no interleaving comes to its end", "nenhum entrelaçamento chega ao fim")
            out.print(f"{not_judged} {_name(kind)}: {escape(text)} ({why})")
        elif kind in found.broken:
            evidence = escape(threads_words(found.broken[kind][0], language()))
            out.print(f"[bold red]{in_words('broken', 'violada')}[/]  {_name(kind)}: {evidence}")
        else:
            held = f"[green]{in_words('holds', 'vale')}[/]   "
            if not found.complete:
                unseen = in_words("no violation in what was explored", "nenhuma violação no que foi explorado")
                held = f"[yellow]{unseen}[/] "
            out.print(f"{held}{_name(kind)}: {escape(text)}")


def text_picture(program: Program, found: Found) -> str:
    """The interleaving, and the waits among threads, as text."""
    file = StringIO()
    out = new_console(file=file, width=PIPE_WIDTH, highlight=False)
    kind = drawn(found)
    out.print(f"{kind} broken: {escape(found.broken[kind][0])}")
    out.print(_interleaving(program, found.broken[kind][1], found.loop if kind == "termination" else None))
    for line in wait_for_lines(found.wait_for) if kind == "deadlock_freedom" else ():
        out.print(escape(line))
    return file.getvalue()


def drawn(found: Found) -> str:
    """The violation that is drawn if several were found: a deadlock first."""
    return "deadlock_freedom" if "deadlock_freedom" in found.broken else next(iter(found.broken))


def _claims(program: Program) -> dict[str, str]:
    claims = {}
    if program.at_end is not None:
        claims["claim"] = program.claim
    if program.always is not None:
        claims["invariant"] = program.invariant
    return claims | {
        "deadlock_freedom": in_words("some thread can always go on", "algum thread sempre pode continuar"),
        "termination": in_words("every thread ends", "todo thread termina"),
    }


def _interleaving(program: Program, turns: tuple[Turn, ...], loop: int | None = None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for thread in program.threads:
        table.add_column(thread)
    for number, turn in enumerate(turns):
        if number == loop:
            table.add_row(f"[bold]┌ {in_words('from here on for ever', 'daqui em diante para sempre')}[/]")
        row = [""] * len(program.threads)
        row[turn.thread] = escape(turn.words)
        table.add_row(*row)
    return table


def mermaid(program: Program, found: Found) -> str:
    """A deadlock as a wait-for graph; anything else as the interleaving."""
    kind = drawn(found)
    if kind == "deadlock_freedom":
        lines = ["flowchart LR"]
        for thread, (what, holder) in found.wait_for.items():
            lines.append(f"    {_id(thread)}([{thread}]) -- waits for --> {_id(what)}[{what}]")
            if holder:
                lines.append(f"    {_id(what)} -- held by --> {_id(holder)}([{holder}])")
        return "\n".join(lines) + "\n"
    lines = ["sequenceDiagram", *(f"    participant {_id(name)} as {name}" for name in program.threads)]
    lines.append("    participant memory")
    names = list(program.threads)
    for number, turn in enumerate(found.broken[kind][1]):
        if kind == "termination" and number == found.loop:
            lines.append("    loop for ever")
        lines.append(f"    {_id(names[turn.thread])}->>memory: {turn.words.replace(';', ',')}")
    if kind == "termination":
        lines.append("    end")
    lines.append(f"    Note over memory: {found.broken[kind][0]}")
    return "\n".join(lines) + "\n"


_PICTURES: dict[str, Callable[[Program, Found], str]] = {"text": text_picture, "mermaid": mermaid}


def _id(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _verdict(kind: str, found: Found) -> str:
    if kind in found.broken:
        return "broken"
    if not found.complete or (kind == "termination" and "deadlock_freedom" in found.broken):
        return "not judged"
    if kind == "claim" and not found.ended:
        return "not judged"
    return "holds"


def _json(name: str, program: Program, found: Found) -> dict[str, Any]:
    names = list(program.threads)
    return {
        "program": name,
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "complete": found.complete,
        "stopped": found.stopped,
        "verdicts": {kind: _verdict(kind, found) for kind in _claims(program)},
        "broken": {
            kind: {"evidence": text, "steps": [{"thread": names[turn.thread], "does": turn.words} for turn in turns]}
            for kind, (text, turns) in found.broken.items()
        },
        "loop": found.loop,
        "wait_for": {thread: {"waits_for": what, "held_by": who} for thread, (what, who) in found.wait_for.items()},
    }
