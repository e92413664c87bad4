"""What the pumps need of a server: calls, and watches. One transport for threads and one for tasks; only they know the
client library, and no exception of it leaves them.

A call ends in one of four ways, and a transport must tell them apart:

- `Answer`: the reply of the server;
- `Refused`: the server said no, and the call had and will have no effect;
- `Unknown`: no reply came, and the call may have taken effect, or may still;
- `Unreachable` is raised: no server could be reached, and nothing was sent.

`EngineUnavailable` is raised for what will not change by asking again: a refused password, another protocol.
"""

from __future__ import annotations

from typing import Any, Protocol

from vez.errors import EngineUnavailable
from vez.recipes import Reply

CALL_SECONDS = 5.0
"""Longest wait for a reply. Renewals wait less: a third of their lease."""


class Unreachable(EngineUnavailable):
    """No server could be reached, and nothing was sent."""


class WatchEnded(Exception):
    """A watch ended: its connection broke, or the server no longer has the history."""


class Stream(Protocol):
    """The events of one watch, for a thread."""

    def next(self, seconds: float | None) -> tuple[Any, ...] | None:
        """The next events; None if there were none for so long. `WatchEnded` if there will be none."""

    def interrupt(self) -> None:
        """End a `next` of another thread with `WatchEnded`, at once."""

    def close(self) -> None:
        """Close the connection of the watch."""

    def serves(self, watch: Any) -> bool:
        """True if this stream goes on with what the watch asks for."""


class Transport(Protocol):
    """Calls and watches for threads. Any thread may use it."""

    @property
    def contacted(self) -> bool:
        """True once a server has answered."""

    def call(self, request: Any, seconds: float) -> Reply:
        """Ask the server, and wait for the reply at most so long."""

    def watch(self, watch: Any, seconds: float) -> Stream:
        """Begin to watch. `WatchEnded` if no connection could be made in that time."""

    def forget(self) -> None:
        """Drop all connections without a word to the server: they belong to the parent of this forked process."""

    def close(self) -> None:
        """Close all connections."""


class AsyncStream(Protocol):
    """The events of one watch, for a task."""

    async def next(self, seconds: float | None) -> tuple[Any, ...] | None:
        """The next events; None if there were none for so long. `WatchEnded` if there will be none."""

    def interrupt(self) -> None:
        """End a `next` of another task with `WatchEnded`."""

    async def close(self) -> None:
        """Close the connection of the watch."""

    def serves(self, watch: Any) -> bool:
        """True if this stream goes on with what the watch asks for."""


class AsyncTransport(Protocol):
    """Calls and watches for the tasks of one event loop."""

    @property
    def contacted(self) -> bool:
        """True once a server has answered."""

    async def call(self, request: Any, seconds: float) -> Reply:
        """Ask the server, and wait for the reply at most so long."""

    async def watch(self, watch: Any, seconds: float) -> AsyncStream:
        """Begin to watch. `WatchEnded` if no connection could be made in that time."""

    async def close(self) -> None:
        """Close all connections."""
