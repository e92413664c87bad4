"""The cost of every page in every way: rows that the database visits, time, and memory of the server per client."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence

import msgspec

from vez.draw.chart import Axis, Chart, Panels, Series
from vez.servers.paging.measure.shop import Shop
from vez.servers.paging.pager import WAYS
from vez.servers.paging.process import Client, ServerProcess
from vez.servers.paging.views import Limits

KEPT = "view, stable"
"""The way `view` with stable memory."""
ALL_WAYS = (*WAYS, KEPT)
CLIENTS = 40
"""Number of clients that have read one page each when the memory is measured."""


class Cost(msgspec.Struct, frozen=True):
    """The costs of one way."""

    way: str
    visited: list[int]
    """Rows that the database visited for each page."""
    milliseconds: list[float]
    """Time of each page, as the client sees it."""
    bytes_per_client: int | None
    """Growth of the server's memory for each client that has read its first page; None if the system does not say."""
    kept_rows: int
    """Rows that the server keeps for each client."""


def page_costs(shop: Shop, count: int, clients: int = CLIENTS) -> list[Cost]:
    """The costs of all ways, with pages of `count` rows."""
    limits = Limits(per_user=10 * clients)
    found = []
    for stable, ways in ((False, WAYS), (True, (KEPT,))):
        with (
            shop.server(stable=stable, counting=True) as counting,
            shop.server(stable=stable, limits=limits) as timing,
            shop.client(counting) as counted,
            shop.client(timing) as timed,
        ):
            for way in ways:  # views come last: memory that a process has given back may still be its own
                visited = [page["visited"] for page in read(counted, parameter(way), count)]
                times = _times(timed, parameter(way), count)
                found.append(Cost(way, visited, times, *_memory(timing, timed, parameter(way), count, clients)))
    return found


def _memory(server: ServerProcess, client: Client, way: str, count: int, clients: int) -> tuple[int | None, int]:
    """Bytes and rows that the server keeps for each client that has read its first page."""
    before = server.memory
    names: list[str] = []
    with contextlib.ExitStack() as stack:
        for _ in range(clients):
            one = Client(server.port, client.authorization)
            stack.callback(one.close)
            names.append(one.first(way, count)["next"])
        kept: int = client.ask("GET", "/status")["kept_rows"]
        after = server.memory
    for name in names if way == "view" else ():
        client.ask("DELETE", "/rows", {"view": name})
    known = before is not None and after is not None
    return max(0, (after or 0) - (before or 0)) // clients if known else None, kept // clients


def parameter(way: str) -> str:
    """The way as the server calls it."""
    return "view" if way == KEPT else way


def read(client: Client, way: str, count: int) -> list[dict[str, int]]:
    """All pages of a client."""
    pages = [client.first(way, count)]
    while pages[-1]["next"] is not None:
        pages.append(client.following(way, pages[-1]["next"], count))
    return pages


def _times(client: Client, way: str, count: int, rounds: int = 3) -> list[float]:
    """The median time of each page over some rounds."""
    measured: list[list[float]] = []
    for _ in range(rounds):
        times: list[float] = []
        begin = time.perf_counter()
        for _ in client.pages(way, count):
            now = time.perf_counter()
            times.append((now - begin) * 1000)
            begin = time.perf_counter()
        measured.append(times)
    return [statistics.median(times) for times in zip(*measured, strict=True)]


def cost_chart(costs: Sequence[Cost], page: int) -> Panels:
    """Two charts over the number of the page, rows visited and time, with a curve for each way."""
    across = Axis(f"page of {page} rows")
    return Panels(
        "What each page costs",
        (
            Chart("rows that the database visits", across, Axis("rows"), tuple(
                Series(cost.way, tuple(enumerate(cost.visited, start=1))) for cost in costs)),
            Chart("time that the client waits", across, Axis("milliseconds", "log"), tuple(
                Series(cost.way, tuple(enumerate(cost.milliseconds, start=1))) for cost in costs)),
        ),
    )  # fmt: skip
