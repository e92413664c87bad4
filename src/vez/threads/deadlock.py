"""Deadlock of real threads: seen as it stands, and named.

A thread that is blocked does nothing to shared memory. So if each of some threads was blocked in the same call before
and after one looked at what all of them wait for, the look was at one state. No time has to pass to be sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vez.threads.shared import Life, Shared

WaitFor = Mapping[str, tuple[str, str]]
"""Of each blocked thread: on what it waits, and which thread has it (or nobody)."""


def find_deadlock(shared: Shared, lives: Sequence[Life]) -> dict[str, tuple[str, str]]:
    """Who waits for whom, if some threads can never go on: a cycle, or all of the living blocked. Else empty."""
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
    """A cycle of threads and what they wait for, closed: T1, lock1, T2, lock2, T1. Empty if there is none."""
    for start in graph:
        way, at = [start], graph[start]
        while at[1] and at[1] not in way and at[1] in graph:
            way += [at[0], at[1]]
            at = graph[at[1]]
        if at[1] == start:
            return [*way, at[0], start]
    return []


def wait_for_lines(graph: WaitFor) -> list[str]:
    """The graph, a line an edge; a cycle is said to be one."""
    lines = [
        f"{thread} → {what}" + (f" → {held}" if held else " (nobody will come)")
        for thread, (what, held) in graph.items()
    ]
    found = cycle(graph)
    return [*lines, "a cycle: " + " → ".join(found)] if found else lines
