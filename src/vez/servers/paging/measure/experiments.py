"""All experiments by name, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from vez.servers.paging.measure.changes import Seen, changes_seen
from vez.servers.paging.measure.failures import After, Alternation, LostReply, alternated, killed, lost_reply, moved
from vez.servers.paging.measure.identity import Identity, identities
from vez.servers.paging.measure.notices import Notices, notices
from vez.servers.paging.measure.pages import Cost, page_costs
from vez.servers.paging.measure.repetition import Repetition, repetitions
from vez.servers.paging.measure.shop import Shop
from vez.servers.paging.measure.vanished import Vanished, vanished

NEW_ROWS = 4
REQUESTS = 20

EXPERIMENTS: dict[str, Callable[[Shop, int], Any]] = {
    "repeated": repetitions,
    "alternated": alternated,
    "notices": lambda shop, count: notices(shop, NEW_ROWS),
    "costs": page_costs,
    "changes": changes_seen,
    "killed": killed,
    "moved": moved,
    "lost_replies": lost_reply,
    "vanished": vanished,
    "identities": lambda shop, count: identities(shop, REQUESTS),
}
"""The experiments. Each takes a shop and the number of rows of a page, and returns the field of `Found` with its
name."""
TABLE = ("repeated", "alternated", "notices", "costs", "changes", "killed", "identities")
"""The experiments that the comparison needs."""


class Found(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results, and the setting in which they were measured."""

    database: str
    model: str
    rows: int
    page: int
    repeated: list[Repetition] = []
    alternated: list[Alternation] = []
    notices: Notices | None = None
    costs: list[Cost] = []
    changes: list[Seen] = []
    killed: list[After] = []
    moved: list[After] = []
    lost_replies: list[LostReply] = []
    vanished: list[Vanished] = []
    identities: list[Identity] = []


def run(shop: Shop, database: str, page: int, names: Iterable[str], step: Callable[[str], None]) -> Found:
    """Run some experiments, each on a shop as it was at the beginning."""
    results = {}
    for name in names:
        shop.restock()
        results[name] = EXPERIMENTS[name](shop, page)
        step(name)
    return Found(database=database, model=shop.model, rows=shop.rows, page=page, **results)
