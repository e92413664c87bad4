"""`vez torture`: real workers, real faults, and a verdict."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from vez import draw
from vez.cli.app import settle
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, deprecated, not_together
from vez.cli.printing.output import SUFFIXES, console, print_json, print_verdicts, write_file
from vez.cli.printing.progress import progress
from vez.core.trace import Trace
from vez.judge.properties import Verdict
from vez.locks.engines.urls import which_url, without_password
from vez.testing.torture import Campaign, Outcome, Plan
from vez.testing.torture.plan import FAULTS, USUAL, FaultKind
from vez.testing.torture.stays import KINDS, KindName

_AROUND_US = 20_000
"""Microseconds that a picture of a violation shows before and after it."""


@click.command(short_help="Test an engine: kill, pause and fork real workers, then judge.")
@click.argument("old_url", required=False, metavar="")
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("-n", "--workers", type=click.IntRange(2, 64), default=5, show_default=True, metavar="N",
              help="Number of worker processes.")  # fmt: skip
@click.option("--seconds", type=Number(0.1, 86400), default=5.0, show_default=True, metavar="S",
              help="How long faults are injected.")  # fmt: skip
@click.option("--entries", type=click.IntRange(10, 1_000_000), default=3000, show_default=True, metavar="N",
              help="Stop early, after N entries and each fault once.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Decides every fault.")
@click.option("--faults", default=",".join(USUAL), show_default=True, metavar="LIST",
              help="Kinds of faults, separated by commas; 'all' for all of them, '' for none.")  # fmt: skip
@click.option("--kinds", default="lock", show_default=True, metavar="LIST",
              help=f"Kinds of locks, used at once: {', '.join(KINDS)}.")  # fmt: skip
@click.option("--trace", type=click.Path(path_type=Path), help="Save the trace for `vez show`.")
@click.option(
    "-o", "--output", type=OutputFile(*SUFFIXES), help="Draw a violation into this file: .txt, .mmd, .svg or .html."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def torture(
    old_url: str | None, url: str | None, workers: int, seconds: float, entries: int, seed: int, faults: str,
    kinds: str, trace: Path | None, output: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Test an engine with real processes and real faults.

    Workers acquire a lock, change a shared number and release the lock; meanwhile they are killed, paused and
    interrupted, and they fork. Then the recorded events are judged: mutual exclusion, order, tokens, lost updates,
    progress, and the time of turns beside turns without the engine.

    \b
    kill         SIGKILL, mostly to the holder
    pause        SIGSTOP for up to 150 ms
    fork         a holder forks a child that outlives it
    interrupt    SIGINT while a worker waits
    break        a lock is taken away, as by vez break
    prune        idle names are removed, as by vez prune
    clock        the clock of a worker jumps by years;
                 other monotonic clocks
    container    own boot id, process numbers, network
                 or mounts, or all of these
    descriptors  a worker can open no more files
    disk         a small disk of the workers is full
    fsync        fsync or msync of a worker fails

    The seed decides which fault strikes whom, and when. What this machine does not allow, such as namespaces for a
    plain user, is left out, and the report says why. With `break` the order and the time of hand-overs are not judged.
    """
    if old_url is not None:
        not_together("old_url", "url")
        deprecated("vez torture URL", "vez torture --url URL")
        url = old_url
    words = FAULTS if faults.strip() == "all" else tuple(word for word in faults.split(",") if word)
    chosen: tuple[FaultKind, ...] = words  # type: ignore[assignment]
    used: tuple[KindName, ...] = tuple(word for word in kinds.split(",") if word)  # type: ignore[misc]
    plan = Plan(url=which_url(url), workers=workers, seconds=seconds, entries=entries, seed=seed, faults=chosen,
                kinds=used)  # fmt: skip
    kind = SUFFIXES[output.suffix.lower()] if output else "text"
    if not as_json:
        where = without_password(plan.url)
        click.echo(f"seed {seed}: {workers} workers on {where}, {seconds:g} s of {', '.join(chosen) or 'peace'}")
    outcome = _watched(Campaign(plan))
    code = settle(broken=bool(outcome.broken), interrupted=outcome.interrupted)
    if trace is not None:
        write_file(trace, outcome.trace.to_bytes())
    for verdict in outcome.broken[:1]:
        picture = draw.FORMATS[kind](excerpt(outcome.trace, verdict), (verdict,))
        if output is not None:
            write_file(output, picture)
        elif not as_json:
            click.echo(picture)
    if as_json:
        print_json(_as_json(outcome))
    else:
        _print(outcome)
    return code


def _watched(campaign: Campaign) -> Outcome:
    with progress("torture", 100) as bar:  # percent of its time
        return campaign.run(lambda part, entries: bar.at(100 * part, f"with {entries:,} entries"))


def excerpt(trace: Trace, verdict: Verdict) -> Trace:
    """The events around a violation."""
    if not verdict.spans:
        return trace
    low = min(span.start for span in verdict.spans) - _AROUND_US
    high = max(span.end for span in verdict.spans) + _AROUND_US
    return Trace(trace.header, tuple(event for event in trace.events if low <= event.at <= high))


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "url": without_password(outcome.plan.url), "seed": outcome.plan.seed, "workers": outcome.plan.workers,
        "entries": outcome.entries, "faults": outcome.faults, "containers": outcome.containers,
        "refused": outcome.refused, "skipped": outcome.skipped,
        "interrupted": outcome.interrupted,
        "takeover_ms": outcome.takeover_ms,
        "properties": {
            verdict.name: {"verdict": verdict.words, "status": verdict.status, "evidence": verdict.evidence}
            for verdict in outcome.verdicts
        },
        "plan": msgspec.to_builtins(outcome.plan),
    }  # fmt: skip


def _print(outcome: Outcome) -> None:
    out = console()
    faults = ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in outcome.faults.items())
    if outcome.interrupted:
        out.print("[yellow]interrupted[/]; what happened until then:")
    refused = f"; {outcome.refused:,} requests refused because of a fault" if outcome.refused else ""
    out.print(f"{outcome.entries:,} entries; {faults}{refused}")
    if outcome.containers:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in outcome.containers.items())
        out.print(f"workers started with their own: {kinds}")
    for fault, why in outcome.skipped.items():
        out.print(f"[yellow]without {fault}[/]: {why}", highlight=False)
    print_verdicts(out, outcome.verdicts)
    if outcome.takeover_ms:
        delays = sorted(outcome.takeover_ms)
        out.print(
            f"from SIGKILL of a holder to the next: median {delays[len(delays) // 2]:.1f} ms, "
            f"at most {delays[-1]:.1f} ms ({len(delays)} times)"
        )
