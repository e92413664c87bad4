"""Deadlock: finds a deadlock of real threads while it lasts, and names the threads and locks in it.

A blocked thread does not change shared memory. So if each of some threads is blocked in the same call before and after
their waits are read, all reads were of one state. No time has to pass to be sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vez.threads.shared import Life, Shared

WaitFor = Mapping[str, tuple[str, str]]
"""Blocked thread → the object that it waits for, and the thread that holds the object (empty if none)."""


def find_deadlock(shared: Shared, lives: Sequence[Life]) -> dict[str, tuple[str, str]]:
    """The wait-for graph of threads that can never continue: a cycle, or all live threads if all are blocked.

    Empty if there is no deadlock.
    """
    before = [(life, life.waits) for life in lives]
    waits = {life.name: what for life, what in before if what is not None and what.stuck()}
    holders = {lock: held[0] for lock, held in list(shared.holders.items())}
    graph = {name: (what.what, what.thread or holders.get(what.what, "")) for name, what in waits.items()}
    if len(waits) < len(before):
        members = set(cycle(graph)[::2])
        graph = {name: edge for name, edge in graph.items() if name in members}
    same = all(life.waits is what for life, what in before if life.name in graph)
    return graph if same else {}


def cycle(graph: WaitFor) -> list[str]:
    """A closed cycle of threads and the objects that they wait for: T1, lock1, T2, lock2, T1. Empty if none exists."""
    for start in graph:
        way, at = [start], graph[start]
        while at[1] and at[1] not in way and at[1] in graph:
            way += [at[0], at[1]]
            at = graph[at[1]]
        if at[1] == start:
            return [*way, at[0], start]
    return []


def wait_for_lines(graph: WaitFor) -> list[str]:
    """The graph as text, one line per edge, and a line for a cycle if there is one."""
    lines = [
        f"{thread} → {what}" + (f" → {held}" if held else " (nobody will come)")
        for thread, (what, held) in graph.items()
    ]
    found = cycle(graph)
    return [*lines, "a cycle: " + " → ".join(found)] if found else lines
