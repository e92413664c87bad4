"""The client for threads: locks, read/write locks, semaphores and elections of one engine.

Every thread is an owner of its own; a client may be shared among them. A forked child holds nothing of what its
parent holds, and may use the same client object for requests of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import local
from time import monotonic
from types import TracebackType
from typing import Self

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


class _Here(local):
    """The owner of this thread."""

    def __init__(self) -> None:
        self.owner = Owner()


_here = _Here()


class Grant:
    """A lock or permit that is held. Released by leaving `with`, or by `release`."""

    __slots__ = ("_below", "_holding", "name", "released", "token")

    def __init__(self, name: str, holding: Holding) -> None:
        self.name = name
        self.token = holding.token
        """Fencing token: strictly increases for a name. Pass it to the protected resource, which refuses a smaller
        one."""
        self._holding = holding
        self.released = False
        self._below: Self | None = None  # what the same thread acquired earlier through the same object

    @property
    def lost(self) -> bool:
        """True if ownership ended before `release()` was called."""
        return not self.released and self._holding.why_lost() is not None

    def check(self) -> None:
        """Raise `OwnershipLost` if it is not held any more."""
        if (why := self._holding.why_lost()) is not None:
            raise OwnershipLost(
                f"{self.name!r} (token {self.token}) is no longer held: {why}",
                hint="stop writing; a fenced resource refuses this token from now on",
            )

    def release(self) -> None:
        """Release; the next waiter is granted. Calling it twice is harmless."""
        try:
            self._holding.release()
        except BaseException:  # an interrupt: complete what it has cut short
            self._holding.release()
            raise
        finally:
            self.released = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def __repr__(self) -> str:
        return describe_grant("vez.Grant", self.name, f"token {self.token}", released=self.released, lost=self.lost)


class Leadership(Grant):
    """A leadership that is held: one term of office."""

    __slots__ = ()

    @property
    def term(self) -> int:
        """Strictly increases for an election; at most one leader has each."""
        return self.token

    def resign(self) -> None:
        """Resign; another candidate is elected at once."""
        self.release()

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader, without a vacancy; its term."""
        term = self._holding.transfer(to)
        self.release()
        return term

    def __repr__(self) -> str:
        return describe_grant("vez.Leadership", self.name, f"term {self.term}", released=self.released, lost=self.lost)


class Lock:
    """A lock or semaphore that can be acquired again and again; each thread has its own grant."""

    _grant_type: type[Grant] = Grant

    __slots__ = ("_engine", "_grants", "_progress", "_request", "_timeout")

    def __init__(self, engine: Engine, request: Request, timeout: float | None, progress: Progress | None) -> None:
        self._engine, self._request = engine, request
        self._timeout = timeout if timeout is None else check_timeout(timeout)
        self._progress = progress
        self._grants: Grants[Grant] = Grants()  # by thread

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._request.name

    def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Grant:
        """Wait until granted. `LockTimeout` if the time is over; the request has left the queue then. None: no
        limit."""
        seconds = self._timeout if timeout is OWN_TIMEOUT else check_timeout(timeout)
        owner = _here.owner
        holding, grant = self._engine.acquire(self._request, owner, seconds, self._progress), None
        try:
            grant = self._grant_type(self._request.name, holding)
            self._grants.push(owner, grant)
            return grant
        except BaseException:  # an interrupt: the caller never gets the grant
            holding.release()
            if grant is not None:
                grant.released = True
            raise

    def try_acquire(self) -> Grant | None:
        """The grant if it is free now, else None."""
        try:
            return self.acquire(0)
        except (LockTimeout, AlreadyHeld):
            return None

    def release(self) -> None:
        """Release what this thread holds through this object."""
        owner = _here.owner
        grant = self._grants.newest(owner)
        if grant is None:
            raise Misuse(f"{self.name!r} is not held by this thread through this object", hint="acquire it first")
        grant.release()
        self._grants.tidy(owner)

    __enter__ = acquire

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        owner, grant = _here.owner, None
        try:
            grant = self._grants.newest(owner)
            if grant is not None:
                grant._holding.release()
                grant.released = True
                self._grants.tidy(owner)
        except BaseException:  # an interrupt: complete what it has cut short
            grant = grant or self._grants.newest(owner)
            if grant is not None:
                grant.release()
            raise

    def __repr__(self) -> str:
        grant = self._grants.newest(_here.owner)
        held = describe_holders(None if grant is None else grant.token, self._grants.any_held(), "thread")
        return describe_lock(f"vez.{type(self).__name__}", self._engine, self._request, held)


class Election(Lock):
    """A candidacy: `with` waits until elected."""

    _grant_type = Leadership
    __slots__ = ()

    def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Leadership:
        """Wait until elected."""
        return super().acquire(timeout)  # type: ignore[return-value]  # _grant_type says so

    __enter__ = acquire

    def observe(self, seconds: float | None = None) -> Iterator[Leader | None]:
        """Yield the leader now, then each change; end after `seconds` without a change."""
        return self._engine.observe(self.name, seconds)


class Client:
    """A connection to an engine. Cheap to share among threads; close it, or use `with`."""

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
        grace: float = 0,
    ) -> Lock:
        """A lock, exclusive or `shared`. `timeout` bounds the wait, `on_wait` is called with the position in the queue,
        `grace` is how long a forced release waits for the holder before others are granted."""
        if lease is not None:
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
        grace: float = 0,
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
        grace: float = 0,
    ) -> Election:
        """A candidacy. When there is no leader the heaviest candidate wins, among equals the first."""
        label = default_label() if label is None else label
        return Election(self.engine, election_request(name, weight, label=label, grace=grace), timeout, on_wait)

    @contextmanager
    def lock_all(self, names: Sequence[str], *, timeout: float | None = None) -> Iterator[dict[str, Grant]]:
        """Several locks, all or none. They are acquired in sorted order, so that no two callers wait for each other."""
        if isinstance(names, str):
            raise Misuse(f"lock_all takes several names, found the text {names!r}", hint=f"for one: lock({names!r})")
        ordered = sorted({check_name(name) for name in names})
        if len(ordered) != len(names):
            raise Misuse(f"lock_all got a name twice: {', '.join(sorted(names))}")
        with ExitStack() as stack:
            clock = _Clock(timeout)
            yield {name: stack.enter_context(self.lock(name).acquire(clock.left())) for name in ordered}

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""
        return self.engine.inspect(check_name(name), check_kind(kind))

    def locks(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """Names in use, or once used, that begin with the prefix."""
        return self.engine.names(prefix, kind)

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take a name from its holders by force: recorded, and told to them first. None if nobody holds it."""
        return self.engine.break_lock(check_name(name), check_reason(reason), check_kind(kind))

    def close(self) -> None:
        """Release everything and close."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return describe_client("vez.Client", self.engine)


class _Clock:
    """One timeout over several waits."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if check_timeout(seconds) is None else monotonic() + (seconds or 0)

    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - monotonic())


def connect(url: str | None = None) -> Client:
    """A client of the engine at the URL; by default `VEZ_URL`, or the files of this machine."""
    return Client(open_engine(url))


_default: Client | None = None


def lock(name: str, *, timeout: float | None = None, shared: bool = False, on_wait: Progress | None = None) -> Lock:
    """A lock of the default engine, which is opened once: `VEZ_URL`, or the files of this machine."""
    global _default
    if _default is None:
        _default = connect()
    return _default.lock(name, timeout=timeout, shared=shared, on_wait=on_wait)
