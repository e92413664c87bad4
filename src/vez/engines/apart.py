"""Apart: the thread in which tasks search for cycles of waits, so that no event loop does.

It is not one of the loop's executor: all threads of that may be waiting for what the searching task holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from vez.engines.machine import at_fork

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

R = TypeVar("R")

_thread: ThreadPoolExecutor | None = None


async def apart(work: Callable[[], R]) -> R:
    """The result of work that may block. If the task is cancelled, it is still awaited: the caller takes back what the
    work has noted, after it and not before."""
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
            except asyncio.CancelledError:  # again; the search is bounded
                continue
        if not future.cancelled():
            future.exception()  # seen
        raise


def _forget() -> None:
    """A forked child has no such thread."""
    global _thread
    _thread = None


at_fork(after_in_child=_forget)
