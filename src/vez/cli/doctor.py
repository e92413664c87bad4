"""`vez doctor`: examines a real engine, measures it, and prints which guarantees of the contract hold there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import click
import msgspec
from rich.markup import escape

from vez.cli.printing.output import console, print_json
from vez.cli.printing.tables import Column, print_table
from vez.errors import CorruptState, LockTimeout, Misuse
from vez.locks.engines import provider
from vez.locks.engines.base import Traits
from vez.locks.engines.promises import Finding, rows
from vez.locks.engines.urls import which_url, without_password
from vez.locks.turns.client import Client, connect
from vez.locks.turns.periods import done_in

MOST_SECONDS = 10.0
"""Longest time for measuring, in seconds: anything longer would be a load test."""
STYLES = {"fine": "green", "note": "yellow", "problem": "bold red"}


@click.command(short_help="Look at a real engine.")
@click.argument("url", required=False)
@click.option("--pairs", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N",
              help="Acquire and release a name of its own so often, to measure.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(url: str | None, pairs: int, as_json: bool) -> int:
    """Connect to the engine at URL, look at what it runs on, and measure how long a turn takes.

    Then it says what the contract gives there and what it does not, with advice. URL is by default VEZ_URL, or the
    files of this machine. The exit code is 1 if something is wrong.
    """
    text = which_url(url)
    scheme = text.partition(":")[0]
    found = provider(scheme) if ":" in text else None
    if found is None:
        raise Misuse(f"{text!r} is not an engine URL", hint="`vez engines` lists what there is")
    with connect(text) as client:
        examine: Callable[[str], list[Finding]] | None = getattr(found, "examine", None)
        findings = [*(examine(text) if examine is not None else []), _measure(client, pairs), *_jobs(client)]
        traits = client.engine.traits
    problem = any(one.level == "problem" for one in findings)
    value: dict[str, Any] = {
        "url": without_password(text),
        "findings": msgspec.to_builtins(findings),
        "gives": [{"what": what, "here": here} for what, here in rows(traits)],
        "does_not_give": list(traits.notes),
        "problem": problem,
    }
    if as_json:
        print_json(value)
    else:
        _print(value)
    return int(problem)


def _measure(client: Client, pairs: int) -> Finding:
    """Acquire and release a name that nobody else uses: a lock, or a leadership where the engine has no locks."""
    traits, name = client.engine.traits, f"vez-doctor/{os.getpid()}-{os.urandom(4).hex()}"
    if not (traits.locks or traits.elections):
        return Finding("acquire and release, alone", "not measured: it has neither locks nor elections")
    asked = (client.lock if traits.locks else client.election)(name, timeout=MOST_SECONDS)
    what = f"acquire and release{'' if traits.locks else ' a leadership'}, alone"
    taken: list[float] = []
    end = time.monotonic() + MOST_SECONDS
    try:
        while len(taken) < pairs and time.monotonic() < end:
            begin = time.monotonic()
            with asked:
                pass
            taken.append((time.monotonic() - begin) * 1000)
    except LockTimeout as error:
        return _not_granted(what, len(taken), error, traits)
    client.prune(name)  # removes the name that was used
    taken.sort()
    middle, slowest = taken[len(taken) // 2], taken[-1]
    return Finding(what, f"median {middle:.2f} ms, slowest {slowest:.2f} ms, of {len(taken)} pairs")


def _jobs(client: Client) -> list[Finding]:
    """The memos of periodic jobs: how many there are, and each that cannot be read. Nothing on an engine without
    memos."""
    if not client.engine.traits.memos:
        return []
    what, count, damaged = "notes of periodic jobs", 0, list[Finding]()
    for name in client.locks():
        try:
            count += bool(done_in(name, client.engine.memo(name)))
        except CorruptState as error:
            damaged.append(Finding(what, error.message, error.hint, "problem"))
    return damaged or [Finding(what, f"{count}, all can be read" if count else "none")]


def _not_granted(what: str, after: int, error: LockTimeout, traits: Traits) -> Finding:
    """The finding for a request that was not granted. Nobody else asks for the name, so this is a problem, unless the
    algorithm also elects members that did not ask."""
    found = f"not measured: after {after} pairs {error.message}" if after else f"not measured: {error.message}"
    if traits.locks or traits.order is not None:
        return Finding(what, found, error.hint, "problem")
    return Finding(what, found, "a member is missing, or the algorithm has chosen another one", "note")


def _print(value: dict[str, Any]) -> None:
    out = console()
    out.print(f"[bold]{escape(value['url'])}[/]", soft_wrap=True)
    lines = [
        [f"[{STYLES[one['level']]}]{one['level']}[/]", escape(one["what"]), _advised(one)] for one in value["findings"]
    ]
    print_table(out, [Column("", style="dim"), Column("looked at"), Column("found")], lines)
    out.print("[bold]What the contract gives here[/]")
    print_table(
        out, [Column(style="dim"), Column()], [[r["what"], escape(r["here"])] for r in value["gives"]], ruled=False
    )
    if value["does_not_give"]:
        out.print("[bold]Know[/]")
        for note in value["does_not_give"]:
            out.print(f"- {escape(note)}")


def _advised(one: dict[str, Any]) -> str:
    return escape(one["found"]) + (f"\n[dim]{escape(one['advice'])}[/]" if one["advice"] else "")
