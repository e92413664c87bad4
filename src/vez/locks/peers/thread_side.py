"""Parts of the engine `peers:` that only threads need. `task_side.py` has the same parts for tasks.

A thread joins the group when its client is created. It blocks on locks of the operating system, which an interrupt can
end without damage. It gets its stay directly, and is not told of a loss: it has to ask.
"""

from __future__ import annotations

from _thread import allocate_lock
from asyncio import AbstractEventLoop, _get_running_loop
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import ParamSpec, TypeVar

from vez.locks.engines.seam import Engine, Holding
from vez.locks.peers.core import PeersCore, Stay
from vez.locks.peers.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


class Signal:
    """A signal that any thread gives once. One thread waits for it."""

    def __init__(self) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()
        self.give = self._gate.release

    def given(self) -> bool:
        """True if the signal was given. It is consumed: only the first call after that returns True."""
        return self._gate.acquire(blocking=False)

    def wait(self, seconds: float | None) -> bool:
        """Wait for the signal. False if it was not given within `seconds`; None waits without limit."""
        return self._gate.acquire(timeout=-1 if seconds is None else seconds)


class Changes:
    """Names whose leader changes, sent from any thread to the one that waits."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[str] = SimpleQueue()
        self.put = self._queue.put

    def next(self, seconds: float | None) -> str | None:
        """Wait for the next name. None if there was none for `seconds`."""
        try:
            return self._queue.get(timeout=seconds)
        except Empty:
            return None


def loop_around() -> AbstractEventLoop | None:
    """The last part of an `Entry`: the event loop that runs in this thread, or None. Other engines use the task
    instead. Here a lock that a task acquired through its thread may be released by another task, and the queue of the
    program shows both."""
    return _get_running_loop()


def holding(stay: Stay) -> Holding:
    """The object that the client gets for a stay: the stay itself."""
    return stay


class PeersThreadBase(Engine):
    """Joins the group when created, and calls the participant."""

    def __init__(self, settings: Settings) -> None:
        self.core = PeersCore(settings)
        self.url, self.traits = self.core.url, self.core.traits
        self.core.open()

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """True if the client was closed."""
        return self.core.closed

    def close(self) -> None:
        self.core.close()

    def _opened(self) -> PeersCore:
        """The core: the group was joined when this was created."""
        return self.core

    def _ask(self, action: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Call `action` on the loop of the participant, and return its result."""
        return self.core.background.call(action, *arguments, **options)
