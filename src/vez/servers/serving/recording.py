"""Recording of a server's work: counts always, spans of time if requested."""

from __future__ import annotations

import threading
import time
from enum import StrEnum

import msgspec


class Phase(StrEnum):
    """The phase of a request during a span."""

    WAIT = "wait"
    RECEIVE = "receive"
    DECIDE = "decide"
    SEND = "send"
    BLOCKED = "blocked"


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One request in one phase, in the lane of a thread or of a queue. Times in seconds of the monotonic clock."""

    lane: str
    phase: Phase
    request: int
    begin: float
    end: float


class Recorder:
    """Keeps the first `most` spans."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self.spans: list[Span] = []

    def add(self, lane: str, phase: Phase, request: int, begin: float, end: float | None = None) -> None:
        """Keep a span, which ends now unless `end` is given."""
        if len(self.spans) < self._most:
            self.spans.append(Span(lane, phase, request, begin, time.monotonic() if end is None else end))


class Counts:
    """Numbers of connections and requests, by their outcome. Each field only grows."""

    FIELDS = (
        "accepted", "requests", "answered", "refused", "limited", "malformed", "slow", "vanished", "failed", "evicted",
        "cut",
    )  # fmt: skip

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.accepted = 0
        """Accepted connections."""
        self.requests = 0
        """Requests that arrived whole."""
        self.answered = 0
        """Answers that were sent; for `loop`, written to the connection."""
        self.refused = 0
        """Requests that got a 503 because queue or threads were at their limit."""
        self.limited = 0
        """Requests that got a 429."""
        self.malformed = 0
        """Requests that are not HTTP, or too large."""
        self.slow = 0
        """Connections cut because a request did not arrive, or an answer was not taken, in time."""
        self.vanished = 0
        """Connections that ended inside a request or an answer."""
        self.failed = 0
        """Requests for which the service raised an exception; they got a 500."""
        self.evicted = 0
        """Idle connections closed to make room."""
        self.cut = 0
        """Connections whose request was not done in the grace time when the server stopped."""

    def add(self, field: str, many: int = 1) -> None:
        """Add `many` to a field, under a lock, because `+= 1` is not atomic on every interpreter."""
        with self._lock:
            setattr(self, field, getattr(self, field) + many)

    def as_dict(self) -> dict[str, int]:
        """All fields."""
        return {field: getattr(self, field) for field in self.FIELDS}
