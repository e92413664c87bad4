"""`vez sim --runs N`: the sweep over seeds, with its progress bar."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from vez.catalogue.load import load_algorithm
from vez.cli.app import settle
from vez.cli.printing.output import console, counted, print_json
from vez.cli.printing.progress import progress
from vez.errors import Misuse
from vez.study.shortest import Shortest
from vez.study.sweep import Sweep, sweep
from vez.worlds.sim.delays import parse_delay
from vez.worlds.sim.scenario import DEFAULT_DELAY, Expect, Scenario
from vez.worlds.sim.setup import DEFAULT_N

_DROPPED = {"--runs": 1, "--jobs": 1, "--seed": 1, "--delay": 1, "--shrink": 1, "--json": 0}
"""The options of a sweep that its single runs do not take, with the number of their values."""


def run_sweep(
    scenario: Scenario,
    options: dict[str, Any],
    typed: list[str],
    shrink_run: Callable[[Scenario, str | None], Shortest | None],
) -> int:
    """Sweep and report. Returns the exit code."""
    for name in ("diagram", "output", "trace_file"):
        if options[name]:
            raise Misuse("a sweep of many runs draws and saves none", hint="run one of its seeds with --seed")
    with progress("runs", options["runs"]) as bar:

        def watch(done: int, broken: int) -> None:
            bar.at(done, f"({broken} broken)" if broken else "")

        result = sweep(scenario, options["runs"], jobs=options["jobs"], debug=options["debug"], progress=watch)
    code = _settled(result)
    first = result.first_broken
    shrunk = None
    if options["shrink_to"] and not result.interrupted:
        failing = scenario if first is None or first.seed is None else scenario.but(seed=first.seed)
        shrunk = shrink_run(failing, first.name if first else None)
    if options["as_json"]:
        print_json(_json(result, shrunk, options["shrink_to"]))
    else:
        _print(result, typed, shrunk, options["shrink_to"])
    if result.interrupted:
        click.echo(f"vez: interrupted after {result.runs:,} of {counted(result.asked, 'run')}", err=True)
    return code


def _settled(result: Sweep) -> int:
    if result.scenario.expect != Expect():
        return settle(broken=bool(result.missed), interrupted=result.interrupted)
    promised = [tally for tally in result.tallies if tally.promised]
    return settle(
        broken=any(tally.broken for tally in promised),
        undecided=any(tally.undecided for tally in promised),
        interrupted=result.interrupted,
    )


def shrunk_json(shrunk: Shortest | None) -> dict[str, Any] | None:
    """A shrunk run for JSON: whether it is minimal, and why that is known or unknown."""
    return None if shrunk is None else {"minimal": shrunk.minimal, "evidence": shrunk.words}


def _json(result: Sweep, shrunk: Shortest | None, path: Path | None) -> dict[str, Any]:
    scenario = result.scenario
    found: dict[str, Any] = {
        "algorithm": scenario.algorithm,
        "n": scenario.n or len(scenario.ids) or DEFAULT_N,
        "seed": scenario.seed,
        "runs": result.runs,
        "asked": result.asked,
        "seeds": result.seeds,
        "interrupted": result.interrupted,
        "delay": str(scenario.network.delay),
        "events": result.events,
        "messages": {"total": result.messages, "by_kind": result.by_kind},
        "delays": {
            "client": result.client_delay.mean,
            "synchronization": result.synchronization_delay.mean,
            "unit": "ms",
            "message_ms": parse_delay(scenario.network.delay or DEFAULT_DELAY).mean_ms,
        },
        "properties": {
            tally.name: {
                "verdict": tally.words,
                "status": tally.status,
                "promised": tally.promised,
                "broken": tally.broken,
                "undecided": tally.undecided,
                "not_judged": tally.not_judged,
                "seed": tally.seed,
                "evidence": tally.evidence,
            }
            for tally in result.tallies
        },
        "files": {"shrunk": str(path)} if shrunk else {},
        "shrunk": shrunk_json(shrunk),
        "unexpected": _unexpected(result),
    }
    if load_algorithm(scenario.algorithm).role == "election":
        found["leader"] = {"none" if one is None else str(one): count for one, count in result.leaders.items()}
    return found


def _unexpected(result: Sweep) -> list[str]:
    """The expectations that the first unexpected seed did not meet."""
    if result.first_missed is None:
        return []
    seed, words = result.first_missed
    return [f"seed {seed}: {line}" for line in words]


def _print(result: Sweep, typed: list[str], shrunk: Shortest | None, path: Path | None) -> None:
    out, scenario = console(), result.scenario
    rows = ", ".join(f"{first} to {last}" if last > first else f"{first}" for first, last in result.seeds)
    seeds = f"{'seeds' if result.runs > 1 else 'seed'} {rows}"
    some = f"[yellow]{result.runs:,} of[/] " if result.interrupted else ""
    out.print(
        f"[bold]{escape(scenario.algorithm)}[/]  {some}{counted(result.asked, 'run')}, {seeds}, "
        f"delay {scenario.network.delay}, {counted(result.messages, 'message')}"
    )
    width = max((len(tally.name) for tally in result.tallies), default=0)
    for tally in result.tallies:
        bad = "bold red" if tally.promised else "yellow"
        style = bad if tally.broken else "yellow" if tally.undecided else "green"
        promise = "" if tally.promised else " (not promised)"
        out.print(f"  {tally.name:<{width}}  [{style}]{tally.words}[/]{promise}")
        if tally.broken:
            out.print(f"  {'':<{width}}  seed {tally.seed}: {escape(tally.evidence)}")
    for line in _unexpected(result):
        out.print(f"[bold red]not as expected[/] in {counted(result.missed, 'run')}, first {escape(line)}")
    first = result.first_broken
    if first is not None:
        again = _again(typed, str(scenario.network.delay), first.seed or 0)
        out.print(f"\nsee it:     {escape(again)} --diagram text", soft_wrap=True)
        if not shrunk:
            out.print("make short: the same sweep with --shrink FILE.toml")
    if shrunk:
        again = f"vez sim --scenario {shlex.quote(str(path))} --diagram text"
        out.print(f"made short: {escape(again)}", soft_wrap=True)
        out.print(escape(shrunk.words))


def _again(typed: list[str], delay: str, seed: int) -> str:
    """The command line of one seed of a sweep: the typed arguments without those that only a sweep takes."""
    kept: list[str] = []
    words = iter(typed)
    for word in words:
        flag, equals, _ = word.partition("=")
        if flag in _DROPPED:
            for _ in range(0 if equals else _DROPPED[flag]):
                next(words, None)
        else:
            kept.append(word)
    return shlex.join(["vez", "sim", *kept, "--delay", delay, "--seed", str(seed)])
