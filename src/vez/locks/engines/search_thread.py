"""Run the search for cycles of waits in a thread of its own, so that it does not block an event loop.

The thread does not belong to the loop's executor. All threads of the executor may be waiting for a lock that the
searching task holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from vez.locks.engines.machine import at_fork

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

R = TypeVar("R")

_thread: ThreadPoolExecutor | None = None


async def in_search_thread(work: Callable[[], R]) -> R:
    """Run `work`, which may block, in the search thread, and return its result. If the task is cancelled, the work is
    awaited all the same: the caller removes the notes of the search, and must not do so before the search has ended."""
    global _thread
    if _thread is None:
        from concurrent.futures import ThreadPoolExecutor

        _thread = ThreadPoolExecutor(1, thread_name_prefix="vez search")
    future = asyncio.get_running_loop().run_in_executor(_thread, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:  # cancelled again; keep waiting, because the search is bounded
                continue
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log it
        raise


def _forget() -> None:
    """Forget the search thread in a forked child: threads are not copied by a fork."""
    global _thread
    _thread = None


at_fork(after_in_child=_forget)
