"""Parts of the network engines that only tasks need. `thread_side.py` has the same parts for threads.

A task is told of a loss by its event loop, so a session has a timer for the end of its proof. Objects of an event loop
are used only in that loop, and are dropped when the loop is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import _get_running_loop
from collections.abc import Callable
from typing import Any

from vez.errors import Misuse
from vez.locks.engines.base import Request
from vez.locks.engines.network.engine_base import EngineBase, let_go
from vez.locks.engines.network.holding import NetworkClaim
from vez.locks.engines.network.recipe_run import Clock
from vez.locks.engines.network.session import Session
from vez.locks.engines.wording import warn_unclosed


class TaskClaim(NetworkClaim):
    """A request of a task."""

    def __init__(self, request: Request, wake: Callable[[], None]) -> None:
        super().__init__(request, wake)
        self._loop = asyncio.get_running_loop()

    def _pass_on(self, tell: Callable[[str], None], why: str) -> None:
        self._loop.call_soon(tell, why)

    def at_home(self, action: Callable[..., object], *arguments: object) -> None:
        """Call `action` in the event loop of the claim: now if it is running here, soon if this is a finaliser in
        another thread."""
        if _get_running_loop() is self._loop:
            action(*arguments)
        else:
            self._loop.call_soon_threadsafe(action, *arguments)


class TaskSessionBase(Session):
    """A session with a timer for the end of its proof."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        super().__init__(seconds, clock)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def prove(self, until: float) -> None:
        """Note that the server keeps the session until `until`, and set the timer that reports its loss."""
        super().prove(until)
        self._expect_end()

    def _expect_end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.why_ended() is None:
            self._timer = self._loop.call_later(max(0.0, self.proved_until - self._clock()), self._expect_end)

    def end(self, why: str) -> None:
        """End the session, and tell all requests that depend on it."""
        if self._timer is not None:
            self._timer.cancel()
        super().end(why)


class TaskEngineBase(EngineBase):
    """An engine that belongs to one event loop."""

    _transport: Any
    _sessions: Any
    _loop: asyncio.AbstractEventLoop | None = None
    """The loop of the connections and renewals; None before the first use."""

    def _made(self) -> None:
        """Do nothing: `vez.aio` closes or abandons the engines of a loop."""

    def _enter(self) -> None:
        """Raise `Misuse` in a second event loop. If the first loop is closed, drop its objects and use the second."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None:
            if not self._loop.is_closed():
                raise Misuse("a client of vez.aio belongs to one event loop", hint="connect in each")
            self._sessions.forget()
            self._transport.forget()
        self._loop = loop

    def _dropped(self) -> None:
        """Close what the program has dropped without closing it. In the event loop, because a finaliser may run in any
        thread."""
        self.closed = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed, and its tasks have revoked the sessions
                self._loop.call_soon_threadsafe(let_go, self._sessions, self._transport)
            warn_unclosed(self.url, self)

    def abandon(self) -> None:
        """Mark the engine as closed, because its loop was closed first. Its sessions were revoked when their tasks were
        cancelled, or end with their leases."""
        self.closed = True
