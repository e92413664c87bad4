"""Send one request several times, to see if the answer depends on the request alone, or on earlier ones."""

from __future__ import annotations

import msgspec

from vez.servers.paging.measure.shop import Shop
from vez.servers.paging.pager import WAYS


class Repetition(msgspec.Struct, frozen=True):
    """The answers of one way."""

    way: str
    requests: int
    answers: int
    """Number of different answers."""


def repetitions(shop: Shop, count: int, requests: int = 3) -> list[Repetition]:
    """Ask for the second page of every way several times, with the same request."""
    found = []
    with shop.server() as server, shop.client(server) as client:
        for way in WAYS:
            place = client.first(way, count)["next"]
            answers = [client.following(way, place, count)["rows"] for _ in range(requests)]
            found.append(Repetition(way, requests, len({msgspec.json.encode(rows) for rows in answers})))
    return found
