"""Engines and holdings of a lock with terms, for tasks: the methods that wait."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from vez.errors import LockTimeout
from vez.locks.engines.base import Kind, Progress, Request
from vez.locks.engines.seam import AsyncEngine, AsyncHolding
from vez.locks.engines.task_primitives import sleep
from vez.locks.turns.terms import log
from vez.locks.turns.under_terms import TaskAgain, TaskWatching, UnderTerms

if TYPE_CHECKING:
    from vez.locks.engines.base import Inspection, Leader


class AsyncWatched(TaskWatching):
    """A holding of a task, with terms."""

    async def release(self) -> None:
        """Release, but not before the shortest stay is over."""
        try:
            if (left := self._left()) > 0:
                await sleep(left)
        finally:
            await self._holding.release()
            self._end()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        return await self._holding.transfer(to)


class AsyncEntry(TaskAgain[AsyncWatched]):
    """One of several reentrant grants of a task."""

    async def release(self) -> None:
        """Remove this grant. Release the holding if it was the last."""
        if self._leave():
            await self._outer.release()
            self._lost = self._outer.loss()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        self._refuse_transfer(to)
        return await self._outer.transfer(to)


class WatchedAsyncEngine(UnderTerms[AsyncEngine, AsyncWatched]):
    """Wraps an engine for tasks, and adds terms."""

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        """Call `acquire` of the engine, and add the terms to the holding."""
        if (outer := self._outer(owner)) is not None:
            return AsyncEntry(outer)
        begin = time.monotonic()
        try:
            holding = await self._engine.acquire(request, owner, seconds, progress)
        except LockTimeout as error:
            log().debug("%s", error)
            raise
        try:
            watched = AsyncWatched(holding, request.name, self._terms, lambda: self._held.pop(owner, None))
            entry = AsyncEntry(watched) if self._terms.reentrant else None
            self._granted(watched, request.name, owner, begin)
        except BaseException:  # the caller never gets the holding
            await holding.release()
            raise
        return entry or watched

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Call `inspect` of the engine."""
        return await self._engine.inspect(name, kind)

    async def memo(self, name: str, kind: Kind = "lock") -> str | None:
        """Call `memo` of the engine."""
        return await self._engine.memo(name, kind)

    async def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        """Call `write_memo` of the engine."""
        await self._engine.write_memo(name, text, token, kind)

    def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        """Call `observe` of the engine."""
        return self._engine.observe(name, seconds)
