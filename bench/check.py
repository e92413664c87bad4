"""The checker beside Spin: same protocols, same atomic steps, verdicts and counts compared, time to verdict.

Time to verdict is the whole time that a user waits: for vez it includes the start of Python and the imports, for Spin
also generating and compiling its verifier. Both are run alternately and the least time of each is taken, because other
work of the machine only adds time. Spin and gcc come from the distribution's packages (apt-get install spin gcc). The
last part, without Spin, measures the gain of a second core, and the memory of more than ten million states.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PROMELA = Path(__file__).parent / "promela"
IDS = (5, 1, 8, 3, 6, 2, 7, 4, 9, 10, 12, 11)
WHOLE = ["-DNOREDUCE"]
LONG_S = 20.0
"""Seconds of the first round above which there is no second round."""

MILLIONS = ["dolev-klawe-rodeh", "--ids", ",".join(map(str, IDS[:10]))]
"""A search with 15,460,940 states."""


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment as after an installation: pip compiles the modules, so Python need not do it at every start."""


class Instance(NamedTuple):
    """One configuration, for both tools."""

    title: str
    arguments: list[str]
    model: str
    defines: dict[str, str]
    flags: list[str]
    comparable: bool


class Measured(NamedTuple):
    """Verdict, counts and time of one tool."""

    seconds: float
    search: float
    states: int
    transitions: int
    holds: bool
    peak_bytes: int


def ricart_agrawala(n: int, entries: int) -> Instance:
    """Each process asks a number of times; every interleaving is explored."""
    title = f"ricart-agrawala n={n}, {entries} request{'s' * (entries != 1)} each"
    arguments = ["ricart-agrawala", "-n", str(n), "--fifo", "--requests", str(entries)]
    return Instance(title, arguments, "ricart_agrawala", {"N": str(n), "ENTRIES": str(entries)}, WHOLE, True)


def dolev_klawe_rodeh(n: int, *, reduce: bool) -> Instance:
    """Every process starts; every interleaving, or those that the partial-order reduction of each tool needs."""
    arguments = ["dolev-klawe-rodeh", "--ids", ",".join(map(str, IDS[:n]))]
    terms = " + ".join(f"(_pid == {place}) * {process}" for place, process in enumerate(IDS[:n]))
    defines = {"N": str(n), "IDENTIFIER": f"({terms})"}
    if reduce:
        title = f"dolev-klawe-rodeh n={n}, reduced"
        return Instance(title, [*arguments, "--reduce"], "dolev_klawe_rodeh_reducible", defines, [], False)
    return Instance(f"dolev-klawe-rodeh n={n}", arguments, "dolev_klawe_rodeh", defines, WHOLE, True)


INSTANCES = (
    *(ricart_agrawala(n, entries) for n, entries in ((3, 1), (3, 2), (4, 1))),
    *(dolev_klawe_rodeh(n, reduce=False) for n in range(3, 10)),
    *(dolev_klawe_rodeh(n, reduce=True) for n in (*range(3, 10), 12)),
)


