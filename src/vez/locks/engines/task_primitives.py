"""Task primitives: the events, locks, background work and deadlock search with which engines wait, for tasks.

`thread_primitives.py` has the same names for threads. Code that waits only with these is written once, for tasks, and
`tools/unasync.py` generates the version for threads. This file contains the real differences: a task waits by awaiting,
can be cancelled only at an `await`, and belongs to one event loop. Only tasks of that loop may use these objects.
"""

from __future__ import annotations

import asyncio
from _thread import start_new_thread
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from vez.locks.engines import cycles
from vez.locks.engines.owners import Claim, Owner, held_meanwhile, here
from vez.locks.engines.search_thread import begin, in_search_thread

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from vez.locks.engines.cycles import Searched

R = TypeVar("R")

Event = asyncio.Event
Lock = asyncio.Lock

Mutex = nullcontext
"""Mutual exclusion for a few steps that await nothing. It does nothing, because no other task runs during such
steps."""

Cancelled = asyncio.CancelledError


async def sleep(seconds: float) -> None:
    """Sleep for `seconds`."""
    await asyncio.sleep(seconds)


async def wait_for(event: Event, seconds: float | None) -> bool:
    """Wait until the event is set. False if it was not set within `seconds`; None waits without limit."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def acquire_within(lock: Lock, seconds: float | None) -> bool:
    """Acquire the lock. False if it could not be acquired within `seconds`; None waits without limit."""
    try:
        async with asyncio.timeout(seconds):
            return await lock.acquire()
    except TimeoutError:
        return False


class Background:
    """Work that runs in its own task, and can be waited for."""

    def __init__(
        self, what: str, work: Callable[[], Coroutine[Any, Any, object]], ended: Callable[[Background], object]
    ) -> None:
        self.what = what
        self._work, self._ended = work, ended
        self._task: Task[object] | None = None

    def start(self) -> None:
        """Start the work. `ended` is called when it has ended, even if it was cancelled before its first step."""
        self._task = asyncio.get_running_loop().create_task(self._work(), name=f"vez {self.what}")
        self._task.add_done_callback(lambda _: self._ended(self))

    async def wait(self, seconds: float) -> bool:
        """Wait until the work has ended. False if it has not ended within `seconds`."""
        return self._task is None or bool((await asyncio.wait([self._task], timeout=seconds))[0])


def _in_thread(work: Callable[[], R]) -> asyncio.Future[R]:
    """Begin work that may block in a thread of its own. The executor of the loop is not used: all its threads may be
    waiting for a lock that is not released before this work is done."""
    future = begin(work, lambda run: start_new_thread(run, ()))
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # the waiter may have gone
    return future


async def apart(work: Callable[[], R], seconds: float) -> R:
    """Do work that may block beside the event loop, and return its result. Raises `TimeoutError` after `seconds`."""
    async with asyncio.timeout(seconds):
        return await asyncio.shield(_in_thread(work))


class Once:
    """Work that may block and is done once, beside the event loop, for the tasks that need it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work, self._is_done = work, False
        self._future: asyncio.Future[None] | None = None

    async def done(self, seconds: float | None) -> bool:
        """Wait until the work is done. The first caller begins it, and so does the next one after a failure. False if
        it was not done within `seconds`."""
        if self._is_done:
            return True
        loop = asyncio.get_running_loop()
        if self._future is None or self._future.done() or self._future.get_loop() is not loop:
            self._future = _in_thread(self._do)
        ended, _ = await asyncio.wait([self._future], timeout=seconds)
        for future in ended:
            future.result()
        return bool(ended)

    async def ended(self) -> None:
        """Wait until the work is not running, whether it was begun or not."""
        if self._future is not None and self._future.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([self._future])

    def _do(self) -> None:
        self._work()
        self._is_done = True


def held_while_waiting(owner: Owner) -> list[tuple[Searched, Claim]]:
    """The holdings that cannot be released while this owner waits."""
    return held_meanwhile(owner) if owner.entries or here.owner.entries else []


def runner() -> AbstractEventLoop | Task[Any] | None:
    """The last part of an `Entry`: always None, because only threads need it."""
    return None


async def refuse_cycle(claim: Claim, engine: Searched, blocked: Sequence[tuple[Searched, Claim]]) -> bool:
    """Call `cycles.refuse_cycle` in the search thread, so that it does not block the event loop."""
    return await in_search_thread(partial(cycles.refuse_cycle, claim, engine, blocked))
