# Generated from task_transport.py by python -m tools.unasync: change that file, not this one.
"""The interface of a transport, for threads. `transport.py` explains the outcomes of a call."""

from __future__ import annotations

from typing import Any, Protocol

from vez.locks.recipes import Reply


class Stream(Protocol):
    """The events of one watch, for a thread."""

    def next(self, seconds: float | None) -> tuple[Any, ...] | None:
        """Wait for the next events. Returns None if there were none for `seconds`. Raises `WatchEnded` if the watch has
        ended."""

    def interrupt(self) -> None:
        """End a `next` of another thread with `WatchEnded`, at once."""

    def close(self) -> None:
        """Close the connection of the watch."""

    def serves(self, watch: Any) -> bool:
        """True if this stream can serve `watch`: it has the same keys and continues at the same revision."""


class Transport(Protocol):
    """Calls and watches for threads. Any thread may use it."""

    @property
    def contacted(self) -> bool:
        """True once any server has answered."""

    def call(self, request: Any, seconds: float) -> Reply:
        """Send a request, and wait at most `seconds` for the reply."""

    def watch(self, watch: Any, seconds: float) -> Stream:
        """Start a watch. Raises `WatchEnded` if no connection could be made within `seconds`."""

    def forget(self) -> None:
        """Drop all connections without telling the server. They belong to the parent of this forked process, or to an
        event loop that was closed."""

    def drop(self) -> None:
        """Close all idle connections without waiting. A connection in use is closed when its call has ended."""

    def close(self) -> None:
        """Close all connections."""
