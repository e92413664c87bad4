"""`python -m tests.worlds.crosscheck [COUNT] [FIRST]`: compare so many random protocols of each kind, and run so many
seeds of each row of the verification matrix (`--kind rows`); `make crosscheck` runs it.

Each kind and number decide a protocol and its faults, so that a difference can be looked at again:
`python -m tests.worlds.crosscheck 1 N --kind KIND`; for a row, add `--row 'vez check …'`.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import NamedTuple

from tests.worlds.crosscheck.cases import KINDS
from tests.worlds.crosscheck.compare import MOST, all_differences, opinions
from tests.worlds.crosscheck.row_campaign import campaign
from vez.errors import VezError

ROWS = "rows"


class Tally(NamedTuple):
    """The number of cases by outcome."""

    compared: int = 0
    too_large: int = 0
    differ: int = 0
    counterexamples: int = 0
    endless: int = 0
    met: int = 0
    time_stops: int = 0

    def words(self) -> str:
        """The numbers in one line."""
        return (
            f"{self.compared} protocols compared, {self.differ} differ; {self.counterexamples} counterexamples "
            f"({self.endless} endless; simulated runs break {self.met} of these), time stops in {self.time_stops}; {self.too_large} left out as too large"
        )


def main() -> int:
    """Compare, print differences, and count. Returns the exit code."""
    options = _options()
    until = time.monotonic() + options.seconds
    kinds = [kind for kind in (*KINDS, ROWS) if options.kind in (kind, "all")]
    agree = []
    for left, kind in zip(range(len(kinds), 0, -1), kinds, strict=True):
        now = time.monotonic()
        part = now + (until - now) / left  # each kind gets its part of the time
        if kind == ROWS:
            agree.append(campaign(options.count, options.first, part, options.row))
        else:
            tally = _campaign(kind, options, part)
            agree.append(not tally.differ and bool(tally.compared or tally.too_large))
    return 0 if all(agree) else 1


def _campaign(kind: str, options: argparse.Namespace, until: float) -> Tally:
    began, tally = time.monotonic(), Tally()
    for number in range(options.first, options.first + options.count):
        if time.monotonic() > until:
            print(f"{kind}: stopped before {number} after {time.monotonic() - began:.0f} s")
            break
        tally = Tally(*map(sum, zip(tally, _compared(kind, number, options), strict=True)))
        if sys.stderr.isatty():
            done = number + 1 - options.first
            print(f"\r{kind}: {done} of {options.count}, {tally.differ} differ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{kind}: {tally.words()}; {time.monotonic() - began:.0f} s", flush=True)
    return tally


def _compared(kind: str, number: int, options: argparse.Namespace) -> Tally:
    """Compare one case, and print differences."""
    case = KINDS[kind](number)
    if options.count == 1:
        print(case)
    again = f"python -m tests.worlds.crosscheck 1 {number} --kind {kind} --states {options.states}"
    met: set[str] = set()
    try:
        both = opinions(case.configuration(), options.states)
        found = all_differences(case, both, options.runs, met) if both is not None else []
    except VezError as error:
        print(f"{again}   # the checker fails: {error}", flush=True)
        return Tally(compared=1, differ=1)
    for words in found:
        print(f"{again}   # {words}", flush=True)
    if both is None:
        return Tally(too_large=1)
    examples = both.report.counterexamples.values()
    return Tally(
        compared=1,
        differ=bool(found),
        counterexamples=len(examples),
        endless=sum(example.path.loop is not None for example in examples),
        met=len(met),
        time_stops=both.opinion.time_stops,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.worlds.crosscheck", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000, metavar="COUNT", help="protocols of each kind")
    parser.add_argument("first", type=int, nargs="?", default=0, metavar="FIRST", help="number of the first one")
    parser.add_argument("--kind", choices=(*KINDS, ROWS, "all"), default="all")
    parser.add_argument("--row", default="", help="of the rows only this one, named by its command")
    parser.add_argument("--runs", type=int, default=100, help="simulated runs of each protocol")
    parser.add_argument("--states", type=int, default=MOST, help="leave out protocols with more states")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time, shared by the kinds")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