def vez(arguments: list[str]) -> Measured:
    """Time to verdict of `vez check`, in a process of its own."""
    command = [sys.executable, "-m", "vez", "check", *arguments, "--json"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Measured(
        seconds=time.perf_counter() - started,
        search=found["seconds"],
        states=found["states"],
        transitions=found["transitions"],
        holds=all(entry["status"] == "holds" for entry in found["properties"].values()),
        peak_bytes=usage.ru_maxrss * 1024,
    )


def spin(instance: Instance) -> Measured:
    """Time to verdict of Spin: generate, compile, run."""
    defines = "".join(f"#define {name} {value}\n" for name, value in instance.defines.items())
    with tempfile.TemporaryDirectory() as folder:
        text = (PROMELA / f"{instance.model}.pml").read_text(encoding="utf-8")
        Path(folder, "model.pml").write_text(defines + text, encoding="utf-8")
        started = time.perf_counter()
        subprocess.run(["spin", "-a", "model.pml"], cwd=folder, check=True, capture_output=True)
        compile_ = ["gcc", "-w", "-O2", "-DSAFETY", "-DMEMLIM=8000", *instance.flags, "-o", "pan", "pan.c"]
        subprocess.run(compile_, cwd=folder, check=True)
        compiled = time.perf_counter()
        done = subprocess.run(["./pan", "-m1000000", "-w24"], cwd=folder, capture_output=True, text=True, check=True)
        ended = time.perf_counter()
    states, transitions = (
        int(found[1]) if (found := re.search(rf"(\d+) {what}", done.stdout)) else -1
        for what in ("states, stored", "transitions")
    )
    memory = re.search(r"([\d.]+)\ttotal actual memory usage", done.stdout)
    return Measured(
        seconds=ended - started,
        search=ended - compiled,
        states=states,
        transitions=transitions,
        holds="errors: 0" in done.stdout,
        peak_bytes=int(float(memory[1]) * (1 << 20)) if memory else -1,
    )


def main() -> None:
    """Print the comparison."""
    with tempfile.TemporaryDirectory() as compiled:
        ENVIRONMENT["PYTHONPYCACHEPREFIX"] = compiled
        vez(["chang-roberts", "-n", "2"])
        if shutil.which("spin") is None or shutil.which("gcc") is None:
            print("spin or gcc is missing: apt-get install spin gcc")
        else:
            print(
                f"{'time to the verdict (of it, search)':42} {'vez':>15} {'Spin':>15} {'ratio':>6}   states, verdicts"
            )
            for instance in INSTANCES:
                _compare(instance)
        _two_cores()


def _compare(instance: Instance) -> None:
    ours, theirs, started = [], [], time.perf_counter()
    for _ in range(3):
        ours.append(vez(instance.arguments))
        theirs.append(spin(instance))
        if time.perf_counter() - started > LONG_S:
            break
    one, two = min(ours), min(theirs)
    took = [f"{found.seconds:6.2f} ({found.search:5.2f}) s" for found in (one, two)]
    verdict = "same verdict" if one.holds == two.holds else "DIFFERENT VERDICTS"
    same = one.states == two.states and one.transitions + 1 == two.transitions  # Spin counts the start
    counts = f"{one.states:,} states, {one.transitions:,} transitions"
    if not instance.comparable:
        counts = f"{one.states:,} states, Spin {two.states:,} in finer steps"
    elif not same:
        counts += f"; DIFFERENT COUNTS, Spin {two.states:,} and {two.transitions:,}"
    ratio = one.seconds / two.seconds
    print(f"{instance.title:42} {took[0]:>15} {took[1]:>15} {ratio:6.2f}   {counts}; {verdict}", flush=True)


def _two_cores() -> None:
    """Compare one core with two on three searches; the last is the one with the most states."""
    for title, arguments in (
        ("ricart-agrawala n=4", ["ricart-agrawala", "-n", "4", "--fifo"]),
        ("dolev-klawe-rodeh n=9", dolev_klawe_rodeh(9, reduce=False).arguments),
        ("dolev-klawe-rodeh n=10", MILLIONS),
    ):
        started = time.perf_counter()
        runs: list[list[Measured]] = []
        while not runs or (len(runs) < 3 and time.perf_counter() - started < LONG_S):
            runs.append([vez([*arguments, "--jobs", str(workers)]) for workers in (1, 2)])
        one, two = (min(found, key=lambda found: found.search) for found in zip(*runs, strict=True))
        print(
            f"{title}: {one.states:,} states, search {one.search:.2f} s on one core "
            f"({one.transitions / one.search:,.0f} transitions/s), {two.search:.2f} s on two "
            f"({two.transitions / two.search:,.0f}), {one.search / two.search:.2f} times as fast; "
            f"peak {two.peak_bytes / two.states:.0f} bytes a state, {two.peak_bytes >> 20:,} MiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
