"""Functions that run once in each period, for tasks: `Lock.every`. `TaskOnce` also serves `vez run --every`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import msgspec

from vez.errors import AlreadyHeld, CorruptState, EngineUnavailable, LockTimeout, OwnershipLost, StaleToken
from vez.locks.engines.wording import no_memos
from vez.locks.turns.decorate import refuse_as_task_body
from vez.locks.turns.periods import Period, done_in, is_past, not_noted, refuse_unless_exclusive

if TYPE_CHECKING:
    from vez.locks.engines.base import Inspection, Kind
    from vez.locks.engines.seam import AsyncEngine
    from vez.locks.turns.aio import Client, Grant, Lock
    from vez.locks.turns.decorate import TaskFunction
    from vez.locks.turns.task_watched import WatchedAsyncEngine

P = ParamSpec("P")
R = TypeVar("R")


class TaskOnce:
    """One request to do the work of a period. Made before the wait for the lock, because the next period may begin
    meanwhile."""

    def __init__(self, engine: AsyncEngine | WatchedAsyncEngine, period: Period, *, again: bool = False) -> None:
        if not engine.traits.memos:
            raise no_memos(engine.url)
        self._engine, self.period, self._again = engine, period, again
        self._number = period.current()
        self._memo: str | None = None

    async def begins(self, grant: Grant) -> bool:
        """True if the work is to be done now; with `again` also if it was done. Raises if its end could not be noted:
        the memo is written once before the work begins."""
        self._memo = await self._engine.memo(grant.name)
        if not self._again and self.period.is_done(self._memo, self._number):
            return False
        try:
            await self._engine.write_memo(grant.name, self._memo or "", grant.token)
        except EngineUnavailable as error:
            raise not_noted(grant.name, error, ended=False) from error
        return True

    async def ended(self, grant: Grant) -> None:
        """Note that the work is done in this period."""
        try:
            await self._engine.write_memo(grant.name, self.period.memo(self._number, self._memo), grant.token)
        except EngineUnavailable as error:
            raise not_noted(grant.name, error, ended=True) from error


class TaskPeriodic:
    """The decorator."""

    def __init__(self, lock: Lock, period: str) -> None:
        refuse_unless_exclusive(lock._request)
        self._lock, self._period = lock, Period(period)
        TaskOnce(lock._engine, self._period)  # refuses engines that keep no memos

    def __call__(self, function: TaskFunction[P, R]) -> TaskFunction[P, R | None]:
        """The function, which is skipped if it was run in this period."""
        refuse_as_task_body(function)
        lock, period = self._lock, self._period

        @wraps(function)
        async def once(*args: P.args, **kwargs: P.kwargs) -> R | None:
            work = TaskOnce(lock._engine, period)
            async with lock as grant:
                if not await work.begins(grant):
                    return None
                result = await function(*args, **kwargs)
                grant.check()  # what was lost meanwhile may have been done by another holder as well
                await work.ended(grant)
                return result

        return once


async def inspect(engine: AsyncEngine, name: str, kind: Kind) -> Inspection:
    """Call `inspect` of the engine, and add what was done in which period."""
    found = await engine.inspect(name, kind)
    if kind != "lock" or not engine.traits.memos:
        return found
    done = done_in(name, await engine.memo(name))
    return msgspec.structs.replace(found, done=done) if done else found


async def prune(client: Client, prefix: str) -> int:
    """Remove the memos that speak of past periods only, and prune the engine. Returns the number of names.

    Each memo is removed by a holder of its lock, so no work of the present period can end meanwhile. Locks in use are
    left as they are, and so are damaged memos."""
    engine, removed = client.engine, 0
    for name in await engine.names(prefix) if engine.traits.memos else ():
        try:
            if not is_past(await engine.memo(name)):
                continue
            async with client.lock(name, timeout=0, label="vez prune") as grant:
                if is_past(await engine.memo(name)):
                    await engine.write_memo(name, None, grant.token)
                    removed += 1
        except (LockTimeout, AlreadyHeld, CorruptState, OwnershipLost, StaleToken):
            continue
    return max(removed, await engine.prune(prefix))  # a name may have had both
