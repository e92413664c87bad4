"""Parts of the network engines that only threads need. `task_side.py` has the same parts for tasks.

A thread is told if a lock is taken from it by force, and asks whether its lease has ended. Any thread may use an
engine. A forked child drops the engines that it inherits. Engines that were not closed are closed when the program
ends.
"""

from __future__ import annotations

import atexit
import contextlib
from _thread import start_new_thread
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakSet

from vez.locks.engines.handles import quietly
from vez.locks.engines.machine import at_fork
from vez.locks.engines.network.engine_base import EngineBase, let_go
from vez.locks.engines.network.holding import NetworkClaim
from vez.locks.engines.network.session import Session
from vez.locks.engines.thread_primitives import Mutex
from vez.locks.engines.wording import warn_unclosed

_engines: WeakSet[ThreadEngineBase] = WeakSet()


class ThreadClaim(NetworkClaim):
    """A request of a thread."""

    def at_home(self, action: Callable[..., object], *arguments: object) -> None:
        """Call `action` at once: it may run in any thread."""
        action(*arguments)


class ThreadSessionBase(Session):
    """A session. It needs no timer: a thread asks whether it has ended."""


class ThreadEngineBase(EngineBase):
    """An engine that any thread of one process may use."""

    _transport: Any
    _sessions: Any
    _claims: WeakSet[Any]

    def _made(self) -> None:
        """Register the engine for forks and for the end of the program. Called last in the constructor, because a fork
        may happen at any moment."""
        _engines.add(self)

    def _enter(self) -> None:
        """Do nothing: any thread may use the engine."""

    def forget(self) -> None:
        """Drop everything in a forked child: it belongs to the parent."""
        self._mutex = Mutex()
        self._claims, self._observers = WeakSet(), WeakSet()
        self._sessions.forget()
        self._transport.forget()

    def close(self) -> None:
        """Release everything and close."""
        raise NotImplementedError

    def _dropped(self) -> None:
        """Close what the program has dropped without closing it. In a thread, because a finaliser may run in the middle
        of any step, also of one that has a lock."""
        self.closed = True
        with contextlib.suppress(RuntimeError):  # the interpreter is ending, and has no new threads
            start_new_thread(quietly, (partial(let_go, self._sessions, self._transport),))
        if self._transport.contacted:
            warn_unclosed(self.url, self)


def _forget() -> None:
    for engine in list(_engines):
        engine.forget()


def _close_all() -> None:
    """Revoke the leases of clients that were not closed, when the program ends."""
    for engine in list(_engines):
        with contextlib.suppress(Exception):
            engine.close()


at_fork(after_in_child=_forget)
atexit.register(_close_all)
