"""Native: a counter in plain Python, to measure the cost of a lock and of an atomic step.

Unlike a `Program`, it does not yield its operations as values.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from vez.threads.real import Outcome, switching


def native_increments(threads: int, rounds: int, switch_us: float | None = None) -> dict[str, Outcome]:
    """Run a counter in four ways: without protection, under a lock, by an atomic call, and one counter per thread."""
    lock, numbers = threading.Lock(), itertools.count(1)
    bare = locked = atomic = 0
    parts: list[int] = []

    def increment_bare() -> None:
        nonlocal bare
        for _ in range(rounds):
            bare += 1

    def increment_locked() -> None:
        nonlocal locked
        for _ in range(rounds):
            with lock:
                locked += 1

    def increment_atomic() -> None:
        nonlocal atomic
        value = 0
        for _ in range(rounds):
            value = next(numbers)  # one call in C: CPython does not switch threads within it
        with lock:
            atomic = max(atomic, value)

    def increment_own() -> None:
        own = 0
        for _ in range(rounds):
            own += 1
        parts.append(own)

    ways: dict[str, tuple[Callable[[], None], Callable[[], int]]] = {
        "bare counter += 1": (increment_bare, lambda: bare),
        "the same, with a lock": (increment_locked, lambda: locked),
        "atomic: next(count)": (increment_atomic, lambda: atomic),
        "one per thread, summed": (increment_own, lambda: sum(parts)),
    }
    return {what: _timed(threads, body, result, switch_us) for what, (body, result) in ways.items()}


def _timed(threads: int, body: Callable[[], None], result: Callable[[], int], switch_us: float | None) -> Outcome:
    workers = [threading.Thread(target=body, daemon=True) for _ in range(threads)]
    with switching(switch_us):
        started = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - started
    return Outcome({"counter": result()}, seconds, True)
