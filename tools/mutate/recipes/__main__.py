"""Command line of `tools.mutate.recipes`: judge every mutant, and compare the survivors with the table."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import tools.mutate.recipes
from tools.mutate.recipes.forked import Changed, Work, run
from tools.mutate.recipes.judges import Row, judged, reached, rows
from tools.mutate.recipes.mutants import ROOT, Mutant, find
from tools.mutate.recipes.table import known

LARGEST = 9_000
LIMIT = 180.0
"""Seconds after which a child is stopped; a mutant that does not end is caught."""
LATE, RIGHT = "it does not end", "the recipes as they are"


def arguments(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    first = (tools.mutate.recipes.__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tools.mutate.recipes", description=first)
    parser.add_argument("--sample", type=int, default=0, help="judge only so many mutants; default: all")
    parser.add_argument("--seed", type=int, default=1, help="draws the sample")
    parser.add_argument("--only", default="", help="judge only mutants whose name contains this text")
    parser.add_argument("--largest", type=int, default=LARGEST, help="states of the largest world that judges")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--json", type=Path, help="write what caught each mutant; continued if it exists")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    return parser.parse_args(words)


def drawn(mutants: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """A sample that changes little when the code changes; all of them for the size 0."""

    def draw(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed}:{mutant.name}".encode()).hexdigest()

    return sorted(mutants, key=draw)[:size] if size else mutants


def measured(worlds: list[Row], jobs: int) -> dict[str, set[str]]:
    """The lines of recipes that each world runs."""
    found = {}
    for ended in run(((row.command, partial(reached, row)) for row in worlds), 4 * LIMIT, jobs):
        if ended.result is None:
            raise SystemExit(f"{ended.name} does not end without a mutant")
        found[ended.name] = set(ended.result)
    return found


def _judge(mutant: Mutant, chosen: list[Row]) -> str:
    Changed(mutant.module, str(ROOT / mutant.path), mutant.text).install()
    return judged(chosen)


def judge(mutants: list[Mutant], largest: int, jobs: int) -> Iterator[tuple[str, str]]:
    """What catches each mutant; empty for those that nothing catches."""
    worlds = rows(largest)
    lines = measured(worlds, jobs)
    smallest = {row.recipe: row for row in reversed(worlds)}

    def works() -> Iterator[tuple[str, Work]]:
        yield RIGHT, partial(judged, [])
        for mutant in mutants:
            own = {f"{mutant.path}:{line}" for line in mutant.lines}
            chosen = [row for row in worlds if own & lines[row.command]] if own else list(smallest.values())
            yield mutant.name, partial(_judge, mutant, chosen)

    for ended in run(works(), LIMIT, jobs):
        result = LATE if ended.late else ended.result
        if result is None or (result and ended.name == RIGHT):
            raise SystemExit(f"not judged: {ended.name} ({result or 'the process of its judges died'})")
        if ended.name != RIGHT:
            yield ended.name, result


def main(words: list[str] | None = None) -> int:
    """Judge the mutants. 0 if exactly those of the table survive."""
    given = arguments(words)
    every = find()
    table = known()
    mutants = [one for one in drawn(every, given.sample, given.seed) if given.only in one.name]
    if given.list:
        print(*(f"{Path(one.path).name}:{one.line} {one.name}" for one in mutants), sep="\n")
        return 0
    kept = json.loads(given.json.read_text()) if given.json is not None and given.json.exists() else {}
    found: dict[str, str] = {one.name: kept[one.name] for one in mutants if one.name in kept}
    began = time.monotonic()
    for name, by in judge([one for one in mutants if one.name not in found], given.largest, given.jobs):
        found[name] = by
        if given.json is not None:
            given.json.write_text(json.dumps(found, indent=1))
        if len(found) % 100 == 0:
            print(f"{len(found)} of {len(mutants)} after {time.monotonic() - began:.0f} s", flush=True)
    survivors = [name for name in found if not found[name]]
    new = [name for name in survivors if name not in table]
    stale = [name for name in table if found.get(name) or name not in {one.name for one in every}]
    for title, names in (("survives, and is not in the table", new), ("in the table, and does not survive", stale)):
        for name in names:
            print(f"{title}: {name}" + (f" ({found[name]})" if found.get(name) else ""))
    print(
        f"{len(found)} mutants, {len(found) - len(survivors)} caught, {len(survivors)} survive, {len(new)} of them new"
    )
    return int(bool(new or stale))


if __name__ == "__main__":
    sys.exit(main())
