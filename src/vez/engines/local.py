"""Engines of one machine: the two pumps, and the ledger of who holds what in this process.

A contender never waits: it is asked whether it is in, and it says what to listen to. The sync pump blocks its
thread on that, the async pump its task; neither is a hop around the other.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from abc import abstractmethod
from typing import Protocol
from weakref import ref

from vez.engines.base import Engine, Holding, Place, Progress, Request
from vez.errors import AlreadyHeld, EngineUnavailable, LockTimeout

_TELL = 0.2
"""Seconds between looks at the place in the queue, for a waiter that shows it."""
_ASK_AGAIN = 0.002
"""Seconds until one who could not be told whether its wait closes a cycle asks again."""
_DOORWAY = 0.01
"""Seconds that a request which does not want to wait gives the doorway, where nobody stays for more than
microseconds."""


class Waiting(Holding, Protocol):
    """A request in the queue, and later the holding."""

    request: Request

    def granted(self) -> bool:
        """Look whether it is our turn by now. Never waits."""

    def listen(self, seconds: float) -> None:
        """Block until something may have changed, or for so long."""

    async def listen_async(self, seconds: float) -> None:
        """The same for a task."""

    def wake(self) -> None:
        """End a `listen`; another thread may say so."""

    def place(self) -> Place:
        """Where we stand in the queue."""

    def explain(self) -> str:
        """Who stands in the way, in words."""


class Ledger:
    """What each owner (a thread or a task) of this process holds. A holding that nobody knows any more is let go by
    its finaliser, so the ledger must not keep it alive."""

    def __init__(self) -> None:
        self._held: dict[int, list[tuple[Engine, ref[Waiting]]]] = {}
        # Reentrant, because the collector may finalise a holding at any point within.
        self._mutex = threading.RLock()

    def of(self, owner: int) -> list[tuple[Engine, Waiting]]:
        """The holdings of an owner."""
        pairs = ((engine, known()) for engine, known in self._held.get(owner, ()))
        return [(engine, holding) for engine, holding in pairs if holding is not None]

    def knows(self, owner: int) -> bool:
        """Whether the owner may hold anything."""
        return owner in self._held

    def add(self, owner: int, engine: Engine, holding: Waiting) -> None:
        """The owner holds this from now on."""
        with self._mutex:
            self._held.setdefault(owner, []).append((engine, ref(holding)))

    def remove(self, owner: int, holding: object) -> None:
        """No longer. Another thread than the owner's may say so."""
        with self._mutex:
            held = self._held.get(owner)
            if held is None:
                return
            if len(held) == 1 and held[0][1]() is holding:
                del self._held[owner]
                return
            rest = [(engine, known) for engine, known in held if known() is not holding and known() is not None]
            if rest:
                self._held[owner] = rest
            else:
                self._held.pop(owner, None)

    def release_all(self, engine: Engine) -> None:
        """Let go of everything that this process holds of an engine."""
        for owner in list(self._held):
            for of, holding in self.of(owner):
                if of is engine:
                    holding.release()

    def clear(self) -> None:
        """A forked child holds nothing."""
        self._mutex = threading.RLock()
        self._held.clear()


ledger = Ledger()
os.register_at_fork(after_in_child=ledger.clear)


