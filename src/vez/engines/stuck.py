"""Stuck: who cannot go on as long as one more waits, in the words of the wait-for graph.

A lock can be had when all its holders go on, a semaphore when one of them does. The one who asks is refused when what
it asks for cannot be had unless it goes on itself: then its wait would close a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Stuck(msgspec.Struct, frozen=True):
    """Who holds what and waits for what, and whether this leads to the one who asks."""

    links: tuple[str, ...] = ()
    closes: bool = False

    def after(self, link: str) -> Stuck:
        """The same, seen from one step before."""
        return Stuck((link, *self.links), self.closes)


def combined(holders: Sequence[Stuck | None], limit: int | None) -> Stuck | None:
    """Of a name with these holders; `limit` is how many a semaphore has, and nothing for a lock or an election."""
    stuck = [holder for holder in holders if holder is not None]
    if limit is None:
        return max(stuck, key=lambda holder: holder.closes, default=None)
    if len(holders) < limit or len(stuck) < len(holders):
        return None
    links = dict.fromkeys(link for holder in stuck for link in holder.links)
    return Stuck(tuple(links), any(holder.closes for holder in stuck))
