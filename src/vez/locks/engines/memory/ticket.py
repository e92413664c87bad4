"""MemoryTicket: one request of the memory engine. It is a waiter first, and the holding once granted.

The turn table holds the state of the request. The ticket repeats the part that others need without asking the table:
whether it is granted, with which token, and whether it was lost. The effects of the table keep the ticket up to date.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING

from vez.locks.engines import handles, queueing
from vez.locks.engines.base import Place, Request
from vez.locks.engines.memory.line import WHY, Bell, Line, Space
from vez.locks.engines.memory.views import contestant
from vez.locks.engines.owners import leave
from vez.locks.engines.wording import FORKED, RELEASED, TRANSFERRED
from vez.locks.table import Granted, Leave, Transfer, position
from vez.locks.table.effects import Why

if TYPE_CHECKING:
    from vez.locks.engines.cycles import Target
    from vez.locks.engines.owners import Entry


class MemoryTicket:
    """A request; once granted, the holding."""

    # Defaults of the class: most of them never change, and a ticket is made for every turn.
    gone = False
    lost: str | None = None
    entry: Entry | None = None
    waits: Target | None = None
    withdrawn = False
    _tell: Callable[[str], None] | None = None
    _bell: Bell | None = None
    _async_bell: asyncio.Event | None = None

    def __init__(self, space: Space, line: Line, request: Request, loop: asyncio.AbstractEventLoop | None) -> None:
        self.space, self.line, self.request, self.loop = space, line, request, loop
        self.generation = handles.generation
        self.number = self.token = 0
        """Number of the request in the table, 0 if it is not there; and its token, once it is granted."""
        self.inside = False

    def granted(self) -> bool:
        """True if the request is granted. Never blocks."""
        if not self.inside:
            with self.space.lock:
                self.line.tick()
        return self.inside

    def grant(self, token: int) -> None:
        """Mark the request as granted. One statement without a call, because an interrupt arrives only at calls."""
        if not self.gone:
            self.token, self.inside = token, True
            self.wake()

    def make_bell(self) -> None:
        """Create the bell, because the request has to wait."""
        if self.loop is None:
            self._bell = Bell()
        else:
            self._async_bell = asyncio.Event()

    def wake(self) -> None:
        """End a `listen`, from any thread."""
        if self._bell is not None:
            self._bell.ring()
        elif self._async_bell is not None and self.loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed, and its waiters with it
                self.loop.call_soon_threadsafe(self._async_bell.set)

    def poll(self) -> bool:
        """Always False: this engine has no faster way to wait than `listen`."""
        return False

    def listen(self, seconds: float) -> None:
        """Block until woken, for at most `seconds`, and not beyond the end of a grace."""
        if self._bell is not None:
            self._bell.wait(self._at_most(seconds))

    async def listen_async(self, seconds: float) -> None:
        """Async version of `listen`."""
        bell = self._async_bell
        if bell is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._at_most(seconds)):
                    await bell.wait()
            bell.clear()

    def _at_most(self, seconds: float) -> float:
        alarm_ns = self.line.table.alarm_ns
        return seconds if alarm_ns is None else max(0.0, min(seconds, (alarm_ns - monotonic_ns()) / 1e9))

    def confirm(self) -> None:
        """Does nothing: a queue in memory is never replaced."""

    def place(self) -> Place:
        """Our position in the queue."""
        table = self.line.table
        holder = contestant(table.holders[0]) if table.holders else None
        mean = None if table.mean_ns is None else table.mean_ns / 1e9
        return queueing.place(position(table, self.number) or 0, holder, mean, table.limit)

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""
        if self.generation != handles.generation:
            return FORKED
        return RELEASED if self.gone and self.lost is None else self.lost

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release or a transfer is not a loss, and does not change the answer."""
        if self.lost == TRANSFERRED or (self.gone and self.lost is None):
            return None
        return self.why_lost()

    def lose(self, why: Why) -> None:
        """Mark the holding as lost, and tell the holder why."""
        self.lost = WHY[why]
        if self._tell is None or why == "transferred":
            return
        if self.loop is None:
            self._tell(self.lost)
        else:
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._tell, self.lost)

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop or from any thread, when the holding is lost."""
        self._tell = tell

    def release(self) -> None:
        """Leave the queue, or release the holding. If an interrupt cuts this short, the next call completes it, at the
        latest the call of the finaliser. So `gone` is set last."""
        if self.gone:
            return
        if self.generation != handles.generation:
            self.lost = FORKED
            return
        with self.space.lock:
            self.line.leave(self.number, Leave(self.number))
            leave(self.entry)
            self.entry = None
            self.gone, self.inside = True, False

    def __del__(self) -> None:
        try:  # noqa: SIM105  at exit `contextlib` may be gone
            self.release()
        except Exception:  # noqa: S110
            pass

    def lifeline(self) -> None:
        """Always None: holdings in memory end with the process."""

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        with self.space.lock:
            effects = self.line.do(Transfer(self.number, to))
        return next(effect.token for effect in effects if isinstance(effect, Granted))

    transfer_at_once = transfer  # the mutex of a space is held for microseconds only
