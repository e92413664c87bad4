"""A client that reads a page, finds the files that it needs, and fetches them over several connections."""

from __future__ import annotations

import http.client
import queue
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from vez.errors import EngineUnavailable
from vez.servers.fetching.page import INDEX, needed

PATIENCE_S = 60.0


class Fetch(msgspec.Struct, frozen=True):
    """One file. Times are milliseconds since the beginning of the page."""

    name: str
    connection: int
    """Number of the connection that brought it; 0 if unknown."""
    queued: float
    """Time at which the client knows that it needs the file."""
    begin: float
    """Time at which a connection is free for it."""
    sent: float
    """Time at which the connection is open and the request is sent."""
    first: float
    """Time at which the beginning of the answer has arrived."""
    end: float
    size: int = 0


class Load(msgspec.Struct, frozen=True):
    """A whole page."""

    title: str
    connections: int
    fetches: list[Fetch]
    served: list[tuple[float, float]] = []
    """Beginning and end of the server's work on each request, in seconds of its own clock."""

    @property
    def milliseconds(self) -> float:
        """Milliseconds until the last file has arrived."""
        return max(fetch.end for fetch in self.fetches)

    @property
    def at_once(self) -> int:
        """The largest number of requests that were under way at the same time."""
        return most_at_once([(fetch.begin, fetch.end) for fetch in self.fetches])

    @property
    def served_at_once(self) -> int:
        """The largest number of requests that the server worked on at the same time."""
        return most_at_once(self.served)

    @property
    def waits(self) -> int:
        """Length of the longest sequence of requests that the server worked on one after the other: the waits that were
        not hidden."""
        return longest_row(self.served)


def most_at_once(spans: Sequence[tuple[float, float]]) -> int:
    """The largest number of spans that have a moment in common; ends are not part of a span."""
    edges = sorted((at, change) for begin, end in spans for at, change in ((begin, 1), (end, -1)))
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


def longest_row(spans: Sequence[tuple[float, float]]) -> int:
    """The largest number of spans of which each begins when the one before has ended, or later."""
    count, free = 0, float("-inf")
    for begin, end in sorted(spans, key=lambda span: span[1]):
        if begin >= free:
            count, free = count + 1, end
    return count


def load(title: str, host: str, port: int, connections: int, clock: Callable[[], float] = time.perf_counter) -> Load:
    """Fetch the page, then the files that it needs."""
    start = clock()
    client = _Client(host, port, lambda: (clock() - start) * 1000)
    line = client.open(1)
    index, body = line.fetch(INDEX, 0.0)
    fetches = [index, *client.fetch_all(needed(body.decode()), line, connections, index.end)]
    return Load(title, connections, fetches)


class _Client:
    def __init__(self, host: str, port: int, now: Callable[[], float]) -> None:
        self._host, self._port, self.now = host, port, now

    def open(self, number: int) -> _Line:
        return _Line(http.client.HTTPConnection(self._host, self._port, timeout=PATIENCE_S), number, self.now)

    def fetch_all(self, names: Sequence[str], first: _Line, connections: int, queued: float) -> list[Fetch]:
        """Fetch files over this many connections; the first one is open already."""
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in names:
            waiting.put(name)
        done: list[Fetch] = []
        failures: list[Exception] = []

        def work(line: _Line) -> None:
            try:
                while True:
                    done.append(line.fetch(waiting.get_nowait(), queued)[0])
            except queue.Empty:
                return
            except Exception as error:
                failures.append(error)
            finally:
                line.close()

        lines = [first, *(self.open(number) for number in range(2, connections + 1))]
        threads = [threading.Thread(target=work, args=(line,)) for line in lines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return sorted(done, key=lambda fetch: names.index(fetch.name))


class _Line:
    """One connection, over which files come one after the other."""

    def __init__(self, connection: http.client.HTTPConnection, number: int, now: Callable[[], float]) -> None:
        self._connection, self._number, self._now = connection, number, now

    def fetch(self, name: str, queued: float) -> tuple[Fetch, bytes]:
        begin = self._now()
        try:
            self._connection.request("GET", f"/{name}")
            sent = self._now()
            response = self._connection.getresponse()
            first = self._now()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise EngineUnavailable(f"{name} could not be fetched: {error or type(error).__name__}") from error
        if response.status != 200:
            raise EngineUnavailable(f"{name} could not be fetched: status {response.status}")
        return Fetch(name, self._number, queued, begin, sent, first, self._now(), len(body)), body

    def close(self) -> None:
        self._connection.close()
