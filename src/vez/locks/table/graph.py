"""The wait-for graph: which owner holds and awaits which names, and whether a wait closes a cycle.

The graph is not stored. A shell makes a `Node` of each name that a search meets, from the holders of its table and the
names that their owners wait for. So it cannot disagree with the tables, and it costs nothing while no waiter holds
another name. The shell chooses how names are represented.

A lock and an election are granted when all their holders release, a semaphore when one of them does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Link(NamedTuple, Generic[K]):
    """A holder of a name."""

    who: str
    waits: K | None
    """The name for which the holder waits before it can release; None if it is not known to wait."""
    mine: bool
    """True if this holding cannot be released while the request waits."""


class Node(NamedTuple, Generic[K]):
    """A name: its holders, and the limit if it is a semaphore."""

    holders: tuple[Link[K], ...]
    limit: int | None


class Wait(NamedTuple, Generic[K]):
    """One step of a cycle: a holder of a name that waits for another; None if it is the requester's own holding."""

    who: str
    holds: K
    waits: K | None


def grantable(nodes: Mapping[K, Node[K]]) -> set[K]:
    """The names that will be granted at some time, if the request continues to wait."""
    free: set[K] = set()
    grown = True
    while grown:
        grown = False
        for name in reversed(list(nodes)):  # from the last found to the first: then one pass is enough for a chain
            if name not in free and _ends(nodes[name], free):
                free.add(name)
                grown = True
    return free


def _ends(node: Node[K], free: set[K]) -> bool:
    going = [not link.mine and (link.waits is None or link.waits in free) for link in node.holders]
    return all(going) if node.limit is None else len(going) < node.limit or any(going)


def cycle(nodes: Mapping[K, Node[K]], wanted: K) -> tuple[Wait[K], ...] | None:
    """The shortest path from the wanted name to a holding of the requester, over holders that cannot continue.

    None if the name is granted at some time, or if there is no such path: then others wait for each other, and the
    request only waits behind them."""
    free = grantable(nodes)
    if wanted in free:
        return None
    ways: dict[K, tuple[Wait[K], ...]] = {wanted: ()}
    todo = [wanted]
    for name in todo:
        for link in nodes[name].holders:
            if link.mine:
                return (*ways[name], Wait(link.who, name, None))
            if link.waits is not None and link.waits not in free and link.waits not in ways:
                ways[link.waits] = (*ways[name], Wait(link.who, name, link.waits))
                todo.append(link.waits)
    return None
