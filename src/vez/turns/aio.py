"""The client for tasks. Every task is an owner of its own.

The body of `async with` is cancelled as soon as what it holds is lost, and ends with `OwnershipLost`, just as
`asyncio.timeout` ends with `TimeoutError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary, ref

from vez.engines import open_engine
from vez.engines.base import Break, Engine, Holding, Inspection, Kind, Leader, Progress, Request
from vez.engines.names import check_name
from vez.engines.owners import Owner
from vez.errors import AlreadyHeld, LockTimeout, Misuse, OwnershipLost
from vez.turns.describe import describe_client, describe_grant, describe_holders, describe_lock
from vez.turns.grants import Grants
from vez.turns.request import (
    OWN_TIMEOUT,
    OwnTimeout,
    check_kind,
    check_lease,
    check_reason,
    check_timeout,
    default_label,
    election_request,
    lock_request,
    semaphore_request,
)

_owners: WeakKeyDictionary[asyncio.Task[object], Owner] = WeakKeyDictionary()


def _owner() -> Owner:
    """The owner of the running task."""
    task = asyncio.current_task()
    if task is None:
        raise Misuse("vez.aio must be used within a task", hint="run it with asyncio.run")
    owner = _owners.get(task)
    if owner is None:
        owner = _owners[task] = Owner()
    return owner


class Grant:
    """A lock or permit that is held. Released by leaving `async with`, or by `release`."""

    name: str
    token: int
    """Fencing token: strictly increases for a name. Pass it to the protected resource, which refuses a smaller one."""
    released: bool

    def __init__(self, name: str, holding: Holding) -> None:
        self.name, self.token = name, holding.token
        self._holding = holding
        self.released = False
        self._below: Self | None = None  # what the same task acquired earlier through the same object
        self._loss = asyncio.Event()
        self._body: asyncio.Task[object] | None = None
        self._cancelled = False
        me = ref(self)  # weak: a grant that the program has dropped must be finalised

        def tell(why: str) -> None:
            grant = me()
            if grant is not None:
                grant._lost(why)

        holding.on_loss(tell)
        if holding.why_lost() is not None:
            self._loss.set()

    @property
    def lost(self) -> bool:
        """True if ownership ended before `release()` was called."""
        return not self.released and self._holding.why_lost() is not None

    def check(self) -> None:
        """Raise `OwnershipLost` if it is not held any more."""
        if (why := self._holding.why_lost()) is not None:
            raise self._error(why)

    async def wait_lost(self) -> None:
        """Return when it is lost."""
        await self._loss.wait()

    def lifeline(self) -> int | None:
        """A descriptor for a child process that should keep the lock if we are killed. The caller closes it."""
        return self._holding.lifeline()

    async def release(self) -> None:
        """Release; the next waiter is granted. Calling it twice is harmless."""
        self.released = True
        await self._holding.release_async()

    async def __aenter__(self) -> Self:
        self._body = asyncio.current_task()
        if self._loss.is_set():
            await self.release()
            self.check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        body, self._body = self._body, None
        why = self._holding.why_lost() if not self.released else None
        await self.release()
        if self._cancelled and body is not None and body.uncancel() == 0 and kind is asyncio.CancelledError:
            raise self._error(why or "it was lost") from error

    def _lost(self, why: str) -> None:
        if self.released or self._loss.is_set():
            return
        self._loss.set()
        if self._body is not None:
            self._cancelled = True
            self._body.cancel(f"{self.name!r} was lost: {why}")

    def _error(self, why: str) -> OwnershipLost:
        return OwnershipLost(
            f"{self.name!r} (token {self.token}) is no longer held: {why}",
            hint="stop writing; a fenced resource refuses this token from now on",
        )

    def __repr__(self) -> str:
        return describe_grant("vez.aio.Grant", self.name, f"token {self.token}", released=self.released, lost=self.lost)


class Leadership(Grant):
    """A leadership that is held: one term of office."""

    @property
    def term(self) -> int:
        """Strictly increases for an election; at most one leader has each."""
        return self.token

    async def resign(self) -> None:
        """Resign; another candidate is elected at once."""
        await self.release()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader, without a vacancy; its term."""
        self.released = True  # from here on losing it is intended
        try:
            term = await self._transfer(to)
        except BaseException:
            self.released = False
            raise
        await self.release()
        return term

    async def _transfer(self, to: str) -> int:
        while True:
            try:
                return self._holding.transfer(to)
            except BlockingIOError:  # the engine is busy, and the loop must not block
                await asyncio.sleep(0.001)

    def __repr__(self) -> str:
        kind, number = "vez.aio.Leadership", f"term {self.term}"
        return describe_grant(kind, self.name, number, released=self.released, lost=self.lost)


