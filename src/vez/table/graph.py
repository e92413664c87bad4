"""The wait-for graph: who holds what and waits for what, and whether a wait closes a cycle.

It is not kept: a shell makes a `Node` of each name that a search meets, from the holders of its table and from what
their owners wait for. So it cannot disagree with the tables, and it costs nothing while nobody waits with something in
hand. The names are whatever the shell calls them.

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
    """The name for which its release waits; None if it can go on, or is not known to wait."""
    mine: bool
    """True if the request itself keeps it from being released."""


class Node(NamedTuple, Generic[K]):
    """A name: its holders, and the limit if it is a semaphore."""

    holders: tuple[Link[K], ...]
    limit: int | None


class Wait(NamedTuple, Generic[K]):
    """A part of a cycle: who holds a name and waits for another; None if it is the requester's own holding."""

    who: str
    holds: K
    waits: K | None


def grantable(nodes: Mapping[K, Node[K]]) -> set[K]:
    """The names that are granted at some time, if the request goes on waiting."""
    free: set[K] = set()
    grown = True
    while grown:
        grown = False
        for name in reversed(list(nodes)):  # from the last found to the first: a chain needs one round
            if name not in free and _ends(nodes[name], free):
                free.add(name)
                grown = True
    return free


def _ends(node: Node[K], free: set[K]) -> bool:
    going = [not link.mine and (link.waits is None or link.waits in free) for link in node.holders]
    return all(going) if node.limit is None else len(going) < node.limit or any(going)


def cycle(nodes: Mapping[K, Node[K]], wanted: K) -> tuple[Wait[K], ...] | None:
    """The shortest way from the wanted name to a holding of the requester, over holders that cannot go on.

    None if the name is granted at some time; and if there is no such way: others wait for each other, and the request
    only waits behind them."""
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
