"""The checker beside Spin: same protocols, same atomic steps, verdicts and counts compared, time to verdict.

Time to verdict is everything that a user waits for: for vez the start of Python and the imports, for Spin also
generating and compiling its verifier. Both are run alternately and the least time of each is taken, because the
machine's other work only ever adds. Spin and gcc come from the distribution's packages (apt-get install spin gcc).
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from vez.algorithms import ALGORITHMS

PROMELA = Path(__file__).parent / "promela"
ROUNDS = 3
IDS = "5,1,8,3,6,2,7,4"

CASES: tuple[tuple[str, list[str], str, list[str], bool], ...] = (
    (
        "ricart-agrawala n=4, whole graph",
        ["ricart-agrawala", "-n", "4", "--fifo"],
        "ricart_agrawala",
        ["-DNOREDUCE"],
        True,
    ),
    (
        "dolev-klawe-rodeh n=8, whole graph",
        ["dolev-klawe-rodeh", "--ids", IDS],
        "dolev_klawe_rodeh",
        ["-DNOREDUCE"],
        True,
    ),
    (
        "dolev-klawe-rodeh n=8, partial order",
        ["dolev-klawe-rodeh", "--ids", IDS, "--reduce"],
        "dolev_klawe_rodeh_reducible",
        [],
        False,
    ),
)


class Measured(dict[str, Any]):
    """What one tool said and took."""


def vez(arguments: list[str]) -> Measured:
    """Time to verdict of `vez check`, in a process of its own."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "vez", "check", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - started
    found = json.loads(done.stdout)
    return Measured(
        seconds=seconds,
        search=found["seconds"],
        states=found["states"],
        transitions=found["transitions"],
        holds=all(entry["status"] == "holds" for entry in found["properties"].values()),
        bytes=found["bytes_per_state"],
        what="a stored state, table and parents included",
    )


def spin(model: str, flags: list[str]) -> Measured:
    """Time to verdict of Spin: generate, compile, run."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run(["spin", "-a", str(PROMELA / f"{model}.pml")], cwd=folder, check=True, capture_output=True)
        compile_ = ["gcc", "-w", "-O2", "-DSAFETY", "-DMEMLIM=8000", *flags, "-o", "pan", "pan.c"]
        subprocess.run(compile_, cwd=folder, check=True)
        compiled = time.perf_counter()
        done = subprocess.run(["./pan", "-m1000000", "-w24"], cwd=folder, capture_output=True, text=True, check=True)
        ended = time.perf_counter()
    states, transitions = (
        int(found[1]) if (found := re.search(rf"(\d+) {what}", done.stdout)) else -1
        for what in ("states, stored", "transitions")
    )
    vector = re.search(r"State-vector (\d+) byte", done.stdout)
    return Measured(
        seconds=ended - started,
        search=ended - compiled,
        states=states,
        transitions=transitions,
        holds="errors: 0" in done.stdout,
        bytes=int(vector[1]) if vector else -1,
        what="of state vector",
    )


def main() -> None:
    """Print the comparison."""
    if shutil.which("spin") is None or shutil.which("gcc") is None:
        print("spin or gcc is missing: apt-get install spin gcc")
        return
    for title, arguments, model, flags, comparable in CASES:
        if arguments[0] not in ALGORITHMS:
            print(f"{title}: not in the catalogue")
            continue
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(vez(arguments))
            theirs.append(spin(model, flags))
        _print(title, min(ours, key=_seconds), min(theirs, key=_seconds), comparable)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"largest process of all: {children / 1024:,.0f} MiB")


def _seconds(measured: Measured) -> float:
    return float(measured["seconds"])


def _print(title: str, ours: Measured, theirs: Measured, comparable: bool) -> None:
    print(title)
    for name, found in (("vez", ours), ("spin", theirs)):
        rate = found["transitions"] / found["search"] if found["search"] else 0
        print(
            f"  {name:5} {found['seconds']:7.2f} s to the verdict, {found['search']:7.2f} s of search; "
            f"{found['states']:>9,} states, {found['transitions']:>10,} transitions, {rate:>11,.0f}/s, "
            f"{found['bytes']:g} bytes {found['what']}; {'holds' if found['holds'] else 'broken'}"
        )
    same = ours["states"] == theirs["states"] and ours["transitions"] + 1 == theirs["transitions"]
    verdict = "same verdict" if ours["holds"] == theirs["holds"] else "DIFFERENT VERDICTS"
    counts = (
        ("same states and transitions (Spin counts the start)" if same else "DIFFERENT COUNTS")
        if comparable
        else ("different granularity, so counts are not compared")
    )
    print(f"  {verdict}; {counts}; vez takes {ours['seconds'] / theirs['seconds']:.2f} times Spin's time to verdict")


if __name__ == "__main__":
    main()
