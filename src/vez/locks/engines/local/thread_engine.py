"""The pump for threads, of engines of one machine: how a thread waits for what the core will grant.

Written by hand beside `task_engine.py`, not generated from it: a turn takes microseconds here, so a thread polls before
it sleeps and calls the core directly, and an interrupt may strike between any two steps. A task hands what may block to
an executor and never polls. Primitives for both would cost a call in every turn.
"""

from __future__ import annotations

import time
from _thread import start_new_thread
from collections.abc import Iterator
from sys import modules
from typing import TYPE_CHECKING
from weakref import ref

from vez.locks.engines import late_parts
from vez.locks.engines.base import Kind, Progress, Request
from vez.locks.engines.handles import quietly
from vez.locks.engines.local.core import DOORWAY, LocalCore, Superseded, Waiting
from vez.locks.engines.owners import find, held_meanwhile, known_owner, refuse_self, running, running_loop
from vez.locks.engines.seam import Engine, Holding
from vez.locks.engines.wording import timed_out

if TYPE_CHECKING:
    from vez.locks.engines.base import Break, Inspection, Leader
    from vez.locks.engines.local.core import Blocked

_LONG_ENOUGH = 0.1
"""Shortest timeout, in seconds, with which the few milliseconds of `poll` do not matter."""


class LocalEngine(Engine):
    """An engine of one machine, for threads."""

    def __init__(self, core: LocalCore) -> None:
        self.core, self.url, self.traits = core, core.url, core.traits
        self._enlist = core.enlist  # bound once: every turn passes here
        self._running_loop = getattr(modules.get("asyncio"), "_get_running_loop", running_loop)

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """True if it was closed."""
        return self.core.closed

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        core, enlist, loop, holds = self.core, self._enlist, self._running_loop(), False
        known = known_owner(owner)
        who = (known and known()) or find(owner)  # `find` only if it has ended: every turn passes here
        if who.entries:
            holds = True
            refuse_self(who, core, request)
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                if seconds is None:
                    waiting = enlist(request, owner, None, wait=True)
                else:
                    waiting = enlist(request, owner, seconds or DOORWAY, wait=seconds > 0)
            except BlockingIOError:
                waiting = None
            if waiting is None:
                raise timed_out(request, seconds or 0, url=self.url)
            try:  # with no call since it was enlisted: wherever an interrupt strikes, it is released
                # Written before it waits, not after: after it was granted, others would wait for this.
                waiting.entry = (who, core, ref(waiting), loop and running(loop))
                who.entries.append(waiting.entry)
                if not waiting.inside and (
                    holds or loop is not None or progress is not None
                    or not (seconds is None or seconds >= _LONG_ENOUGH) or not waiting.poll()
                ):  # fmt: skip
                    blocked = held_meanwhile(who) if holds or loop is not None else []
                    self._wait(waiting, blocked, seconds, deadline, progress)
                if core.closed:  # it may have been closed while we were let in
                    core.refuse_if_closed()
                return waiting
            except BaseException as error:
                try:
                    waiting.release()
                except BaseException:  # a second interrupt
                    start_new_thread(quietly, (waiting.release,))
                    raise
                if not isinstance(error, Superseded):
                    raise

    def _wait(
        self, waiting: Waiting, blocked: Blocked, seconds: float | None, deadline: float | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        """Wait until granted. `blocked` is what cannot be released meanwhile, so that the wait could close a cycle."""
        core = self.core
        late_parts.load()
        try:
            again = core.refuse_cycle(waiting, blocked)
            while True:
                left = core.patience(waiting, seconds, deadline, progress)
                waiting.listen(min(left, again - time.monotonic()) if blocked else left)
                if waiting.granted():
                    waiting.confirm()
                    return
                if blocked and time.monotonic() >= again:
                    again = core.refuse_cycle(waiting, blocked)
        finally:
            if blocked:
                from vez.locks.engines.cycles import forget

                forget(blocked)

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return self.core.inspect(name, kind)

    def is_idle(self, name: str, kind: Kind = "lock") -> bool:
        return self.core.is_idle(name, kind)

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return self.core.names(prefix, kind)

    def prune(self, prefix: str = "") -> int:
        return self.core.prune(prefix)

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        return self.core.break_lock(name, reason, kind)

    def memo(self, name: str, kind: Kind = "lock") -> str | None:
        return self.core.memo(name, kind)

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        self.core.write_memo(name, text, token, kind)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        return self.core.observe(name, seconds)

    def close(self) -> None:
        self.core.close()
