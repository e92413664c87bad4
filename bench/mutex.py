"""Messages per second of every mutual exclusion algorithm at N = 100 under full contention, and the limits.

All processes always want in, every message takes one unit of time, traces are off. Each algorithm is compared with two
limits. The bare loop is a heap of plain tuples from which a message is taken and to which its answer is pushed, with as
many in flight as there are processes. It has no algorithm and no entries, so an algorithm with few messages for an
entry can hardly reach it, however it is written. The version by hand (`bench.by_hand`) is that algorithm under that
workload as a minimal loop; it must send the same messages and have the same entries. The last part shows how `vez
compare` grows with N.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

from bench.by_hand import BY_HAND, play
from vez.catalogue.algorithms import ALGORITHMS
from vez.core import Mutex
from vez.study.compare import mutex as compare_mutex
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Workload

N = 100
MESSAGES = 60_000
ROUNDS = 5
FLOOR = 0.3
SIZES = (9, 36, 72)  # from 33 on, one round and two seeds for each figure: the last two compare like with like


class Crowd(NamedTuple):
    """Result of one run."""

    messages: int
    entries: int
    steps: int


def bare(messages: int = 10 * MESSAGES) -> int:
    """The bare loop: take a message from the heap, push an answer."""
    heap: list[tuple[int, int, int, int]] = [(1, number, number, number) for number in range(N)]
    number = N
    for _ in range(messages):
        now, _, to, sender = heappop(heap)
        number += 1
        heappush(heap, (now + 1, number, sender, to))
    return messages


def contenders(name: str, n: int) -> tuple[int, ...]:
    """Identifiers of the processes that may ask to enter."""
    algorithm = ALGORITHMS[name]
    ids = tuple(range(1, n + 1))
    return algorithm.contenders(ids) if issubclass(algorithm, Mutex) else ()


def crowd(name: str, requests: int, n: int = N) -> Crowd:
    """One run in vez; the steps are messages, requests, releases and timers."""
    scenario = Scenario(
        algorithm=name,
        n=n,
        until_ms=1e7,
        max_events=10**9,
        workload=Workload(requests=requests, think_ms=0.0, inside_ms=1.0),
    )
    run = simulate(scenario, ALGORITHMS[name], record=False)
    if not run.all_served:
        raise SystemExit(f"{name}: not everybody got in")
    return Crowd(sum(run.messages.values()), requests * len(contenders(name, n)), run.steps)


def by_hand(name: str, requests: int, n: int = N) -> Crowd:
    """Run the algorithm written by hand."""
    messages, entries = play(BY_HAND[name], n, contenders(name, n)[0], requests)
    return Crowd(messages, entries, 0)


def rate(work: Callable[[], int]) -> float:
    """Messages per second of processor time, which other programs on the machine do not reduce."""
    gc.collect()
    start = time.process_time()
    messages = work()
    return messages / (time.process_time() - start)


def speeds() -> None:
    """Print the table of rates and ratios. Within a round all alternate, so that a disturbance affects the limits
    too."""
    names = list(BY_HAND)
    requests = {name: max(1, min(100, MESSAGES // crowd(name, 1).messages)) for name in names}
    for name in names:
        run, hand = crowd(name, requests[name]), by_hand(name, requests[name])
        if run[:2] != hand[:2]:
            raise SystemExit(f"{name}: {run.messages, run.entries} messages and entries, by hand {hand[:2]}")
    limit, vez, hands = 0.0, dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for _ in range(ROUNDS):
        limit = max(limit, rate(bare))
        for name in names:
            vez[name] = max(vez[name], rate(lambda name=name: crowd(name, requests[name]).messages))  # type: ignore[misc]
            hands[name] = max(hands[name], rate(lambda name=name: by_hand(name, requests[name]).messages))  # type: ignore[misc]
    print(f"N = {N}, everybody always wants in, best of {ROUNDS} rounds; million messages/s, and ratios of vez.")
    print(f"The bare loop, which knows no algorithm and no entries: {limit / 1e6:.3f}. Aim: none below {FLOOR}.")
    print(
        f"    {'':<26} {'messages':>9} {'entries':>8} {'vez':>7} {'of the bare loop':>17} {'by hand':>8} {'of that':>8}"
    )
    for name in names:
        run = crowd(name, requests[name])
        below = [
            words for words, base in (("the bare loop", limit), ("by hand", hands[name])) if vez[name] < FLOOR * base
        ]
        print(
            f"    {name:<26} {run.messages:9,} {run.entries:8,} {vez[name] / 1e6:7.3f} {vez[name] / limit:17.2f} "
            f"{hands[name] / 1e6:8.3f} {vez[name] / hands[name]:8.2f}{'   below: ' * bool(below)}{', '.join(below)}",
            flush=True,
        )


def scaling() -> None:
    """Print the seconds of a line of `vez compare mutex -n N`, and the power of N with which they grow."""
    names = compare_mutex.names()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for n in SIZES:
        for name in names:
            start = time.process_time()
            compare_mutex.compare(name, n)
            seconds[name].append(time.process_time() - start)
    print("Seconds of one line of `vez compare mutex -n N`, and the power of N with which the last two grow:")
    print(f"    {'N':<26} {' '.join(f'{n:8}' for n in SIZES)} {'power':>8}")
    step = math.log(SIZES[-1] / SIZES[-2])
    everything = [sum(column) for column in zip(*seconds.values(), strict=True)]
    for name, times in (*seconds.items(), ("all", everything)):
        power = math.log(times[-1] / times[-2]) / step
        print(f"    {name:<26} {' '.join(f'{time:8.2f}' for time in times)} {power:8.1f}", flush=True)


def main() -> None:
    """Run all parts."""
    speeds()
    scaling()
