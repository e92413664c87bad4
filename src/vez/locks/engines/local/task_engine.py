"""The pump for tasks, of engines of one machine: how a task waits for what the core will grant.

Steps that never block run on the event loop: asking, waiting, releasing. The others run in the loop's executor:
opening the directory and the file of a name, looking, pruning, breaking, closing. The search for cycles of waits has
a thread of its own (`search_thread.py`).

Written by hand beside `thread_engine.py`, which is not generated from it: that file says why.
"""

from __future__ import annotations

import asyncio
import time
from _thread import start_new_thread
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import ref

import msgspec

from vez.locks.engines.base import Break, Inspection, Kind, Leader, Progress, Request, Traits
from vez.locks.engines.cycles import forget
from vez.locks.engines.handles import quietly
from vez.locks.engines.local.core import DOORWAY, LocalCore, Superseded, Unprepared, Waiting
from vez.locks.engines.owners import find, held_meanwhile, here, refuse_self
from vez.locks.engines.seam import AsyncEngine, AsyncHolding
from vez.locks.engines.search_thread import in_search_thread
from vez.locks.engines.wording import busy_doorway, client_closed, timed_out

if TYPE_CHECKING:
    from vez.locks.engines.local.core import Blocked

P = ParamSpec("P")
R = TypeVar("R")

_TRANSFER = 5.0
"""Seconds for which a transfer waits for the doorway, where nobody stays for more than microseconds."""


