"""Work that only the leader does, in a task: `Election.lead`. `thread_leading.py` has the same names for threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vez.errors import LockTimeout, OwnershipLost, VezError
from vez.locks.turns.leading import AGAIN, LOOK, BaseLeading, check_step

if TYPE_CHECKING:
    from vez.locks.turns.aio import Election, Leadership


class Leading(BaseLeading["Leadership"]):
    """A candidacy in the background. While this process leads, `work` is called again and again. Stopped by `stop`, or
    at the end of its block."""

    def __init__(
        self, election: Election, work: Callable[[Leadership], Coroutine[Any, Any, object]], every: float
    ) -> None:
        super().__init__(election.name, check_step(work, every, tasks=True), lambda: election._engine.closed)
        self._election, self._work = election, work
        self._stopped = False
        self._leaves = False
        """True while the leadership is released, which waits for its shortest stay. A cancellation would cut that."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"vez leads {election.name}")

    async def stop(self, timeout: float | None = None) -> bool:
        """Resign or withdraw, and wait for the end. A step of a task is cancelled; a step of a thread has to end by
        itself. False if it still runs after `timeout` seconds."""
        self._stopped = True
        if not self._leaves:
            self._task.cancel()
        if self._task is not asyncio.current_task():
            await asyncio.wait((self._task,), timeout=timeout)
            if not self._task.done():
                return False
        self._raise_error()
        return True

    async def _run(self) -> None:
        while not self._is_ending():
            try:
                if not await self._reign() and not self._is_ending():
                    await asyncio.sleep(AGAIN)
            except (LockTimeout, OwnershipLost):  # deposed, perhaps before it could begin
                continue
            except VezError as error:
                if not self._goes_on(error):
                    return
                await asyncio.sleep(AGAIN)

    async def _reign(self) -> bool:
        """Wait for the election and lead once, until deposed. False if a step has failed. The end of the leadership
        cancels the step."""
        self._leaves = False
        async with await self._election.acquire(None) as leadership:
            self._elected(leadership)
            try:
                while leadership._held and not self._is_ending():
                    begin = monotonic()
                    try:
                        await self._work(leadership)
                    except Exception as error:
                        if self._failed(error, leadership):
                            return False
                    except asyncio.CancelledError as error:  # of this task, or of one for which the step has waited
                        if self._is_cancelled():
                            raise
                        if self._failed(error, leadership):
                            return False
                    await self._pause(leadership, begin + self._every)
            finally:
                self._leadership, self._leaves = None, True
        return True

    async def _pause(self, leadership: Leadership, end: float) -> None:
        """Wait for the time of the next step, or less if it no longer leads. The end of the client cancels nothing."""
        await asyncio.sleep(0)
        while (left := end - monotonic()) > 0 and leadership._held and not self._is_ending():
            await asyncio.sleep(min(left, LOOK))

    def _is_cancelled(self) -> bool:
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    def _is_ending(self) -> bool:
        """True if it was stopped or cancelled, although a step may have suppressed that."""
        return self._stopped or self._is_cancelled()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.stop()
