"""Messages per second of every mutual exclusion algorithm at N = 100 under full contention.

Everybody always wants in, every message takes one unit of time, traces are off. Beside them the minimal loop: a
heap of plain tuples, from which a message is taken and to which its answer is pushed, with as many messages in
flight as there are processes. It does nothing else, so it is a limit for anything that keeps a heap.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from heapq import heappop, heappush

from vez.algorithms import ALGORITHMS
from vez.sim import Scenario, simulate
from vez.sim.scenario import Workload

N = 100
MESSAGES = 60_000
ROUNDS = 3
FLOOR = 0.3


def minimal(messages: int = 10 * MESSAGES) -> tuple[int, int]:
    """A message comes out, an answer goes in."""
    heap: list[tuple[int, int, int, int]] = [(1, number, number, number) for number in range(N)]
    number = N
    for _ in range(messages):
        now, _, to, sender = heappop(heap)
        number += 1
        heappush(heap, (now + 1, number, sender, to))
    return messages, messages


def crowd(name: str, requests: int) -> tuple[int, int]:
    """One run; the number of messages, and of all events: messages, wants, leavings, timers."""
    scenario = Scenario(
        algorithm=name,
        n=N,
        until_ms=1e7,
        max_events=3 * MESSAGES,
        workload=Workload(requests=requests, think_ms=0.0, inside_ms=1.0),
    )
    run = simulate(scenario, ALGORITHMS[name], record=False)
    return sum(run.messages.values()), run.steps


def rates(work: Callable[[], tuple[int, int]]) -> tuple[float, float]:
    """Messages and events per second."""
    gc.collect()
    start = time.perf_counter()
    messages, events = work()
    seconds = time.perf_counter() - start
    return messages / seconds, events / seconds


def main() -> None:
    """The table."""
    names = [name for name, algorithm in ALGORITHMS.items() if algorithm.role == "mutex"]
    requests = {name: max(1, min(100, MESSAGES // max(1, crowd(name, 1)[0]))) for name in names}
    best: dict[str, tuple[float, float]] = dict.fromkeys(["minimal loop", *names], (0.0, 0.0))
    for _ in range(ROUNDS):
        best["minimal loop"] = max(best["minimal loop"], rates(minimal))
        for name in names:
            best[name] = max(best[name], rates(lambda name=name: crowd(name, requests[name])))  # type: ignore[misc]
    print(f"N = {N}, everybody always wants in, best of {ROUNDS} rounds; aim: none below {FLOOR} of the minimal loop.")
    print("An algorithm with few messages per entry spends its time on entries: events count wants and leavings too.")
    print(f"    {'':<26} {'million messages/s':>20} {'ratio':>6} {'million events/s':>18} {'ratio':>6}")
    limit = best["minimal loop"][0]
    for name, (messages, events) in best.items():
        note = "   below the aim" if messages / limit < FLOOR else ""
        numbers = f"{messages / 1e6:20.3f} {messages / limit:6.2f} {events / 1e6:18.3f} {events / limit:6.2f}"
        print(f"    {name:<26} {numbers}{note}", flush=True)
