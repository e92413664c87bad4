"""Thread primitives: the events, locks, background work and deadlock search with which engines wait, for threads.

`task_primitives.py` has the same names for tasks. Code that waits only with these is written once, for tasks, and
`tools/unasync.py` generates the version for threads. This file contains the real differences: a thread blocks, shares
everything with other threads at every step, can be interrupted by a signal anywhere, and cannot be cancelled.

Background threads are started by one call of C. An interrupt in the middle of `threading.Thread.start` would leave a
thread that runs and cannot be waited for.
"""

from __future__ import annotations

import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from vez.locks.engines.cycles import refuse_cycle
from vez.locks.engines.owners import Claim, Owner, held_meanwhile, running, running_loop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from vez.locks.engines.cycles import Searched

__all__ = [
    "Background",
    "Cancelled",
    "Event",
    "Lock",
    "Mutex",
    "Once",
    "acquire_within",
    "apart",
    "at_work",
    "held_while_waiting",
    "refuse_cycle",
    "runner",
    "sleep",
    "wait_for",
]

R = TypeVar("R")

Event = threading.Event
Lock = threading.Lock

Mutex = threading.Lock
"""Mutual exclusion for a few steps that wait for nothing."""

at_work: set[Background] = set()
"""The background work that is running in this process."""


class Cancelled(BaseException):
    """Never raised: a thread cannot be cancelled."""


def sleep(seconds: float) -> None:
    """Sleep for `seconds`."""
    time.sleep(seconds)


def wait_for(event: Event, seconds: float | None) -> bool:
    """Wait until the event is set. False if it was not set within `seconds`; None waits without limit."""
    return event.wait(seconds)


def acquire_within(lock: Lock, seconds: float | None) -> bool:
    """Acquire the lock. False if it could not be acquired within `seconds`; None waits without limit."""
    return lock.acquire(timeout=-1 if seconds is None else seconds)


class Background:
    """Work that runs in its own thread, and can be waited for. It does not keep the process alive."""

    def __init__(self, what: str, work: Callable[[], object], ended: Callable[[Background], object]) -> None:
        self.what = what
        self._work, self._ended = work, ended
        self._done = threading.Event()

    def start(self) -> None:
        """Start the work. `ended` is called when it has ended."""
        at_work.add(self)
        start_new_thread(self._run, ())

    def wait(self, seconds: float) -> bool:
        """Wait until the work has ended. False if it has not ended within `seconds`."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._ended(self)
            at_work.discard(self)
            self._done.set()


def apart(work: Callable[[], R], seconds: float) -> R:
    """Do work that may block, and return its result. A thread cannot leave it when `seconds` are over."""
    return work()


class Once:
    """Work that is done once, for the threads that need it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work, self._is_done, self._mutex = work, False, threading.Lock()

    def done(self, seconds: float | None) -> bool:
        """Do the work, unless it is done. A thread cannot leave it when `seconds` are over."""
        if not self._is_done:
            with self._mutex:
                if not self._is_done:
                    self._work()
                self._is_done = True
        return True


def held_while_waiting(owner: Owner) -> list[tuple[Searched, Claim]]:
    """The holdings that cannot be released while this owner waits."""
    return held_meanwhile(owner) if owner.entries or running_loop() is not None else []


def runner() -> AbstractEventLoop | Task[Any] | None:
    """The last part of an `Entry`: the task or the event loop that runs in this thread; None if there is none."""
    return running(running_loop())
