"""Functions that run once in each period, for tasks: `Lock.every`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from vez.locks.engines.wording import no_memos
from vez.locks.turns.decorate import refuse_as_task_body
from vez.locks.turns.periods import Period, refuse_unless_exclusive

if TYPE_CHECKING:
    from vez.locks.turns.aio import Lock
    from vez.locks.turns.decorate import TaskFunction

P = ParamSpec("P")
R = TypeVar("R")


class TaskPeriodic:
    """The decorator."""

    def __init__(self, lock: Lock, period: str) -> None:
        refuse_unless_exclusive(lock._request)
        if not lock._engine.traits.memos:
            raise no_memos(lock._engine.url)
        self._lock, self._period = lock, Period(period)

    def __call__(self, function: TaskFunction[P, R]) -> TaskFunction[P, R | None]:
        """The function, which is skipped if it was run in this period."""
        refuse_as_task_body(function)
        lock, period = self._lock, self._period

        @wraps(function)
        async def once(*args: P.args, **kwargs: P.kwargs) -> R | None:
            number = period.current()  # before the wait, after which the next period may have begun
            async with lock as grant:
                memo = await lock._engine.memo(lock.name)
                if period.is_done(memo, number):
                    return None
                result = await function(*args, **kwargs)
                grant.check()  # what was lost meanwhile may have been done by another holder as well
                await lock._engine.write_memo(lock.name, period.memo(number, memo), grant.token)
                return result

        return once
