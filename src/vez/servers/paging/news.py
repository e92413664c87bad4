"""Notifications: the server remembers the address of a client and tells it of new rows.

A client opens a UDP socket and names its port within its session. The server sends a random word to that port, and the
client sends the word back to prove that the port is its own: nobody can have notifications sent to another client. From
then on each new row is told to each subscriber, in a datagram with a number. A datagram may be lost. The numbers show
it, and `missed` returns the latest notifications, so that a client that checks the numbers misses nothing.

The subscription exists only in the memory of one server. A server that was killed has forgotten it, and its clients get
no more datagrams, which looks the same as a time without new rows. A client that wants to be sure renews the
subscription from time to time: it sends its word again, and a server that has forgotten refuses it.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

import msgspec

from vez.servers.paging.refusal import Refused
from vez.servers.paging.store import Row
from vez.servers.paging.watch import Watch

MOST, PER_USER = 1000, 10
"""Largest number of subscribers in total, and of one user."""
KEPT = 100
"""Number of notifications that are kept for clients that missed one."""
LAST_S = 300.0
"""Seconds after which a subscription ends that was not renewed."""
LEAST_PORT = 1024
LONGEST = 1200
"""Largest size of a datagram in bytes, below the smallest usual size of a packet."""


class News(msgspec.Struct, frozen=True):
    """One notification: its number, and the row that is new."""

    number: int
    row: Row


class Notice(msgspec.Struct, frozen=True):
    """A datagram. Only the server and its client know the word, so nobody else can forge one."""

    word: str
    number: int
    row: Row | None = None


class _Subscriber:
    __slots__ = ("confirmed", "port", "until", "user", "word")

    def __init__(self, user: str, port: int, until: float) -> None:
        self.user, self.port, self.until = user, port, until
        self.word = secrets.token_urlsafe(12)
        self.confirmed = False


class Notifier:
    """Tells subscribers of new rows, with one thread for all of them, which runs while there are subscribers."""

    def __init__(self, make_watch: Callable[[], Watch], clock: Callable[[], float] = time.monotonic) -> None:
        self._make_watch, self._clock = make_watch, clock
        self._lock = threading.Lock()
        self._subscribers: dict[str, _Subscriber] = {}
        """Subscribers by session."""
        self._latest: deque[News] = deque(maxlen=KEPT)
        self._number = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None
        self.told = 0
        """Number of datagrams with news that were sent."""

    def subscribe(self, user: str, session: str, port: int) -> None:
        """Send a word to a port of this machine. The client that sends it back is subscribed."""
        if not LEAST_PORT <= port <= 65535:
            raise Refused(400, f"a port is a number from {LEAST_PORT} to 65535, found {port}")
        with self._lock:
            now = self._clock()
            for gone in [name for name, one in self._subscribers.items() if one.until <= now or name == session]:
                del self._subscribers[gone]
            if len(self._subscribers) >= MOST:
                raise Refused(503, f"all {MOST} subscriptions are in use; try again later")
            if sum(one.user == user for one in self._subscribers.values()) >= PER_USER:
                raise Refused(429, f"you have {PER_USER} subscriptions, and more are not allowed; end one")
            subscriber = self._subscribers[session] = _Subscriber(user, port, now + LAST_S)
            self._send(subscriber, Notice(subscriber.word, self._number))

    def confirm(self, session: str, word: str) -> None:
        """Begin to notify a client that has sent its word back. Also renews the subscription."""
        with self._lock:
            subscriber = self._subscribers.get(session)
            if subscriber is None or not hmac.compare_digest(subscriber.word.encode(), word.encode()):
                raise Refused(403, "that is not the word that was sent to your port")
            subscriber.confirmed, subscriber.until = True, self._clock() + LAST_S
            if self._thread is None:
                self._watch = self._make_watch()
                self._thread = threading.Thread(target=self._run, args=(self._watch,), name="notifier", daemon=True)
                self._thread.start()

    def end(self, session: str) -> None:
        """Forget a subscription. No effect if there is none."""
        with self._lock:
            self._subscribers.pop(session, None)

    def missed(self, after: int) -> list[News]:
        """The notifications after a number, as far as they are kept."""
        with self._lock:
            return [news for news in self._latest if news.number > after]

    @property
    def subscribers(self) -> int:
        """Number of subscribers."""
        with self._lock:
            return sum(one.confirmed for one in self._subscribers.values())

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            watch, thread = self._watch, self._thread
        if watch is not None and thread is not None:
            watch.stop()
            thread.join()
        self._socket.close()

    def _run(self, watch: Watch) -> None:
        try:
            for row in watch.changes():
                self._tell(row)
        finally:
            with self._lock:  # the database failed: renewals are refused from now on
                self._subscribers.clear()
                self._thread = None

    def _tell(self, row: Row) -> None:
        with self._lock:
            self._number += 1
            self._latest.append(News(self._number, row))
            now = self._clock()
            for subscriber in self._subscribers.values():
                if subscriber.confirmed and subscriber.until > now:
                    self._send(subscriber, Notice(subscriber.word, self._number, row))
                    self.told += 1

    def _send(self, subscriber: _Subscriber, notice: Notice) -> None:
        data = msgspec.json.encode(notice)
        if len(data) > LONGEST:  # the client sees the number, and asks for the row
            data = msgspec.json.encode(Notice(notice.word, notice.number))
        try:
            self._socket.sendto(data, ("127.0.0.1", subscriber.port))
        except OSError:  # no receiver; the subscription expires
            return
