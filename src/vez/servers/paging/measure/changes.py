"""Rows inserted and removed while a client reads: the rows that each way repeats, misses, or shows after removal."""

from __future__ import annotations

from collections import Counter

import msgspec

from vez.servers.paging.measure.shop import LOWEST, PRICES, Shop
from vez.servers.paging.pager import WAYS
from vez.servers.paging.process import Client
from vez.servers.paging.store import Row

CHANGES = ("insert behind", "remove behind", "insert ahead", "remove ahead")
"""Behind are the rows that the client has already read, ahead are the rows that it has still to read."""


class Seen(msgspec.Struct, frozen=True):
    """The rows that a client saw of a table that changed once after each page."""

    way: str
    change: str
    times: int
    """Rows inserted or removed while the client was reading."""
    repeated: int
    """Rows that it got twice."""
    missed: int
    """Rows that existed all the time, and that it did not get."""
    stale: int
    """Rows that it got after they were removed."""
    new: int
    """Inserted rows that it got."""


def changes_seen(shop: Shop, count: int) -> list[Seen]:
    """All ways under all changes."""
    found = []
    with shop.server() as server, shop.client(server) as client:
        for way in WAYS:
            for change in CHANGES:
                shop.restock()
                found.append(_seen(shop, client, way, change, count))
    return found


def _seen(shop: Shop, client: Client, way: str, change: str, count: int) -> Seen:
    before = {number for _, number, _ in shop.store.everything().rows}
    got: list[int] = []
    inserted: set[int] = set()
    removed: set[int] = set()
    stale = 0
    page = client.first(way, count)
    while True:
        stale += sum(row[1] in removed for row in page["rows"])
        got += [row[1] for row in page["rows"]]
        if page["next"] is None:
            break
        if change.startswith("insert"):
            inserted.add(_insert(shop, change, len(inserted)))
        else:
            removed.add(_remove(shop, change, got, removed))
        page = client.following(way, page["next"], count)
    repeated = sum(times - 1 for times in Counter(got).values())
    missed = len(before - removed - set(got))
    return Seen(way, change, len(inserted) + len(removed), repeated, missed, stale, len(inserted & set(got)))


def _insert(shop: Shop, change: str, done: int) -> int:
    number = shop.rows + 1 + done
    price = LOWEST - 1 if change == "insert behind" else LOWEST + PRICES
    shop.store.insert([(price, number, f"new product {number}")])
    return number


def _remove(shop: Shop, change: str, got: list[int], removed: set[int]) -> int:
    if change == "remove behind":
        number = next(number for number in got if number not in removed)
    else:
        last: Row = shop.store.everything().rows[-1]
        number = last[1]
    shop.store.remove([number])
    return number
