"""The common loop, with the application: a process outside wants in again at once, and stays for one unit of time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

LINGER = 10
"""Time for which a run continues after the last stay, for algorithms that send messages for ever."""

Handler = Callable[[int, int, int, Any], None]
"""Time, process, sender, value."""
Heap = list[tuple[int, int, Handler, int, int, Any]]
Number = Callable[[], int]
Enter = Callable[[int, int], None]
Handlers = tuple[Handler, Callable[[int, int], None]]
"""The handlers for a request of a process, and for the end of its stay."""
Algorithm = Callable[[int, Heap, Number, Enter, list[int]], Handlers]


def play(algorithm: Algorithm, n: int, first: int, requests: int) -> tuple[int, int]:
    """One run in which the processes from `first` on want in. Returns the numbers of messages and of entries."""
    heap: Heap = []
    number = count().__next__
    free = [0]  # entries of the heap that do not count as messages: timers, and messages to oneself
    guests = n + 1 - first
    left = [requests - 1] * (n + 1)
    entries = 0
    until = inf

    def enter(now: int, me: int) -> None:
        heappush(heap, (now + 1, number(), leave, me, 0, 0))

    def leave(now: int, me: int, sender: int, value: int) -> None:
        nonlocal entries, until
        entries += 1
        on_done(now, me)
        if left[me]:
            left[me] -= 1
            heappush(heap, (now, number(), on_want, me, 0, 0))
        elif entries == requests * guests:
            until = now + LINGER

    on_want, on_done = algorithm(n, heap, number, enter, free)
    for me in range(first, n + 1):
        on_want(0, me, 0, 0)
    while heap:
        now, _, handle, to, sender, value = heappop(heap)
        if now > until:
            break
        handle(now, to, sender, value)
    wants_and_leavings = 2 * entries - guests
    return number() - free[0] - wants_and_leavings, entries