class LocalEngine(Engine):
    """An engine whose operations never wait for a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.closed = False
        self._waiting: list[Waiting] = []

    @abstractmethod
    def enlist(self, request: Request, owner: int, *, wait: bool, patience: float | None) -> Waiting | None:
        """Take a place in the queue, waiting for the doorway at most so long (nothing: as long as it takes).
        Nothing if the doorway stayed busy, or if `wait` is false and it is not our turn."""

    @abstractmethod
    def enlist_async(self, request: Request, owner: int, *, wait: bool) -> Waiting | None:
        """The same for a task: the doorway is not waited for at all; `BlockingIOError` while it is busy."""

    def before_waiting(self, waiting: Waiting, owner: int) -> bool:
        """A chance to refuse a wait that would close a cycle. False: it cannot be told yet, ask again. Never waits."""
        return True

    def after_waiting(self, waiting: Waiting, owner: int) -> None:
        """The wait has ended, one way or the other."""

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        if ledger.knows(owner):
            self._refuse_self(ledger.of(owner), request)
        deadline = None if seconds is None else time.monotonic() + seconds
        waiting = self.enlist(request, owner, wait=seconds != 0, patience=_DOORWAY if seconds == 0 else seconds)
        if waiting is None:
            raise self._timeout(request, seconds or 0, "")
        try:  # with no call since it was enlisted: wherever an interrupt strikes, it is released
            if not waiting.granted():
                self._wait(waiting, owner, seconds, deadline, progress)
            self.refuse_if_closed()  # it may have been closed while we were let in
            ledger.add(owner, self, waiting)
            return waiting
        except BaseException:
            waiting.release()
            raise

    async def acquire_async(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        if ledger.knows(owner):
            self._refuse_self(ledger.of(owner), request)
        deadline = None if seconds is None else time.monotonic() + (seconds or _DOORWAY)
        waiting = await self._enlist_patiently(request, owner, deadline, wait=seconds != 0)
        if waiting is None:
            raise self._timeout(request, seconds or 0, "")
        try:  # with no call since it was enlisted: wherever an interrupt strikes, it is released
            if not waiting.granted():
                await self._wait_async(waiting, owner, seconds, deadline, progress)
            self.refuse_if_closed()  # it may have been closed while we were let in
            ledger.add(owner, self, waiting)
            return waiting
        except BaseException:
            waiting.release()
            raise

    def _wait(
        self, waiting: Waiting, owner: int, seconds: float | None, deadline: float | None, progress: Progress | None
    ) -> None:
        try:
            self._waiting.append(waiting)
            certain = self.before_waiting(waiting, owner)
            while True:
                left = self._patience(waiting, seconds, deadline, progress)
                waiting.listen(left if certain else min(left, _ASK_AGAIN))
                if waiting.granted():
                    return
                certain = certain or self.before_waiting(waiting, owner)
        finally:
            self._end(waiting, owner)

    async def _wait_async(
        self, waiting: Waiting, owner: int, seconds: float | None, deadline: float | None, progress: Progress | None
    ) -> None:
        try:
            self._waiting.append(waiting)
            certain = self.before_waiting(waiting, owner)
            while True:
                left = self._patience(waiting, seconds, deadline, progress)
                await waiting.listen_async(left if certain else min(left, _ASK_AGAIN))
                if waiting.granted():
                    return
                certain = certain or self.before_waiting(waiting, owner)
        finally:
            self._end(waiting, owner)

    def _patience(
        self, waiting: Waiting, seconds: float | None, deadline: float | None, progress: Progress | None
    ) -> float:
        """How long to listen at most, after telling where we stand; an error if it is in vain."""
        self.refuse_if_closed()
        left = _left(deadline, progress)
        if left <= 0:
            raise self._timeout(waiting.request, seconds or 0, waiting.explain())
        if progress is not None:
            progress(waiting.place())
        return left

    def _end(self, waiting: Waiting, owner: int) -> None:
        try:  # noqa: SIM105  every hand-over passes here
            self._waiting.remove(waiting)
        except ValueError:
            pass
        if ledger.knows(owner):
            self.after_waiting(waiting, owner)

    def refuse_if_closed(self) -> None:
        """Nobody waits at a closed client."""
        if self.closed:
            raise EngineUnavailable(f"the client of {self.url} is closed", hint="connect again")

    def leave_all(self) -> None:
        """Let go of everything held, and end every wait with an error."""
        self.closed = True
        ledger.release_all(self)
        for waiting in list(self._waiting):
            waiting.wake()

    async def _enlist_patiently(
        self, request: Request, owner: int, deadline: float | None, *, wait: bool
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

    def _refuse_self(self, held: list[tuple[Engine, Waiting]], request: Request) -> None:
        mine = [h for engine, h in held if engine is self and _same(h.request, request) and h.why_lost() is None]
        if len(mine) >= request.limit:
            raise AlreadyHeld(
                f"{request.kind} {request.name!r} is held by the one who asks for it (token {mine[0].token})",
                hint="it would wait for itself; pass the grant along instead, or release it first",
            )

    def _timeout(self, request: Request, seconds: float, why: str) -> LockTimeout:
        waited = f"after {seconds:g} s" if seconds else "without waiting"
        return LockTimeout(
            f"{request.kind} {request.name!r} was not granted {waited}{f': {why}' if why else ''}",
            hint=f"see who holds it: vez status {request.name}",
        )


def _same(one: Request, other: Request) -> bool:
    return one.name == other.name and one.kind == other.kind


def _left(deadline: float | None, progress: Progress | None) -> float:
    longest = _TELL if progress is not None else 3600.0
    return longest if deadline is None else min(longest, deadline - time.monotonic())