class LocalAsyncHolding(msgspec.Struct, eq=False):
    """A holding of a task. It is a struct because every turn makes one, and an ordinary class costs half a microsecond
    more."""

    waiting: Waiting

    @property
    def token(self) -> int | None:
        """The fencing token."""
        return self.waiting.token

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self.waiting.lost

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held."""
        return self.waiting.why_lost()

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release or a transfer is not a loss, and does not change the answer."""
        return self.waiting.loss()

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when it is lost."""
        self.waiting.on_loss(tell)

    def lifeline(self) -> int | None:
        """A copy of the descriptor on which the lock depends, or None."""
        return self.waiting.lifeline()

    async def release(self) -> None:
        """Release. It never blocks on a local engine."""
        self.waiting.release()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        end = time.monotonic() + _TRANSFER
        while True:
            try:
                return self.waiting.transfer_at_once(to)
            except BlockingIOError:  # the loop must not block
                if time.monotonic() >= end:
                    raise busy_doorway(f"election {self.waiting.request.name!r}", _TRANSFER) from None
                await asyncio.sleep(0.001)


class LocalAsyncEngine(AsyncEngine):
    """An engine of one machine, for the tasks of an event loop. Its core is given, or made by `opens` at the first use,
    which may block."""

    def __init__(self, url: str, traits: Traits, opens: LocalCore | Callable[[], LocalCore]) -> None:
        self.url, self.traits, self._closed = url, traits, False
        self._core: LocalCore | None = opens if isinstance(opens, LocalCore) else None
        self._opens = opens
        self._opening: asyncio.Future[LocalCore] | None = None

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """True if it was closed."""
        return self._closed

    async def _opened(self) -> LocalCore:
        """The core, opened by whoever needs it first; others wait for that."""
        while self._core is None:
            if self._closed:
                raise client_closed(self.url)
            if self._opening is None or self._opening.done():
                self._opening = asyncio.get_running_loop().run_in_executor(None, self._open)
            await asyncio.shield(self._opening)  # if one waiter is cancelled, the others still wait
        return self._core

    def _open(self) -> LocalCore:
        self._core = core = self._opens if isinstance(self._opens, LocalCore) else self._opens()
        if self._closed:  # meanwhile
            core.close()
        return core

    async def _apart(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run what may block in the loop's executor."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: work(*args, **kwargs))

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        core, who = self._core or await self._opened(), find(owner)
        holds = bool(who.entries)
        if holds:
            refuse_self(who, core, request)
        deadline = None if seconds is None else time.monotonic() + (seconds or DOORWAY)
        while True:
            try:
                waiting = core.enlist_async(request, owner, wait=seconds != 0)
            except (BlockingIOError, Unprepared):
                waiting = await self._enlist(core, request, owner, deadline, wait=seconds != 0)
            if waiting is None:
                raise timed_out(request, seconds or 0, url=self.url)
            try:  # with no call since it was enlisted: wherever an interrupt strikes, it is released
                # Written before it waits, not after: after it was granted, others would wait for this.
                waiting.entry = (who, core, ref(waiting), None)
                who.entries.append(waiting.entry)
                if not waiting.inside:
                    blocked = held_meanwhile(who) if holds or here.owner.entries else []
                    await self._wait(core, waiting, blocked, seconds, deadline, progress)
                if core.closed:  # it may have been closed while we were let in
                    core.refuse_if_closed()
                return LocalAsyncHolding(waiting)
            except BaseException as error:
                try:
                    waiting.release()
                except BaseException:  # a second interrupt
                    start_new_thread(quietly, (waiting.release,))
                    raise
                if not isinstance(error, Superseded):
                    raise

    async def _enlist(
        self, core: LocalCore, request: Request, owner: int, deadline: float | None, *, wait: bool
    ) -> Waiting | None:
        pause, prepared = 0.0, False
        while True:
            try:
                return core.enlist_async(request, owner, wait=wait, prepared=prepared)
            except Unprepared:
                await self._apart(core.prepare, request.kind, request.name)
                prepared = True
            except BlockingIOError:
                if deadline is not None and time.monotonic() >= deadline:
                    return None
                await asyncio.sleep(pause)
                pause = min(0.002, pause + 0.0001)

    async def _wait(
        self, core: LocalCore, waiting: Waiting, blocked: Blocked, seconds: float | None, deadline: float | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        """Wait until granted. `blocked` is what cannot be released meanwhile, so that the wait could close a cycle."""
        try:
            again = await self._refuse_cycle(core, waiting, blocked)
            while True:
                left = core.patience(waiting, seconds, deadline, progress)
                await waiting.listen_async(min(left, again - time.monotonic()) if blocked else left)
                if waiting.granted():
                    waiting.confirm()
                    return
                if blocked and time.monotonic() >= again:
                    again = await self._refuse_cycle(core, waiting, blocked)
        finally:
            forget(blocked)

    @staticmethod
    async def _refuse_cycle(core: LocalCore, waiting: Waiting, blocked: Blocked) -> float:
        """`LocalCore.refuse_cycle`, beside the loop."""
        return await in_search_thread(partial(core.refuse_cycle, waiting, blocked)) if blocked else 0.0

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        core = self._core or await self._opened()
        return await self._apart(core.inspect, name, kind) if core.looking_blocks else core.inspect(name, kind)

    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        core = self._core or await self._opened()
        return await self._apart(core.names, prefix, kind) if core.looking_blocks else core.names(prefix, kind)

    async def prune(self, prefix: str = "") -> int:
        core = self._core or await self._opened()
        return await self._apart(core.prune, prefix)

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        core = self._core or await self._opened()
        return await self._apart(core.break_lock, name, reason, kind)

    async def memo(self, name: str, kind: Kind = "lock") -> str | None:
        core = self._core or await self._opened()
        return await self._apart(core.memo, name, kind)

    async def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        core = self._core or await self._opened()
        await self._apart(core.write_memo, name, text, token, kind)

    async def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        core = self._core or await self._opened()
        await self._apart(core.prepare, "election", name)
        leaders = core.observe_async(name, seconds)
        try:
            async for leader in leaders:
                yield leader
        finally:
            if isinstance(leaders, AsyncGenerator):
                await leaders.aclose()

    async def close(self) -> None:
        self._closed = True
        if self._core is None and self._opening is not None:
            await asyncio.wait([self._opening])
        if self._core is not None:
            self._core.end_waits()  # in this thread, which is that of the loop
            await self._apart(self._core.close)

    def abandon(self) -> None:
        self._closed = True
        if self._core is not None:
            self._core.close()
