"""One election written three ways: a minimal loop, SimPy, and vez with traces off.

`chang-roberts` on a ring of random identifiers, all start, each message takes one unit of time, the winner is announced
round the ring. Every way must send the same number of messages. The ways alternate within a round, and the best round
of each counts, so that a disturbance affects all of them.
"""

from __future__ import annotations

import gc
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from random import Random
from typing import Any

from vez.catalogue.algorithms import ALGORITHMS
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Network

ROUNDS = 5
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def ring(n: int) -> list[int]:
    """Random identifiers 1 to n, in ring order."""
    ids = list(range(1, n + 1))
    Random(n).shuffle(ids)
    return ids


def minimal(ids: list[int], delay: Callable[[], float] | None = None) -> int:
    """A minimal loop written by hand: no objects, no names, no faults. The practical limit."""
    n = len(ids)
    delay = delay or (lambda: 1.0)
    constant = delay() == delay() == 1.0
    leaders = [0] * n
    heap: list[tuple[float, int, int, int, bool]] = []
    number = messages = 0
    for place in range(n):
        number += 1
        messages += 1
        heappush(heap, (1.0 if constant else delay(), number, (place + 1) % n, ids[place], False))
    while heap:
        now, _, place, candidate, elected = heappop(heap)
        mine = ids[place]
        if elected:
            leaders[place] = candidate
            if candidate == mine:
                continue
        elif candidate < mine:
            continue
        elif candidate == mine:
            elected = True
            leaders[place] = candidate
        number += 1
        messages += 1
        heappush(heap, (now + (1.0 if constant else delay()), number, (place + 1) % n, candidate, elected))
    return messages


def with_simpy(ids: list[int]) -> int:
    """The election in SimPy, as its users write it: a process and an inbox for each node."""
    import simpy

    environment: Any = simpy.Environment()
    inboxes: list[Any] = [simpy.Store(environment) for _ in ids]
    n, sent, leaders = len(ids), 0, [0] * len(ids)

    def send(place: int, message: tuple[str, int]) -> None:
        nonlocal sent
        sent += 1

        def travel() -> Generator[Any, Any, None]:
            yield environment.timeout(1)
            yield inboxes[place].put(message)

        environment.process(travel())

    def node(place: int) -> Generator[Any, Any, None]:
        mine, right = ids[place], (place + 1) % n
        send(right, ("election", mine))
        while True:
            kind, value = yield inboxes[place].get()
            if kind == "elected":
                leaders[place] = value
                if value == mine:
                    return
                send(right, (kind, value))
            elif value > mine:
                send(right, (kind, value))
            elif value == mine:
                leaders[place] = mine
                send(right, ("elected", mine))

    for place in range(n):
        environment.process(node(place))
    environment.run()
    return sent


def with_vez(ids: list[int], delay: str = "constant(1)") -> int:
    """The election in vez, traces off."""
    return elect("chang-roberts", ids, delay)


def elect(name: str, ids: list[int], delay: str = "constant(1)") -> int:
    """Run an election of the catalogue in which all start. Returns the number of messages."""
    network = Network(delay=delay)
    scenario = Scenario(algorithm=name, ids=tuple(ids), network=network, until_ms=1e9, max_events=10**10)
    run = simulate(scenario, ALGORITHMS[name], record=False)
    if len({leader for leader, _ in run.leaders.values()}) != 1 or len(run.leaders) != len(ids):
        raise SystemExit(f"{name}: {len(run.leaders)} of {len(ids)} processes know a leader")
    return sum(run.messages.values())


def rate(work: Callable[[], int]) -> tuple[int, float]:
    """Messages, and messages per second."""
    gc.collect()
    start = time.perf_counter()
    messages = work()
    return messages, messages / (time.perf_counter() - start)


def compare(n: int) -> None:
    """Print the three ways side by side."""
    ids = ring(n)
    repeats = max(1, 50_000 // (n * 10))
    ways: dict[str, Callable[[], int]] = {
        "minimal loop": lambda: sum(minimal(ids) for _ in range(repeats)),
        "vez": lambda: sum(with_vez(ids) for _ in range(repeats)),
        "SimPy": lambda: with_simpy(ids),
        "minimal loop, random delays": lambda: sum(minimal(ids, Random(1).random) for _ in range(repeats)),
        "vez, random delays": lambda: sum(with_vez(ids, "uniform(0.001, 1)") for _ in range(repeats)),
    }
    best: dict[str, float] = dict.fromkeys(ways, 0.0)
    counts: dict[str, int] = {}
    for turn in range(ROUNDS):
        for name, work in ways.items():
            if name == "SimPy" and turn >= 2:
                continue  # slow, and stable enough without more rounds
            messages, speed = rate(work)
            counts[name] = messages if name == "SimPy" else messages // repeats
            best[name] = max(best[name], speed)
    if len(set(counts.values())) != 1:
        raise SystemExit(f"the ways disagree on the number of messages: {counts}")
    print(f"n = {n:,}: {counts['vez']:,} messages, best of {ROUNDS} rounds")
    for name, speed in best.items():
        base = "minimal loop, random delays" if "random" in name else "minimal loop"
        print(f"    {name:<28} {speed / 1e6:6.3f} million messages/s   {speed / best[base]:5.2f} of the {base}")
    print(f"    vez is {best['vez'] / best['minimal loop']:.2f} of the minimal loop (aim: 0.5) "
          f"and {best['vez'] / best['SimPy']:.1f} times SimPy (aim: 10)", flush=True)  # fmt: skip


def grow() -> None:
    """Print messages and seconds as n grows to a million. Each size runs in its own process, for its memory."""
    print("n·H_n and n·log₂ n beside the messages of an election in which all start, announcement included:")
    for name in ("chang-roberts", "franklin", "tournament"):
        for n in SIZES:
            program = f"from bench.election import report; report({name!r}, {n})"
            subprocess.run([sys.executable, "-c", program], check=True)


def report(name: str, n: int) -> None:
    """One election among n processes."""
    ids = ring(n)
    start = time.perf_counter()
    messages = elect(name, ids)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024
    harmonic = sum(1 / k for k in range(1, n + 1))
    print(
        f"    {name:<14} n = {n:>9,}: {messages:>12,} messages, {messages / (n * harmonic):5.2f} n·H_n, "
        f"{messages / (n * math.log2(n)):5.2f} n·log₂ n; {seconds:7.2f} s, {messages / seconds / 1e6:5.2f} million/s, "
        f"peak {peak:5.2f} GiB",
        flush=True,
    )


def main() -> None:
    """Run all parts."""
    print(f"Python {sys.version.split()[0]}")
    for n in (1_000, 10_000):
        compare(n)
    grow()
