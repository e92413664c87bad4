"""Compare the speed of two revisions: `python -m tools.revisions OLD [NEW] [--pairs 7] [--only WORD]`.

Both revisions are checked out into a temporary folder and measured by the same code, that of this work tree, in
processes of their own with `PYTHONPATH` set to the revision's `src`. Old and new alternate within one run and the order
is reversed in every other pair, because the machine's other work changes from minute to minute; medians are compared.
The exit code is 1 if a median is more than ten per cent lower than before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import engine
from bench.check import IDS

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 0.9
"""Smallest ratio of the new to the old median that is not reported as a loss of speed."""


def _alone(kind: str) -> float:
    with tempfile.TemporaryDirectory(prefix="vez-bench-") as folder:
        return float(engine.ask(engine.alone, kind, {"folder": folder}, engine.SECONDS))


def _contended(count: int, cores: list[int] | None) -> float:
    with tempfile.TemporaryDirectory(prefix="vez-bench-") as folder:
        return engine.hand_overs("vez file:", {"folder": folder}, count, cores).hand_overs


def _waiters(count: int) -> float:
    with tempfile.TemporaryDirectory(prefix="vez-bench-") as folder:
        queued, _, served = engine.ask(engine.waiters, folder, count)
    return 1e6 / float(queued + served)


def _names(count: int) -> float:
    with tempfile.TemporaryDirectory(prefix="vez-bench-") as folder:
        return 1e6 / float(engine.ask(engine.many_names, folder, count))


def _check(*arguments: str) -> float:
    """Verdicts per second, including the start of Python and the imports."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "vez", "check", *arguments, "--json"], check=True, capture_output=True)
    return 1 / (time.perf_counter() - began)


def measures() -> dict[str, Callable[[], float]]:
    """The measurements, each a rate: more is better."""
    cores = sorted(os.sched_getaffinity(0))
    ids = [",".join(map(str, IDS[:n])) for n in range(len(IDS) + 1)]
    return {
        "engine: file: pairs alone": lambda: _alone("vez file:"),
        "engine: memory: pairs alone": lambda: _alone("vez memory:"),
        "engine: hand-overs, 8 pinned": lambda: _contended(8, cores),
        "engine: hand-overs, 8 not pinned": lambda: _contended(8, None),
        "engine: hand-overs, 32 pinned": lambda: _contended(32, cores),
        "engine: hand-overs, 32 not pinned": lambda: _contended(32, None),
        "engine: 1000 waiting tasks": lambda: _waiters(1000),
        "engine: pairs over 1000 names": lambda: _names(1000),
        "check: ricart-agrawala n=3, 2 requests": lambda: _check(
            "ricart-agrawala", "-n", "3", "--fifo", "--requests", "2"
        ),
        "check: ricart-agrawala n=4": lambda: _check("ricart-agrawala", "-n", "4", "--fifo"),
        "check: dolev-klawe-rodeh n=8": lambda: _check("dolev-klawe-rodeh", "--ids", ids[8]),
        "check: dolev-klawe-rodeh n=9, reduced": lambda: _check("dolev-klawe-rodeh", "--ids", ids[9], "--reduce"),
        "check: dolev-klawe-rodeh n=9": lambda: _check("dolev-klawe-rodeh", "--ids", ids[9]),
    }


@contextmanager
def _checked_out(revision: str, folder: Path) -> Iterator[Path]:
    """The tree of a revision. An empty name is this work tree, with uncommitted changes."""
    if not revision:
        yield ROOT
        return
    where = folder / revision.replace("/", "-")
    subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(where), revision], cwd=ROOT, check=True)
    try:
        yield where
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(where)], cwd=ROOT, check=True)


def _measured(tree: Path, what: str) -> float:
    """Measure in a process that imports vez from the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as after an installation: modules are compiled once
    command = [sys.executable, "-m", "tools.revisions", "--measure", what]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout))


def compare(old: Path, new: Path, pairs: int, only: str) -> bool:
    """Print medians and ratios; True if no median is lower than tolerated."""
    kept = True
    print(f"{f'{pairs} pairs, medians of rates':44} {'old':>12} {'new':>12} {'new/old':>8}   of single pairs")
    for what in (name for name in measures() if only in name):
        for tree in (old, new):
            _measured(tree, what)  # the first run compiles modules and fills caches
        found: dict[Path, list[float]] = {old: [], new: []}
        for pair in range(pairs):
            for tree in (old, new) if pair % 2 == 0 else (new, old):
                found[tree].append(_measured(tree, what))
        before, after = statistics.median(found[old]), statistics.median(found[new])
        single = sorted(two / one for one, two in zip(found[old], found[new], strict=True))
        mark = "" if after >= TOLERANCE * before else "   SLOWER"
        kept = kept and not mark
        spread = f"{single[0]:.2f} to {single[-1]:.2f}"
        print(f"{what:44} {before:12,.2f} {after:12,.2f} {after / before:8.2f}   {spread}{mark}", flush=True)
    return kept


def main() -> int:
    """Compare two revisions. With --measure, make one measurement for the process that compares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", nargs="?", help="the revision to compare with")
    parser.add_argument("new", nargs="?", default="", help="default: this work tree")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", default="", help="measure only what has this word in its name")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measures()[asked.measure]()))
        return 0
    if not asked.old:
        parser.error("name the old revision")
    for revision in (asked.old, asked.new):
        if revision and subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"], cwd=ROOT,
                                       capture_output=True).returncode:  # fmt: skip
            parser.error(f"there is no revision {revision}")
    if asked.pairs < 1:
        parser.error("--pairs: at least 1")
    if not any(asked.only in name for name in measures()):
        parser.error(f"--only {asked.only}: none of {', '.join(measures())}")
    with (
        tempfile.TemporaryDirectory(prefix="vez-revisions-") as folder,
        _checked_out(asked.old, Path(folder)) as old,
        _checked_out(asked.new, Path(folder)) as new,
    ):
        return 0 if compare(old, new, asked.pairs, asked.only) else 1


if __name__ == "__main__":
    sys.exit(main())