class Lock:
    """A lock or semaphore that can be acquired again and again; each task has its own grant."""

    _grant_type: type[Grant] = Grant

    def __init__(self, engine: Engine, request: Request, timeout: float | None, progress: Progress | None) -> None:
        self._engine, self._request = engine, request
        self._timeout = check_timeout(timeout)
        self._progress = progress
        self._grants: Grants[Grant] = Grants()  # by task

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._request.name

    async def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Grant:
        """Wait until granted. `LockTimeout` if the time is over; the request has left the queue then. None: no
        limit."""
        seconds = self._timeout if timeout is OWN_TIMEOUT else check_timeout(timeout)
        owner = _owner()
        holding = await self._engine.acquire_async(self._request, owner, seconds, self._progress)
        try:
            grant = self._grant_type(self._request.name, holding)
            self._grants.push(owner, grant)
            return grant
        except BaseException:  # an interrupt: the caller never gets the grant
            holding.release()
            raise

    async def try_acquire(self) -> Grant | None:
        """The grant if it is free now, else None."""
        try:
            return await self.acquire(0)
        except (LockTimeout, AlreadyHeld):
            return None

    async def release(self) -> None:
        """Release what this task holds through this object."""
        owner = _owner()
        grant = self._grants.newest(owner)
        if grant is None:
            raise Misuse(f"{self.name!r} is not held by this task through this object", hint="acquire it first")
        await grant.release()
        self._grants.tidy(owner)

    async def __aenter__(self) -> Grant:
        grant = await self.acquire()
        return await grant.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        owner = _owner()
        grant = self._grants.newest(owner)
        if grant is not None:
            try:
                await grant.__aexit__(kind, error, at)
            finally:
                self._grants.tidy(owner)

    def __repr__(self) -> str:
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop runs in this thread
            task = None
        owner = None if task is None else _owners.get(task)
        grant = None if owner is None else self._grants.newest(owner)
        held = describe_holders(None if grant is None else grant.token, self._grants.any_held(), "task")
        return describe_lock(f"vez.aio.{type(self).__name__}", self._engine, self._request, held)


class Election(Lock):
    """A candidacy: `async with` waits until elected; its body is cancelled when deposed."""

    _grant_type = Leadership

    async def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Leadership:
        """Wait until elected."""
        return await super().acquire(timeout)  # type: ignore[return-value]  # _grant_type says so

    async def __aenter__(self) -> Leadership:
        return await super().__aenter__()  # type: ignore[return-value]

    def observe(self) -> AsyncIterator[Leader | None]:
        """Yield the leader now, then each change."""
        return self._engine.observe_async(self.name)


class Client:
    """A connection to an engine, for one event loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def url(self) -> str:
        """The URL of the engine."""
        return self.engine.url

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        shared: bool = False,
        lease: float | None = None,
        label: str | None = None,
        on_wait: Progress | None = None,
        grace: float = 1.0,
    ) -> Lock:
        """A lock, exclusive or `shared`. `timeout` bounds the wait, `on_wait` is called with the position in the queue,
        `grace` is how long a forced release waits for the cancelled body before others are granted."""
        check_lease(lease)
        return Lock(self.engine, lock_request(name, shared, label, grace), timeout, on_wait)

    def read_lock(self, name: str, *, timeout: float | None = None, on_wait: Progress | None = None) -> Lock:
        """A shared lock, for readers. First come, first served: neither readers nor writers starve."""
        return self.lock(name, timeout=timeout, shared=True, on_wait=on_wait)

    def write_lock(self, name: str, *, timeout: float | None = None, on_wait: Progress | None = None) -> Lock:
        """An exclusive lock, for writers; like `lock`."""
        return self.lock(name, timeout=timeout, on_wait=on_wait)

    def semaphore(
        self,
        name: str,
        limit: int,
        *,
        timeout: float | None = None,
        label: str | None = None,
        on_wait: Progress | None = None,
        grace: float = 1.0,
    ) -> Lock:
        """A semaphore: at most `limit` holders at once. All users must name the same limit."""
        return Lock(self.engine, semaphore_request(name, limit, label=label, grace=grace), timeout, on_wait)

    def election(
        self,
        name: str,
        *,
        weight: int = 0,
        timeout: float | None = None,
        label: str | None = None,
        on_wait: Progress | None = None,
        grace: float = 1.0,
    ) -> Election:
        """A candidacy. When there is no leader the heaviest candidate wins, among equals the first."""
        label = default_label() if label is None else label
        return Election(self.engine, election_request(name, weight, label=label, grace=grace), timeout, on_wait)

    @asynccontextmanager
    async def lock_all(self, names: Sequence[str], *, timeout: float | None = None) -> AsyncIterator[dict[str, Grant]]:
        """Several locks, all or none. They are acquired in sorted order, so that no two callers wait for each other."""
        if isinstance(names, str):
            raise Misuse(f"lock_all takes several names, found the text {names!r}", hint=f"for one: lock({names!r})")
        ordered = sorted({check_name(name) for name in names})
        if len(ordered) != len(names):
            raise Misuse(f"lock_all got a name twice: {', '.join(sorted(names))}")
        end = None if check_timeout(timeout) is None else monotonic() + (timeout or 0)
        async with AsyncExitStack() as stack:
            grants = {}
            for name in ordered:
                left = None if end is None else max(0.0, end - monotonic())
                grants[name] = await stack.enter_async_context(await self.lock(name).acquire(left))
            yield grants

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""
        return self.engine.inspect(check_name(name), check_kind(kind))

    async def locks(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """Names in use, or once used, that begin with the prefix."""
        return self.engine.names(prefix, kind)

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take a name from its holders by force: recorded, and told to them first. None if nobody holds it."""
        return await asyncio.to_thread(self.engine.break_lock, check_name(name), check_reason(reason), check_kind(kind))

    async def close(self) -> None:
        """Release everything and close."""
        self.engine.close()

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
    return Client(open_engine(url))


_default: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()


def lock(name: str, *, timeout: float | None = None, shared: bool = False, on_wait: Progress | None = None) -> Lock:
    """A lock of the default engine, which is opened once for each event loop."""
    loop = asyncio.get_running_loop()
    client = _default.get(loop)
    if client is None:
        # A client keeps its loop alive. The table is copied first: loops of other threads may begin meanwhile.
        for other in [one for known in _default.keyrefs() if (one := known()) is not None and one.is_closed()]:
            if (unused := _default.pop(other, None)) is not None:
                unused.engine.close()
        client = _default[loop] = connect()
    return client.lock(name, timeout=timeout, shared=shared, on_wait=on_wait)
