"""Recipes: how a client of a server takes turns, without any I/O.

A recipe is a generator. It yields what it wants done (`Call`, `Wait`, `Proved` …) and is sent what came of it. It reads
no clock, keeps only immutable locals and knows no sockets, so one recipe serves threads and tasks (the pumps of
`vez.engines.network`), and the checker drives it too: over every interleaving of clients, lost replies, expired leases,
crashes and withdrawals, against a small model of its server, before it ever meets the real one.
"""

from vez.recipes.base import (
    Answer,
    Call,
    Changed,
    Elapsed,
    Failed,
    Lost,
    Proved,
    Recipe,
    Refused,
    Removed,
    Reply,
    SessionEnded,
    Unknown,
    Unwatched,
    Wait,
    Withdrawn,
)

__all__ = [
    "Answer",
    "Call",
    "Changed",
    "Elapsed",
    "Failed",
    "Lost",
    "Proved",
    "Recipe",
    "Refused",
    "Removed",
    "Reply",
    "SessionEnded",
    "Unknown",
    "Unwatched",
    "Wait",
    "Withdrawn",
]
