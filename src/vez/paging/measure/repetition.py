"""The same request sent twice: does the answer depend on the request alone, or on those before it?"""

from __future__ import annotations

import msgspec

from vez.paging.measure.shop import Shop
from vez.paging.pager import WAYS


class Repetition(msgspec.Struct, frozen=True):
    """One way."""

    way: str
    requests: int
    answers: int
    """How many of the answers differ."""


def repetitions(shop: Shop, count: int, requests: int = 3) -> list[Repetition]:
    """The second page of every way, asked for several times with the same words."""
    found = []
    with shop.server() as server, shop.client(server) as client:
        for way in WAYS:
            place = client.first(way, count)["next"]
            answers = [client.following(way, place, count)["rows"] for _ in range(requests)]
            found.append(Repetition(way, requests, len({msgspec.json.encode(rows) for rows in answers})))
    return found
