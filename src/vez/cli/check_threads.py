"""`vez check threads:…`: every interleaving of a program of threads."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from vez.check.threads import Found, Turn, explore
from vez.cli.app import EXIT_BROKEN
from vez.cli.output import console, print_json, write_file
from vez.errors import BadData, MissingFile, Misuse, UnknownName, VezError
from vez.sim.blame import blame_function
from vez.threads import Program
from vez.threads.programs import PROGRAMS


def load_program(name: str, settings: dict[str, Any]) -> Program:
    """A program of the house by its name, or a function of the user's: path/to/file.py:function."""
    path, colon, function = name.rpartition(":")
    if colon and path.endswith(".py"):
        maker = _from_file(Path(path), function)
    elif name in PROGRAMS:
        maker = PROGRAMS[name]
    else:
        raise UnknownName("program of threads", name, PROGRAMS)
    try:
        program = maker(**settings)
    except TypeError as error:
        raise Misuse(f"{name}: {error}", hint="its settings are the function's arguments: --set rounds=2") from error
    except VezError:
        raise
    except (Exception, SystemExit) as error:
        raise blame_function(error, maker, "making the program") from error
    if not isinstance(program, Program):
        raise BadData(f"{name} returned a {type(program).__name__}, expected a vez.threads.Program")
    return program


def _from_file(path: Path, function: str) -> Any:
    if not path.is_file():
        raise MissingFile(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"vez_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadData(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadData(f"{path}: {type(error).__name__}: {error}") from error
    found = getattr(module, function, None)
    if not callable(found):
        names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise UnknownName(f"function in {path}", function, names)
    return found


def check_threads(options: dict[str, Any]) -> int:
    """Explore, print, and say by the exit code whether something is broken."""
    name = options["algorithm"].removeprefix("threads:")
    program = load_program(name, dict(options["parameters"]))
    found = explore(program, min(options["max_states"], 5_000_000))
    if options["output"]:
        if not found.broken:
            raise Misuse("nothing is broken, so there is nothing to draw")
        write_file(options["output"], mermaid(program, found))
    if options["as_json"]:
        print_json(_json(name, program, found))
    elif options["diagram"] == "mermaid" and not options["output"] and found.broken:
        print(mermaid(program, found), end="")
    else:
        _print(name, program, found)
    return EXIT_BROKEN if found.broken else 0


def _print(name: str, program: Program, found: Found) -> None:
    out = console()
    whole = "all interleavings" if found.complete else "[yellow]stopped early[/]"
    out.print(
        f"[bold]threads:{escape(name)}[/]  {len(program.threads)} threads; {found.states:,} states, "
        f"{found.transitions:,} transitions, depth {found.depth}, {whole}"
    )
    for kind, text in _claims(program).items():
        if kind == "termination" and "deadlock_freedom" in found.broken:
            out.print("[dim]not judged[/] termination: the deadlock ends it")
        elif kind in found.broken:
            out.print(f"[bold red]broken[/]  {kind}: {escape(found.broken[kind][0])}")
        else:
            held = "[green]holds[/]   " if found.complete else "[yellow]no violation in what was explored[/] "
            out.print(f"{held}{kind}: {escape(text)}")
    for kind, (_, turns) in found.broken.items():
        out.print(f"the shortest interleaving in which {kind} is broken, {len(turns)} steps:")
        out.print(_interleaving(program, turns))
        break
    if "deadlock_freedom" in found.broken:
        out.print("who waits for whom:")
        for line in wait_for(found):
            out.print(f"    {escape(line)}")


def _claims(program: Program) -> dict[str, str]:
    claims = {}
    if program.at_end is not None:
        claims["claim"] = program.claim
    if program.always is not None:
        claims["invariant"] = program.invariant
    return claims | {"deadlock_freedom": "some thread can always go on", "termination": "every thread ends"}


def _interleaving(program: Program, turns: tuple[Turn, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for thread in program.threads:
        table.add_column(thread)
    for turn in turns:
        row = [""] * len(program.threads)
        row[turn.thread] = escape(turn.words)
        table.add_row(*row)
    return table


def wait_for(found: Found) -> list[str]:
    """The wait-for graph, a line an edge; a cycle is said to be one."""
    lines = [
        f"{thread} → {what}" + (f" → {holder}" if holder else " (nobody will come)")
        for thread, (what, holder) in found.wait_for.items()
    ]
    for start in found.wait_for:
        cycle, at = [start], found.wait_for[start]
        while at[1] and at[1] not in cycle and at[1] in found.wait_for:
            cycle += [at[0], at[1]]
            at = found.wait_for[at[1]]
        if at[1] == start:
            return [*lines, "a cycle: " + " → ".join([*cycle, at[0], start])]
    return lines


def mermaid(program: Program, found: Found) -> str:
    """A deadlock as a wait-for graph; anything else as the interleaving."""
    kind = "deadlock_freedom" if "deadlock_freedom" in found.broken else next(iter(found.broken))
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
    for turn in found.broken[kind][1]:
        lines.append(f"    {_id(names[turn.thread])}->>memory: {turn.words.replace(';', ',')}")
    lines.append(f"    Note over memory: {found.broken[kind][0]}")
    return "\n".join(lines) + "\n"


def _id(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _verdict(kind: str, found: Found) -> str:
    if kind in found.broken:
        return "broken"
    if not found.complete or (kind == "termination" and "deadlock_freedom" in found.broken):
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
        "verdicts": {kind: _verdict(kind, found) for kind in _claims(program)},
        "broken": {
            kind: {"evidence": text, "steps": [{"thread": names[turn.thread], "does": turn.words} for turn in turns]}
            for kind, (text, turns) in found.broken.items()
        },
        "wait_for": {thread: {"waits_for": what, "held_by": who} for thread, (what, who) in found.wait_for.items()},
    }
