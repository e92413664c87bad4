"""Engines of one machine: how a thread waits, and how a task waits.

A request never blocks by itself: it is asked whether it is granted, and it knows what to listen to. `acquire` blocks
its thread on that, `acquire_async` its task. Neither is a wrapper around the other.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from vez.engines.base import Engine, Holding, Place, Progress, Request
from vez.engines.owners import Owner, leave_all
from vez.errors import AlreadyHeld, EngineUnavailable, LockTimeout

if TYPE_CHECKING:
    from vez.engines.owners import Entry

_LONG = 3600.0
_TELL = 0.2
"""Seconds between two reports of the position, for a waiter with `progress`."""
_ASK_AGAIN = 0.002
"""Seconds after which a waiter asks again whether its wait closes a cycle, if that could not be decided."""
_LONG_ENOUGH = 0.1
"""Shortest timeout, in seconds, with which the few milliseconds of `poll` do not matter."""
_LOOK = 0.01
_DOORWAY = 0.01
"""Seconds for which a request with a timeout of 0 waits for the doorway, where nobody stays for more than
microseconds."""


def give_grace(milliseconds: int, gone: Callable[[], bool]) -> None:
    """Wait until a broken holder has released, or its grace is over. The wait is bounded, so polling is enough."""
    end = time.monotonic() + milliseconds / 1000
    while time.monotonic() < end and not gone():
        time.sleep(_LOOK)


class Waiting(Holding, Protocol):
    """A request in the queue; once granted, the holding."""

    request: Request
    inside: bool
    """Granted, and not yet released."""
    entry: Entry | None
    """Its entry in `owner.entries`; whoever releases it removes the entry."""

    def granted(self) -> bool:
        """True if it is granted by now. Never blocks."""

    def poll(self) -> bool:
        """Poll for a few milliseconds; True if granted."""

    def listen(self, seconds: float) -> None:
        """Block until something may have changed, at most for so long."""

    async def listen_async(self, seconds: float) -> None:
        """Async version of `listen`."""

    def wake(self) -> None:
        """End a `listen`, from any thread."""

    def place(self) -> Place:
        """Our position in the queue."""

    def explain(self) -> str:
        """Who holds what we wait for, in words."""


class LocalEngine(Engine):
    """An engine without a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.closed = False

    @abstractmethod
    def enlist(self, request: Request, owner: Owner, patience: float | None, *, wait: bool) -> Waiting | None:
        """Take a place in the queue, waiting for the doorway at most `patience` seconds (None: without limit).
        None if `wait` is false and it cannot be granted at once; `BlockingIOError` if the doorway stayed busy."""

    @abstractmethod
    def enlist_async(self, request: Request, owner: Owner, *, wait: bool) -> Waiting | None:
        """Async version of `enlist`: never waits for the doorway, `BlockingIOError` while it is busy."""

    def before_waiting(self, waiting: Waiting, owner: Owner) -> bool:
        """Raise `Deadlock` if this wait would close a cycle. False if that cannot be decided yet: ask again. Never
        blocks."""
        return True

    def after_waiting(self, waiting: Waiting, owner: Owner) -> None:
        """Called when the wait has ended, granted or not."""

    def acquire(
        self, request: Request, owner: Owner, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        holds = bool(owner.entries)
        if holds:
            self._refuse_self(owner, request)
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            if seconds is None:
                waiting = self.enlist(request, owner, None, wait=True)
            else:
                waiting = self.enlist(request, owner, seconds or _DOORWAY, wait=seconds > 0)
        except BlockingIOError:
            waiting = None
        if waiting is None:
            raise self._timeout(request, seconds or 0, "")
        try:  # with no call since it was enlisted: wherever an interrupt strikes, it is released
            # Written before it waits, not after: after it was granted, others would wait for this.
            waiting.entry = (self, ref(waiting))
            owner.entries.append(waiting.entry)
            if not waiting.inside and (
                holds or progress is not None or not (seconds is None or seconds >= _LONG_ENOUGH) or not waiting.poll()
            ):
                self._wait(waiting, owner if holds else None, seconds, deadline, progress)
            if self.closed:  # it may have been closed while we were let in
                self.refuse_if_closed()
            return waiting
        except BaseException:
            waiting.release()
            raise

    async def acquire_async(
        self, request: Request, owner: Owner, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        holds = bool(owner.entries)
        if holds:
            self._refuse_self(owner, request)
        deadline = None if seconds is None else time.monotonic() + (seconds or _DOORWAY)
        waiting = await self._enlist_patiently(request, owner, deadline, wait=seconds != 0)
        if waiting is None:
            raise self._timeout(request, seconds or 0, "")
        try:  # with no call since it was enlisted: wherever an interrupt strikes, it is released
            # Written before it waits, not after: after it was granted, others would wait for this.
            waiting.entry = (self, ref(waiting))
            owner.entries.append(waiting.entry)
            if not waiting.inside:
                await self._wait_async(waiting, owner if holds else None, seconds, deadline, progress)
            if self.closed:  # it may have been closed while we were let in
                self.refuse_if_closed()
            return waiting
        except BaseException:
            waiting.release()
            raise

    def _wait(
        self, waiting: Waiting, holder: Owner | None, seconds: float | None, deadline: float | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        """Wait until granted. `holder` is the owner if it holds something else, so that it could close a cycle."""
        try:
            certain = holder is None or self.before_waiting(waiting, holder)
            while True:
                left = self._patience(waiting, seconds, deadline, progress)
                waiting.listen(left if certain else min(left, _ASK_AGAIN))
                if waiting.granted():
                    return
                certain = certain or holder is None or self.before_waiting(waiting, holder)
        finally:
            if holder is not None:
                self.after_waiting(waiting, holder)

    async def _wait_async(
        self, waiting: Waiting, holder: Owner | None, seconds: float | None, deadline: float | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        """Async version of `_wait`."""
        try:
            certain = holder is None or self.before_waiting(waiting, holder)
            while True:
                left = self._patience(waiting, seconds, deadline, progress)
                await waiting.listen_async(left if certain else min(left, _ASK_AGAIN))
                if waiting.granted():
                    return
                certain = certain or holder is None or self.before_waiting(waiting, holder)
        finally:
            if holder is not None:
                self.after_waiting(waiting, holder)

    def _patience(
        self, waiting: Waiting, seconds: float | None, deadline: float | None, progress: Progress | None
    ) -> float:
        """Report the position; how long to listen at most. Raises when the client was closed or the time is over."""
        self.refuse_if_closed()
        left = _LONG if progress is None else _TELL
        if deadline is not None:
            left = min(left, deadline - time.monotonic())
        if left <= 0:
            raise self._timeout(waiting.request, seconds or 0, waiting.explain())
        if progress is not None:
            progress(waiting.place())
        return left

    def refuse_if_closed(self) -> None:
        """Raise if the client was closed."""
        if self.closed:
            raise EngineUnavailable(f"the client of {self.url} is closed", hint="connect again")

    def leave_all(self) -> None:
        """Release everything held, and end every wait with an error."""
        self.closed = True
        leave_all(self)

    async def _enlist_patiently(
        self, request: Request, owner: Owner, deadline: float | None, *, wait: bool
    ) -> Waiting | None:
        pause = 0.0
        while True:
            try:
                return self.enlist_async(request, owner, wait=wait)
            except BlockingIOError:
                if deadline is not None and time.monotonic() >= deadline:
                    return None
                await asyncio.sleep(pause)
                pause = min(0.002, pause + 0.0001)

    def _refuse_self(self, owner: Owner, request: Request) -> None:
        held = [holding for engine, holding in owner.holdings() if engine is self]
        mine = [holding for holding in held if _same(holding.request, request) and holding.why_lost() is None]
        if len(mine) >= request.limit:
            raise AlreadyHeld(
                f"{request.kind} {request.name!r} is already held by the caller (token {mine[0].token})",
                hint="the caller would wait for itself; pass the grant along, or release it first",
            )

    def _timeout(self, request: Request, seconds: float, why: str) -> LockTimeout:
        waited = f"after {seconds:g} s" if seconds else "without waiting"
        return LockTimeout(
            f"{request.kind} {request.name!r} was not granted {waited}{f': {why}' if why else ''}",
            hint=f"see who holds it: vez status {request.name}",
        )


def _same(one: Request, other: Request) -> bool:
    return one.name == other.name and one.kind == other.kind
