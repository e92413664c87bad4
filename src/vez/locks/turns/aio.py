"""The client for tasks. Every task is an owner of its own.

The body of `async with` is cancelled as soon as what it holds is lost, and ends with `OwnershipLost`, just as
`asyncio.timeout` ends with `TimeoutError`.

Written by hand beside `client.py`, which is not generated from it: that file says why.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import wraps
from time import monotonic
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from weakref import ref

from vez.errors import AlreadyHeld, LockTimeout, Misuse
from vez.locks.engines import open_async_engine, open_engine
from vez.locks.engines.base import Break, Inspection, Kind, Leader, Progress, Request, Token
from vez.locks.engines.names import check_name
from vez.locks.engines.owners import Grants, Owner
from vez.locks.engines.seam import AsyncEngine, AsyncHolding, Engine
from vez.locks.engines.wording import ownership_lost
from vez.locks.turns.client_base import BaseClient, Clock, Hinting, OnlyChanges, in_order, refuse_made_by_hand
from vez.locks.turns.decorate import refuse_wrong_kind
from vez.locks.turns.describe import describe_client, describe_grant, describe_holders, describe_lock
from vez.locks.turns.grant import BaseGrant
from vez.locks.turns.metrics import Meter
from vez.locks.turns.request import OWN_TIMEOUT, OwnTimeout, check_kind, check_prefix, check_reason, check_timeout
from vez.locks.turns.task_leading import Leading
from vez.locks.turns.task_owner import calling_owner, owner_of
from vez.locks.turns.task_periodic import TaskPeriodic, inspect, prune
from vez.locks.turns.task_watched import WatchedAsyncEngine

P = ParamSpec("P")
R = TypeVar("R")


class Grant(BaseGrant[AsyncHolding]):
    """A lock or permit that is held. Released by leaving `async with`, or by `release`."""

    __slots__ = ("__weakref__", "_body", "_cancelled", "_loss")

    def __init__(self, name: str, holding: AsyncHolding) -> None:
        super().__init__(name, holding)
        self._loss = asyncio.Event()
        self._body: asyncio.Task[object] | None = None
        self._cancelled = False
        me = ref(self)  # weak: a grant that the program has dropped must be finalised

        def tell(why: str) -> None:
            grant = me()
            if grant is not None:
                grant._lost(why)

        holding.on_loss(tell)
        if holding.lost is not None and holding.why_lost() is not None:  # before we asked to be told
            self._loss.set()

    async def wait_lost(self, timeout: float | None = None) -> bool:
        """Wait for a loss. True when the grant is lost, False after `timeout` seconds."""
        try:
            async with asyncio.timeout(check_timeout(timeout)):
                await self._loss.wait()
        except TimeoutError:
            return False
        return True

    async def release(self) -> None:
        """Release; the next waiter is granted. Raises `OwnershipLost`, once, if the grant was lost before. Calling it
        twice is harmless."""
        told = self.released
        await self._end()
        if not told and (why := self._holding.loss()) is not None:
            raise ownership_lost(self.name, self.token, why)

    async def _end(self) -> None:
        """Release, lost or not."""
        measured, self.released = self._meter is not None and not self.released, True
        await self._holding.release()
        if measured and self._meter is not None:
            self._meter.ended(self._since, self._holding.loss())

    async def __aenter__(self) -> Self:
        self._body = asyncio.current_task()
        if self._loss.is_set():
            await self.release()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        told, body, self._body = self.released, self._body, None
        await self._end()
        ours = self._cancelled and body is not None and body.uncancel() == 0 and kind is asyncio.CancelledError
        # The body's own exception wins, and so does a cancellation from outside.
        if ours or (kind is None and not told):
            why = self._holding.loss()
            if why is not None or ours:
                raise ownership_lost(self.name, self.token, why or "it was lost") from error

    def _lost(self, why: str) -> None:
        if self.released or self._loss.is_set():
            return
        self._loss.set()
        if self._body is not None:
            self._cancelled = True
            self._body.cancel(f"{self.name!r} was lost: {why}")

    def __repr__(self) -> str:
        return describe_grant("vez.aio.Grant", self.name, f"token {self.token}", self._holding)


class Leadership(Grant):
    """A leadership that is held: one term of office."""

    __slots__ = ()

    @property
    def term(self) -> Token:
        """The term. Terms of an election strictly increase, and no two leaders share one."""
        return self.token

    async def resign(self) -> None:
        """Resign; another candidate is elected at once."""
        await self.release()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader, without a vacancy. Returns its term. Raises `OwnershipLost` if the
        leadership was lost before."""
        self.released = True  # from here on a loss is intended
        try:
            term = await self._holding.transfer(to)
        except Misuse as error:
            self.released = False
            raise self._refused_transfer(error) from None
        except BaseException:
            self.released = False
            raise
        self.released = False  # otherwise the end of the stay would not be measured
        await self._end()
        return term

    def __repr__(self) -> str:
        return describe_grant("vez.aio.Leadership", self.name, f"term {self.term}", self._holding)


