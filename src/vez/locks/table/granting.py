"""Granting: the requests that may hold a name together, and the requests that are granted next.

The rule is the same for readers and writers, permits and exclusive locks: only the first of the queue may be granted.
A reader that comes after a waiting writer waits behind it, although the readers before both are still inside; so a
stream of readers does not starve a writer, nor a stream of writers a reader. The alternative, readers that pass waiting
writers, would serve more readers at once and starve the writers.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from vez.locks.table.places import rank

if TYPE_CHECKING:
    from vez.locks.table.commands import Enlist
    from vez.locks.table.values import Seat, Table


def admits(table: Table, holders: tuple[Seat, ...], asked: Enlist) -> bool:
    """True if a request may hold the name together with these holders. Holders of a lock are all alike."""
    if not holders:
        return True
    if table.kind == "semaphore":
        return len(holders) < table.limit
    return asked.shared and holders[0].asked.shared


def heaviest(candidates: tuple[Seat, ...]) -> Seat:
    """The heaviest candidate, among equals the first."""
    return min(candidates, key=rank)


def next_in_line(table: Table, holders: tuple[Seat, ...], queue: tuple[Seat, ...]) -> tuple[Seat, ...]:
    """The requests of a non-empty queue that are granted now: in an election at most one, otherwise a prefix of it."""
    if table.kind == "election":
        return () if holders else (heaviest(queue),)
    if table.kind == "semaphore":
        return queue[: max(0, table.limit - len(holders))]
    if holders and not admits(table, holders, queue[0].asked):
        return ()
    if not queue[0].asked.shared:
        return queue[:1]
    return tuple(takewhile(lambda seat: seat.asked.shared, queue))
