"""New rows: a client that is told of them, compared with a client that polls."""

from __future__ import annotations

import hmac
import socket
import threading
import time

import msgspec

from vez.servers.paging.measure.shop import LOWEST, PRICES, Shop
from vez.servers.paging.news import Notice
from vez.servers.paging.pager import LONGEST_PAGE
from vez.servers.paging.process import Client
from vez.servers.paging.refusal import Refused

PATIENCE_S = 10.0
ASK_EVERY_S = 0.02
PAUSE_S = 0.1
"""Time between two new rows."""


class Notices(msgspec.Struct, frozen=True):
    """The new rows that a subscriber and a polling client learned of."""

    rows: int
    told: int
    """Number of rows that the subscriber was told of, in the order in which they came."""
    requests_while_waiting: int
    """Requests that the subscriber made meanwhile."""
    asked: int
    """Requests of the polling client until it had seen all rows."""
    in_vain: int
    """Requests of the polling client that brought nothing new."""
    found: int
    """Rows that the polling client found."""
    recovered: int
    """Rows of which the datagram was lost, and that the numbers brought back."""
    told_after_a_kill: int
    """Rows that the subscriber was told of after the server had been killed and started again."""
    renewal_refused: bool
    """True if the new server said that it knows nothing of the subscription."""


class Subscriber:
    """A client with a socket at which it is told of new rows."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(PATIENCE_S)
        self.number = 0
        client.ask("POST", "/subscribe", {"port": self._socket.getsockname()[1]})
        first = msgspec.json.decode(self._socket.recv(4096), type=Notice)
        self._word, self.number = first.word, first.number
        self.renew()

    def renew(self) -> None:
        """Send the server's word back. This begins the subscription, or shows whether it is still valid."""
        self.client.ask("POST", "/subscribe", body=self._word)

    def next(self, patience_s: float = PATIENCE_S) -> int | None:
        """The number of the next row that the client is told of; None if no datagram comes."""
        self._socket.settimeout(patience_s)
        while True:
            try:
                notice = msgspec.json.decode(self._socket.recv(4096), type=Notice)
            except TimeoutError:
                return None
            if hmac.compare_digest(notice.word.encode(), self._word.encode()) and notice.row is not None:
                self.number = notice.number
                return notice.row[1]

    def missed(self, after: int) -> list[int]:
        """The rows of the notifications after a number."""
        return [news["row"][1] for news in self.client.ask("GET", "/news", {"after": after})["news"]]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def notices(shop: Shop, rows: int) -> Notices:
    """Insert this many rows. One client is told of them, another one polls."""
    shop.restock()
    new = [shop.rows + 1 + place for place in range(rows)]
    with shop.server() as server, shop.client(server, "session") as client, shop.client(server) as other:
        subscriber = Subscriber(client)
        before = client.requests
        asking = _Asking(other, new)
        told = []
        for number in new:
            _insert(shop, number)
            told.append(subscriber.next())
            time.sleep(PAUSE_S)
        asking.join(PATIENCE_S)
        waiting = client.requests - before
        recovered = _recovered(shop, subscriber, new[-1])
        server.kill()
        server.start_again()
        client.close()
        _insert(shop, new[-1] + 3)
        silent = subscriber.next(0.5)
        refused = _is_refused(shop, subscriber)
        subscriber.close()
    right = [number for number, wanted in zip(told, new, strict=True) if number == wanted]
    return Notices(
        rows=rows, told=len(right), requests_while_waiting=waiting, asked=asking.asked, in_vain=asking.in_vain,
        found=rows - len(asking.wanted), recovered=recovered, told_after_a_kill=int(silent is not None),
        renewal_refused=refused,
    )  # fmt: skip


class _Asking(threading.Thread):
    """A client that reads to the end of the table, and then polls for the rows after it until it has seen all."""

    def __init__(self, client: Client, wanted: list[int]) -> None:
        super().__init__(daemon=True)
        self._client, self.wanted = client, set(wanted)
        self._place: str = _end(client)
        self.asked = self.in_vain = 0
        self.start()

    def run(self) -> None:
        end = time.monotonic() + PATIENCE_S
        while self.wanted and time.monotonic() < end:
            found = {row[1] for row in self._client.following("keyset", self._place, LONGEST_PAGE)["rows"]}
            self.asked += 1
            self.in_vain += not found & self.wanted
            self.wanted -= found
            time.sleep(ASK_EVERY_S)


def _end(client: Client) -> str:
    """A cursor after the last row. Only a full page has one."""
    page, place = client.first("keyset", 1), ""
    while page["next"] is not None:
        place = page["next"]
        page = client.following("keyset", place, LONGEST_PAGE)
    rest = len(page["rows"])
    return client.following("keyset", place, rest)["next"] if rest else place


def _insert(shop: Shop, number: int) -> None:
    shop.store.insert([(LOWEST + PRICES, number, f"new product {number}")])


def _recovered(shop: Shop, subscriber: Subscriber, last: int) -> int:
    """Insert two more rows. The first datagram is dropped, as a network may do, and the next number shows it."""
    known = subscriber.number
    _insert(shop, last + 1)
    subscriber.next()
    _insert(shop, last + 2)
    subscriber.next()
    gap = subscriber.number > known + 1
    return len(set(subscriber.missed(known)) & {last + 1}) if gap else 0


def _is_refused(shop: Shop, subscriber: Subscriber) -> bool:
    """True if the new server refuses the renewal. The session is gone with the old server, so the client logs in again
    before it sends its word."""
    subscriber.client.authorization = shop.authorization
    subscriber.client.log_in("session")
    try:
        subscriber.renew()
    except Refused as refused:
        return refused.status == 403
    return False
