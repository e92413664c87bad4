# Generated from task_periodic.py by python -m tools.unasync: change that file, not this one.
"""Functions that run once in each period, for threads: `Lock.every`. `ThreadOnce` also serves `vez run --every`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import msgspec

from vez.errors import AlreadyHeld, CorruptState, EngineUnavailable, LockTimeout, OwnershipLost, StaleToken
from vez.locks.engines.wording import no_memos
from vez.locks.turns.decorate import refuse_as_thread_body
from vez.locks.turns.periods import Period, done_in, is_past, not_noted, refuse_unless_exclusive

if TYPE_CHECKING:
    from vez.locks.engines.base import Inspection, Kind
    from vez.locks.engines.seam import Engine
    from vez.locks.turns.client import Client, Grant, Lock
    from vez.locks.turns.decorate import ThreadFunction
    from vez.locks.turns.thread_watched import WatchedEngine

P = ParamSpec("P")
R = TypeVar("R")


class ThreadOnce:
    """One request to do the work of a period. Made before the wait for the lock, because the next period may begin
    meanwhile."""

    def __init__(self, engine: Engine | WatchedEngine, period: Period, *, again: bool = False) -> None:
        if not engine.traits.memos:
            raise no_memos(engine.url)
        self._engine, self.period, self._again = engine, period, again
        self._number = period.current()
        self._memo: str | None = None

    def begins(self, grant: Grant) -> bool:
        """True if the work is to be done now; with `again` also if it was done. Raises if its end could not be noted:
        the memo is written once before the work begins."""
        self._memo = self._engine.memo(grant.name)
        if not self._again and self.period.is_done(self._memo, self._number):
            return False
        try:
            self._engine.write_memo(grant.name, self._memo or "", grant.token)
        except EngineUnavailable as error:
            raise not_noted(grant.name, error, ended=False) from error
        return True

    def ended(self, grant: Grant) -> None:
        """Note that the work is done in this period."""
        try:
            self._engine.write_memo(grant.name, self.period.memo(self._number, self._memo), grant.token)
        except EngineUnavailable as error:
            raise not_noted(grant.name, error, ended=True) from error


class ThreadPeriodic:
    """The decorator."""

    def __init__(self, lock: Lock, period: str) -> None:
        refuse_unless_exclusive(lock._request)
        self._lock, self._period = lock, Period(period)
        ThreadOnce(lock._engine, self._period)  # refuses engines that keep no memos

    def __call__(self, function: ThreadFunction[P, R]) -> ThreadFunction[P, R | None]:
        """The function, which is skipped if it was run in this period."""
        refuse_as_thread_body(function)
        lock, period = self._lock, self._period

        @wraps(function)
        def once(*args: P.args, **kwargs: P.kwargs) -> R | None:
            work = ThreadOnce(lock._engine, period)
            with lock as grant:
                if not work.begins(grant):
                    return None
                result = function(*args, **kwargs)
                grant.check()  # what was lost meanwhile may have been done by another holder as well
                work.ended(grant)
                return result

        return once


def inspect(engine: Engine, name: str, kind: Kind) -> Inspection:
    """Call `inspect` of the engine, and add what was done in which period."""
    found = engine.inspect(name, kind)
    if kind != "lock" or not engine.traits.memos:
        return found
    done = done_in(name, engine.memo(name))
    return msgspec.structs.replace(found, done=done) if done else found


def prune(client: Client, prefix: str) -> int:
    """Remove the memos that speak of past periods only, and prune the engine. Returns the number of names.

    Each memo is removed by a holder of its lock, so no work of the present period can end meanwhile. Locks in use are
    left as they are, and so are damaged memos."""
    engine, removed = client.engine, 0
    for name in engine.names(prefix) if engine.traits.memos else ():
        try:
            if not is_past(engine.memo(name)):
                continue
            with client.lock(name, timeout=0, label="vez prune") as grant:
                if is_past(engine.memo(name)):
                    engine.write_memo(name, None, grant.token)
                    removed += 1
        except (LockTimeout, AlreadyHeld, CorruptState, OwnershipLost, StaleToken):
            continue
    return max(removed, engine.prune(prefix))  # a name may have had both
