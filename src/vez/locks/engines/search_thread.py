"""Run the search for cycles of waits in a thread of its own, so that it does not block an event loop.

The thread does not belong to the loop's executor. All threads of the executor may be waiting for a lock that the
searching task holds. Searches are made one after the other, and the thread ends when there is none left: nothing of it
survives a client.
"""

from __future__ import annotations

import asyncio
import contextlib
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from vez.locks.engines.machine import at_fork

R = TypeVar("R")


class _Searches:
    """The searches that wait for their turn, and whether a thread makes them."""

    def __init__(self) -> None:
        self._mutex, self._runs = allocate_lock(), False
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, search: Callable[[], None]) -> None:
        """Make a search after those that were added before."""
        with self._mutex:
            if not self._runs:
                start_new_thread(self._run, ())
            self._runs = True
            self._waiting.append(search)

    def _run(self) -> None:
        while True:
            with self._mutex:
                if not self._waiting:
                    self._runs = False
                    return
                search = self._waiting.popleft()
            search()


_searches = _Searches()


def begin(work: Callable[[], R], start: Callable[[Callable[[], None]], object]) -> asyncio.Future[R]:
    """Let `start` run `work` in a thread. The future, of the running loop, gets its result or its exception."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def run() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed, and nobody waits
            try:
                result = work()
            except Exception as error:
                loop.call_soon_threadsafe(future.set_exception, error)
            else:
                loop.call_soon_threadsafe(future.set_result, result)

    start(run)
    return future


async def in_search_thread(work: Callable[[], R]) -> R:
    """Run `work`, which may block, in the search thread, and return its result. If the task is cancelled, the work is
    awaited all the same: the caller removes the notes of the search, and must not do so before the search has ended."""
    future = begin(work, _searches.add)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:  # cancelled again; keep waiting, because the search is bounded
                continue
        future.exception()  # retrieved, so that asyncio does not log it
        raise


def _forget() -> None:
    """Forget the search thread in a forked child: threads are not copied by a fork."""
    global _searches
    _searches = _Searches()


at_fork(after_in_child=_forget)
