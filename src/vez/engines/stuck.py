"""Stuck: why a name cannot be granted as long as one more request waits; the result of a search in the wait-for graph.

A lock is granted when all its holders release, a semaphore when one of them does. A request is refused when the name
cannot be granted unless the requester itself releases something: its wait would close a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Stuck(msgspec.Struct, frozen=True):
    """Who holds what and waits for what, and whether this leads back to the requester."""

    links: tuple[str, ...] = ()
    closes: bool = False

    def after(self, link: str) -> Stuck:
        """With one more link in front."""
        return Stuck((link, *self.links), self.closes)


def combined(holders: Sequence[Stuck | None], limit: int | None) -> Stuck | None:
    """Combine what holds for each holder of a name. `limit` is that of a semaphore, None for a lock or an election."""
    stuck = [holder for holder in holders if holder is not None]
    if limit is None:
        return max(stuck, key=lambda holder: holder.closes, default=None)
    if len(holders) < limit or len(stuck) < len(holders):
        return None
    links = dict.fromkeys(link for holder in stuck for link in holder.links)
    return Stuck(tuple(links), any(holder.closes for holder in stuck))
