"""Recipes: the protocol between a client and its server, without any I/O.

A recipe is a generator. It yields the operations that it needs (`Call`, `Wait`, `Proved` …) and is sent their results.
It reads no clock, keeps only immutable locals and knows no sockets. So one recipe serves threads and tasks (the pumps
of `vez.locks.engines.network`). The checker runs it too, against a small model of the server: over every interleaving
of clients, lost replies, expired leases, crashes and withdrawals.
"""

from vez.locks.recipes.base import (
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
