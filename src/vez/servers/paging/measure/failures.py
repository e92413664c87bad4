"""Failures: the server dies, the client is sent to another server, or a reply is lost."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from vez.servers.paging.measure.pages import ALL_WAYS, KEPT, parameter
from vez.servers.paging.measure.shop import Shop
from vez.servers.paging.pager import WAYS
from vez.servers.paging.process import Client, ServerProcess
from vez.servers.paging.refusal import Refused
from vez.servers.paging.store import Row

RETRIES = 200
RETRY_S = 0.02


class After(msgspec.Struct, frozen=True):
    """The effect of a fault in the middle of a client's reading."""

    way: str
    refused: int
    """Requests that the server refused because it did not know the client, or not its view."""
    log_ins: int
    """Number of times that the client had to send its password again."""
    repeated: int
    """Rows that it had to read again."""
    missed: int
    """Rows that it never got."""
    visited: int
    """Rows that the database visited for the remaining pages."""
    milliseconds: float
    """Time from the fault to the next page with new rows."""


def killed(shop: Shop, count: int, only: Sequence[str] = ALL_WAYS) -> list[After]:
    """The server is killed with SIGKILL in the middle, and started again at the same port."""

    def kill(server: ServerProcess, client: Client) -> None:
        server.kill()
        server.start_again()

    found = []
    for stable in (False, True):
        if ways := [way for way in only if (way == KEPT) == stable]:
            with shop.server(stable=stable, counting=True) as server:
                found += [_interrupted(shop, server, way, count, kill) for way in ways]
    return found


def moved(shop: Shop, count: int) -> list[After]:
    """The client is sent to a second server in the middle. Both servers have the same database and the same key."""
    found = []
    for stable, ways in ((False, WAYS), (True, (KEPT,))):
        with shop.server(stable=stable, counting=True) as server, shop.server(stable=stable, counting=True) as other:

            def move(server: ServerProcess, client: Client, port: int = other.port) -> None:
                client.close()
                client.go_to(port)

            found += [_interrupted(shop, server, way, count, move) for way in ways]
    return found


def _interrupted(
    shop: Shop, server: ServerProcess, way: str, count: int, fault: Callable[[ServerProcess, Client], None]
) -> After:
    kind = "session" if parameter(way) == "view" else "token"
    got: list[Row] = []
    with shop.client(server, kind) as client:
        reader = _Reader(shop, client, parameter(way), kind, count)
        while len(got) < shop.rows // 2:
            got += reader.next()
        reader.visited, half, took, begin = 0, len(got), 0.0, time.perf_counter()
        fault(server, client)
        while not reader.done:
            got += reader.next()
            if not took and len(set(got)) > half:
                took = time.perf_counter() - begin
    missed = shop.rows - len(set(got))
    return After(way, reader.refused, reader.log_ins, len(got) - len(set(got)), missed, reader.visited, took * 1000)


class _Reader:
    """Reads page after page; logs in again and begins again where it has to."""

    def __init__(self, shop: Shop, client: Client, way: str, kind: str, count: int) -> None:
        self._shop, self._client, self._way, self._kind, self._count = shop, client, way, kind, count
        self._place: str | None = None
        self.refused = self.log_ins = self.visited = 0
        self.done = False

    def next(self) -> list[Row]:
        """The rows of the next page, after logging in again or starting again if necessary."""
        for _ in range(RETRIES):
            try:
                page = self._ask()
            except Refused as refused:
                if refused.status not in (401, 410):
                    raise
                self.refused += 1
                if refused.status == 401:
                    self._client.authorization = self._shop.authorization
                    self._client.log_in(self._kind)
                    self.log_ins += 1
                else:
                    self._place = None  # the view is gone: start again
            except (OSError, http.client.HTTPException):
                time.sleep(RETRY_S)  # the server is not there yet
            else:
                self._place = page["next"]
                self.done = page["next"] is None
                self.visited += page["visited"]
                return [(price, number, name) for price, number, name in page["rows"]]
        raise Refused(503, "the server did not come back")

    def _ask(self) -> dict[str, Any]:
        if self._place is None:
            return self._client.first(self._way, self._count)
        return self._client.following(self._way, self._place, self._count)


class Alternation(msgspec.Struct, frozen=True):
    """A client whose requests go to two servers in turn."""

    way: str
    requests: int
    refused: int


def alternated(shop: Shop, count: int) -> list[Alternation]:
    """Requests go to two servers in turn; a refused request is repeated at the first one."""
    found = []
    for stable, ways in ((False, WAYS), (True, (KEPT,))):
        with shop.server(stable=stable) as server, shop.server(stable=stable) as other, shop.client(server) as client:
            second = Client(other.port, client.authorization)
            found += [_alternated(client, second, way, count) for way in ways]
            second.close()
    return found


def _alternated(client: Client, second: Client, way: str, count: int) -> Alternation:
    turns, requests, refused = (client, second), 1, 0
    page = client.first(parameter(way), count)
    while page["next"] is not None:
        requests += 1
        try:
            page = turns[requests % 2 == 0].following(parameter(way), page["next"], count)
        except Refused:
            refused += 1
            page = client.following(parameter(way), page["next"], count)
    return Alternation(way, requests, refused)


class LostReply(msgspec.Struct, frozen=True):
    """A client that asks for the second page again, because the reply was lost."""

    way: str
    missed: int
    """Rows of the second page that it never gets."""


def lost_reply(shop: Shop, count: int) -> list[LostReply]:
    """The connection breaks when the reply has left the server; the client asks again."""
    wanted = set(shop.store.everything().rows[count : 2 * count])
    found = []
    with shop.server() as server, shop.client(server) as client:
        for way, step in (*((way, None) for way in WAYS), ("view", 1)):
            place = client.first(way, count)["next"]
            fields: dict[str, Any] = {"view" if way == "view" else "cursor": place, "count": count}
            _ask_and_hang_up(server.port, client.authorization, fields | ({} if step is None else {"step": step}))
            again = client.following(way, place, count, step)
            missed = len(wanted - {tuple(row) for row in again["rows"]})
            found.append(LostReply(way if step is None else "view, with steps", missed))
    return found


def _ask_and_hang_up(port: int, authorization: str, fields: dict[str, Any]) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=10)) as connection:
        head = f"GET /rows?{urlencode(fields)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n\r\n"
        connection.sendall(head.encode())
        connection.recv(1)  # the server has done its part