class Lock(Hinting):
    """A lock or semaphore that can be acquired repeatedly; each task has its own grant."""

    _grant_type: type[Grant] = Grant

    def __init__(
        self,
        engine: AsyncEngine | WatchedAsyncEngine,
        request: Request | None = None,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        if request is None:
            raise refuse_made_by_hand("a lock", engine, "vez.aio.lock('nightly'), or client.election('scheduler')")
        self._engine, self._request = engine, request
        self._timeout = check_timeout(timeout)
        self._progress = progress
        self._grants: Grants[Grant] = Grants()  # by task
        self._meter: Meter | None = None

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._request.name

    def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Coroutine[Any, Any, Grant]:
        """Wait until granted. Raises `LockTimeout` after `timeout` seconds; the request has left the queue then. None
        waits without limit. The owner is the task that calls this, even if another task awaits the result."""
        return self._acquire(timeout, calling_owner())

    async def _acquire(self, timeout: float | OwnTimeout | None, caller: Owner | None) -> Grant:
        seconds = self._timeout if timeout is OWN_TIMEOUT else check_timeout(timeout)
        owner = owner_of(caller)
        progress = None if self._progress is None else OnlyChanges(self._progress)
        meter, begin = self._meter, monotonic()
        try:
            holding = await self._engine.acquire(self._request, owner.number, seconds, progress)
        except LockTimeout:
            if meter is not None:
                meter.timed_out(monotonic() - begin)
            raise
        try:
            grant = self._grant_type(self._request.name, holding)
            self._grants.push(owner.number, grant)
            if meter is not None:
                grant._meter, grant._since = meter, monotonic()
                meter.waited(grant._since - begin)
            return grant
        except BaseException:  # an interrupt: the caller never gets the grant
            await holding.release()
            raise

    def try_acquire(self) -> Coroutine[Any, Any, Grant | None]:
        """The grant if the lock is free now, else None."""
        return self._try_acquire(calling_owner())

    async def _try_acquire(self, caller: Owner | None) -> Grant | None:
        try:
            return await self._acquire(0, caller)
        except (LockTimeout, AlreadyHeld):
            return None

    def release(self) -> Coroutine[Any, Any, None]:
        """Release the newest grant that the calling task has through this object."""
        return self._release(calling_owner())

    async def _release(self, caller: Owner | None) -> None:
        owner = owner_of(caller).number
        grant = self._grants.newest(owner)
        if grant is None:
            raise Misuse(f"{self.name!r} is not held by this task through this object", hint="acquire it first")
        try:
            await grant.release()
        finally:
            self._grants.tidy(owner)

    async def __aenter__(self) -> Grant:
        grant = await self.acquire()
        return await grant.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        owner = owner_of().number
        grant = self._grants.newest(owner)
        if grant is not None:
            try:
                await grant.__aexit__(kind, error, at)
            finally:
                self._grants.tidy(owner)

    async def locked(self) -> bool:
        """True if the lock is held now, by any owner."""
        return bool((await self._engine.inspect(self.name, self._request.kind)).holders)

    @property
    def owned(self) -> bool:
        """True if this task holds the lock through this object, and has not lost it."""
        owner = calling_owner()
        grant = None if owner is None else self._grants.newest(owner.number)
        return grant is not None and grant._held

    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorator: the function runs while the lock is held."""
        refuse_wrong_kind(function, tasks=True)

        @wraps(function)
        async def locked(*args: P.args, **kwargs: P.kwargs) -> R:
            async with self:
                return await function(*args, **kwargs)

        return locked

    def if_free(self, function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R | None]]:
        """Decorator: the function runs if the lock is free; otherwise it is skipped, and None is returned."""
        refuse_wrong_kind(function, tasks=True)

        @wraps(function)
        async def locked(*args: P.args, **kwargs: P.kwargs) -> R | None:
            grant = await self.try_acquire()
            if grant is None:
                return None
            async with grant:
                return await function(*args, **kwargs)

        return locked

    def every(
        self, period: str
    ) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R | None]]]:
        """Decorator: the function runs while the lock is held, once in each period, such as "1d"; otherwise it is
        skipped, and None is returned. A run that raises does not count."""
        return TaskPeriodic(self, period)

    def __repr__(self) -> str:
        owner = calling_owner()
        grant = None if owner is None else self._grants.newest(owner.number)
        held = describe_holders(grant if grant is not None and grant._held else None, self._grants.any_held(), "task")
        return describe_lock(f"vez.aio.{type(self).__name__}", self._engine, self._request, held)


class Election(Lock):
    """A candidacy: `async with` waits until elected; its body is cancelled when deposed."""

    _grant_type = Leadership

    def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Coroutine[Any, Any, Leadership]:
        """Wait until elected."""
        return super().acquire(timeout)  # type: ignore[return-value]  # _grant_type says so

    async def __aenter__(self) -> Leadership:
        return await super().__aenter__()  # type: ignore[return-value]

    def lead(self, work: Callable[[Leadership], Coroutine[Any, Any, object]], *, every: float) -> Leading:
        """Stand for election in the background. While this process leads, call `work` with the leadership every `every`
        seconds, again and again. After a loss, stand again. It ends with the block of the result, or by its `stop`."""
        return Leading(self, work, every)

    def observe(self, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        """Yield the current leader, then each change; end after `seconds` without a change."""
        return self._engine.observe(self.name, check_timeout(seconds))


class Client(BaseClient[Lock, Election, AsyncEngine]):
    """A connection to an engine, for one event loop; close it, or use `async with`."""

    _lock_type, _election_type, _grace = Lock, Election, 1.0
    _under_terms = WatchedAsyncEngine

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self._for_metrics: Engine | None = None
        self._opening = threading.Lock()

    @asynccontextmanager
    async def lock_all(self, names: Sequence[str], *, timeout: float | None = None) -> AsyncIterator[dict[str, Grant]]:
        """Acquire several locks, all or none, in sorted order, so that no two callers wait for each other."""
        ordered = in_order(names)
        async with AsyncExitStack() as stack:
            clock, grants = Clock(timeout), {}
            for name in ordered:
                grants[name] = await stack.enter_async_context(await self.lock(name).acquire(clock.left()))
            yield grants

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue, forced releases and periodic work (`every`) of a name."""
        return await inspect(self.engine, check_name(name), check_kind(kind))

    async def locks(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """Names in use, or once used, that begin with the prefix."""
        return await self.engine.names(check_prefix(prefix), check_kind(kind))

    async def prune(self, prefix: str = "") -> int:
        """Remove stored data of idle names that begin with the prefix. Returns the number of names. Their tokens are
        never issued again. `file:` removes their files, `etcd:` the records of forced releases. Notes of `every` go
        when a whole period has passed since theirs."""
        return await prune(self, check_prefix(prefix))

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take a name from its holders by force. The break is recorded, and the holders are told first. None if nobody
        holds the name."""
        return await self.engine.break_lock(check_name(name), check_reason(reason), check_kind(kind))

    async def close(self) -> None:
        """Release everything and close."""
        await self.engine.close()
        if self._for_metrics is not None:
            await asyncio.to_thread(self._for_metrics.close)

    def _viewer(self) -> Engine | None:
        """An engine for threads, for the metrics. Their reader may be in another thread and outside of a task, so it
        gets an engine of its own."""
        with self._opening:
            if self._for_metrics is None and not self.engine.closed:
                self._for_metrics = open_engine(self.engine.url)
        return None if self.engine.closed else self._for_metrics

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return describe_client("vez.aio.Client", self.engine)


def connect(url: str | None = None) -> Client:
    """A client of the engine at the URL; by default `VEZ_URL`, or the files of this machine."""
    return Client(open_async_engine(url))
