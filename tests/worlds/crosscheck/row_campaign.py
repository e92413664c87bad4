"""The campaign of the rows: seed after seed, every row of the verification matrix in the simulator, until time is up."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from itertools import groupby

from tests.worlds.crosscheck.rows import BROKEN, HOLDS, Row, Sampled, rows
from vez.errors import VezError
from vez.worlds.sim.scenario import dumps

BATCH = 2
"""Number of seeds of a row before the next row has its turn."""


def campaign(count: int, first: int, until: float, only: str = "") -> bool:
    """Sample the rows with so many seeds each. True if no run broke what holds."""
    chosen = [row for row in rows() if only in ("", row.command)]
    if not chosen:
        print(f"rows: docs/reference/verdicts.md has no row `{only}`")
    sampled = [Sampled(row) for row in chosen]
    began, failed = time.monotonic(), False
    for begin in range(first, first + count, BATCH):
        seeds = range(begin, min(begin + BATCH, first + count))
        for place, one in enumerate(sampled):
            if time.monotonic() > until:
                break
            failed |= _sample(one, seeds, verbose=count == 1)
            if sys.stderr.isatty():
                print(
                    f"\rrows: from seed {begin}, row {place + 1} of {len(sampled)} ",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        if time.monotonic() > until:
            print(f"rows: stopped at seed {begin} after {time.monotonic() - began:.0f} s")
            break
    if sys.stderr.isatty():
        print(file=sys.stderr)
    _report(sampled, time.monotonic() - began)
    return bool(sampled) and not failed


def _sample(one: Sampled, seeds: Iterable[int], *, verbose: bool) -> bool:
    known = len(one.violations)
    for seed in seeds:
        try:
            one.sample(seed)
        except VezError as error:
            print(f"{again(one.row, seed)}   # the simulator fails: {error}", flush=True)
            return True
    for seed, words, seen in one.violations[known:]:
        print(f"{again(one.row, seed)}   # {words}", flush=True)
        if verbose:
            print(dumps(seen.scenario))
    return len(one.violations) > known


def again(row: Row, seed: int) -> str:
    """The command that samples one seed of a row again, and prints the scenarios."""
    return f"python -m tests.worlds.crosscheck 1 {seed} --kind rows --row '{row.command}'"


def _report(sampled: list[Sampled], seconds: float) -> None:
    tried = [one for one in sampled if one.runs]
    if len(tried) < len(sampled):
        print(f"  {len(sampled) - len(tried)} rows had no turn")
    for name, some in groupby(tried, key=lambda one: one.row.algorithm):
        print(f"  {name}: {_words(list(some))}")
    for one in tried:
        for missed in one.missed:
            print(f"  never found: {missed} by `{one.row.command}`, in {one.runs:,} runs")
    print(f"rows: {_words(tried)}; {seconds:.0f} s", flush=True)


def _words(some: list[Sampled]) -> str:
    holds, broken = (sum(len(one.row.names[which]) for one in some) for which in (HOLDS, BROKEN))
    found = sum(len(one.found) for one in some)
    return (
        f"{len(some)} rows, {sum(one.runs for one in some):,} runs ({sum(one.followed for one in some):,} followed), "
        f"{sum(len(one.violations) for one in some)} differences; {holds} properties hold, and of {broken} broken ones "
        f"{found} were found"
    )
