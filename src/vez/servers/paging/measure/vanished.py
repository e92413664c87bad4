"""Clients that read one page and never come back: the memory that they occupy, and for how long."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from vez.errors import EngineUnavailable
from vez.servers.paging.measure.shop import Shop
from vez.servers.paging.process import Client
from vez.servers.paging.refusal import Refused
from vez.servers.paging.views import Limits

PATIENCE_S = 30.0
WhenFull = Literal["refuse", "evict"]


class Vanished(msgspec.Struct, frozen=True):
    """A server whose map of views is full of views that nobody will read."""

    when_full: str
    clients: int
    kept_rows: int
    """Rows that are kept for clients that never come back."""
    refused: int
    """1 if the next client was refused, 0 if it was served."""
    dropped: int
    """Views of the vanished clients that were dropped for the next client."""
    kept_after_expiry: int
    """Rows that are still kept after the unused views have expired."""
    served_after_expiry: int
    """1 if the next client is served after that."""


def vanished(
    shop: Shop, count: int, clients: int = 10, idle_s: float = 1.0, maps: Sequence[WhenFull] = ("refuse", "evict")
) -> list[Vanished]:
    """Measure a map that refuses when it is full, and one that drops the oldest view."""
    return [_in_time(shop, count, clients, idle_s, when_full) for when_full in maps]


def _in_time(shop: Shop, count: int, clients: int, idle_s: float, when_full: WhenFull) -> Vanished:
    """Measure one map. On a busy machine the first view may expire before the last is opened; then measure again with
    views that last longer."""
    while (found := _vanished(shop, count, clients, idle_s, when_full)) is None and idle_s < PATIENCE_S:
        idle_s *= 4
    if found is None:
        raise EngineUnavailable(f"the machine is too busy: {clients} views could not be opened within {idle_s:g} s")
    return found


def _vanished(shop: Shop, count: int, clients: int, idle_s: float, when_full: WhenFull) -> Vanished | None:
    """The behaviour of a full map; None if a view may have expired before the map was full."""
    limits = Limits(views=clients, per_user=2 * clients, idle_s=idle_s, when_full=when_full)
    with shop.server(limits=limits) as server, shop.client(server) as client:
        begin = time.monotonic()
        try:
            names = [_read_one_page_and_go(server.port, client.authorization, count) for _ in range(clients)]
        except Refused as refused:
            if refused.status == 410:  # expired between its opening and its first page
                return None
            raise
        kept = client.ask("GET", "/status")["kept_rows"]
        is_full = _is_refused(client, count)
        dropped = 0 if is_full else sum(_is_gone(client, name) for name in names[:1])
        if time.monotonic() - begin >= idle_s:
            return None
        end = time.monotonic() + PATIENCE_S + idle_s
        while (after := client.ask("GET", "/status"))["views"] and time.monotonic() < end:
            time.sleep(idle_s / 10)
        served = not _is_refused(client, count)
    return Vanished(when_full, clients, kept, int(is_full), dropped, after["kept_rows"], int(served))


def _read_one_page_and_go(port: int, authorization: str, count: int) -> str:
    client = Client(port, authorization)
    name: str = client.first("view", count)["next"]
    client.close()
    return name


def _is_refused(client: Client, count: int) -> bool:
    try:
        client.first("view", count)
    except Refused as refused:
        if refused.status != 503:
            raise
        return True
    return False


def _is_gone(client: Client, name: str) -> bool:
    try:
        client.following("view", name, 1)
    except Refused as refused:
        return refused.status == 410
    return False
