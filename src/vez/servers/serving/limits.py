"""Limits of a server: sizes, times, numbers and rates. Each bounds the cost of one client."""

from __future__ import annotations

import threading

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one server. Tests make them small."""

    header_bytes: int = 1 << 14
    """Request line and headers. Browsers send less than 2 KiB, with cookies up to 8 KiB."""
    body_bytes: int = 1 << 20
    """Body of a request."""
    request_s: float = 10.0
    """Seconds for a whole request to arrive, from its first byte. Further bytes do not extend it."""
    answer_s: float = 30.0
    """Seconds for the client to read a whole answer."""
    idle_s: float = 15.0
    """Longest time in seconds between two requests of one connection, and until the first."""
    connections: int = 1000
    """Largest number of open connections. At the limit the one that was idle longest is closed; if all are busy, none
    is accepted."""
    backlog: int = 512
    """Connections that the kernel keeps until they are accepted."""
    requests_a_second: float = 0.0
    """Requests of one address, on average; more are answered with 429. A burst of one second is free. 0: no limit."""
    grace_s: float = 5.0
    """Seconds that requests have to end when the server stops."""


class Rate:
    """A token bucket for each address, at most `most` of them. The time is a parameter, so that tests need no clock."""

    def __init__(self, a_second: float, most: int = 10_000) -> None:
        self._a_second = a_second
        self._most = most
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}

    def allows(self, address: str, now: float) -> bool:
        """Count one request of an address; False if it is one too many."""
        if self._a_second <= 0:
            return True
        burst = max(1.0, self._a_second)
        with self._lock:
            level, at = self._levels.pop(address, (burst, now))
            level = min(burst, level + (now - at) * self._a_second)
            allowed = level >= 1
            self._levels[address] = (level - 1 if allowed else level, now)
            if len(self._levels) > self._most:
                del self._levels[next(iter(self._levels))]  # the address silent longest has a full bucket anyway
        return allowed
