"""The client for threads: locks, read/write locks, semaphores and elections of one engine.

Every thread is an owner of its own; a client may be shared among them. A forked child holds nothing of what its
parent holds, and may use the same client object for requests of its own.

Written by hand beside `aio.py`, not generated from it. A thread is interrupted anywhere and learns of a loss by asking.
A task is cancelled when it has lost, is the owner of what another task awaits for it, and has coroutines where a thread
has results. So grants, `acquire` and `with` differ; what does not is in `client_base.py`, `grant.py` and `describe.py`.
"""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar, Unpack

from vez.errors import AlreadyHeld, LockTimeout, Misuse
from vez.locks.engines import late_parts, open_engine
from vez.locks.engines.base import Kind, Progress, Request, Token
from vez.locks.engines.handles import quietly
from vez.locks.engines.names import check_name
from vez.locks.engines.owners import REMEMBERED, Grants, here
from vez.locks.engines.seam import Engine, Holding
from vez.locks.engines.wording import ownership_lost
from vez.locks.turns.client_base import BaseClient, Clock, Hinting, OnlyChanges, Options, in_order, refuse_made_by_hand
from vez.locks.turns.decorate import refuse_wrong_kind
from vez.locks.turns.grant import BaseGrant
from vez.locks.turns.request import OWN_TIMEOUT, OwnTimeout, check_kind, check_prefix, check_reason, check_timeout

if TYPE_CHECKING:
    from vez.locks.engines.base import Break, Inspection, Leader
    from vez.locks.turns.metrics import Meter
    from vez.locks.turns.terms import Terms
    from vez.locks.turns.thread_leading import Leading
    from vez.locks.turns.thread_watched import WatchedEngine

P = ParamSpec("P")
R = TypeVar("R")


class Grant(BaseGrant[Holding]):
    """A lock or permit that is held. Released by leaving `with`, or by `release`."""

    __slots__ = ()

    def wait_lost(self, timeout: float | None = None) -> bool:
        """Wait for a loss. True when the grant is lost, False after `timeout` seconds. Checks twenty times a second."""
        clock = Clock(timeout)
        while not self.lost:
            left = clock.left()
            if left == 0:
                return False
            sleep(0.05 if left is None else min(0.05, left))
        return True

    def release(self) -> None:
        """Release; the next waiter is granted. Raises `OwnershipLost`, once, if the grant was lost before. Calling it
        twice is harmless."""
        told = self.released
        self._end()
        if not told and (why := self._holding.loss()) is not None:
            raise ownership_lost(self.name, self.token, why)

    def _end(self) -> None:
        """Release, lost or not."""
        try:
            self._holding.release()
        except BaseException:  # an interrupt: complete what it has cut short
            try:
                self._holding.release()
            except BaseException:  # a second one
                start_new_thread(quietly, (self._holding.release,))
            raise
        finally:
            if self._meter is not None and not self.released:
                self._meter.ended(self._since, self._holding.loss())
            self.released = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.release()
        else:  # the body's own exception wins
            self._end()

    def __repr__(self) -> str:
        from vez.locks.turns.describe import describe_grant

        return describe_grant("vez.Grant", self.name, f"token {self.token}", self._holding)


class Leadership(Grant):
    """A leadership that is held: one term of office."""

    __slots__ = ()

    @property
    def term(self) -> Token:
        """The term. Terms of an election strictly increase, and no two leaders share one."""
        return self.token

    def resign(self) -> None:
        """Resign; another candidate is elected at once."""
        self.release()

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader, without a vacancy. Returns its term. Raises `OwnershipLost` if the
        leadership was lost before."""
        try:
            term = self._holding.transfer(to)
        except Misuse as error:
            raise self._refused_transfer(error) from None
        self._end()
        return term

    def __repr__(self) -> str:
        from vez.locks.turns.describe import describe_grant

        return describe_grant("vez.Leadership", self.name, f"term {self.term}", self._holding)


class Lock(Hinting):
    """A lock or semaphore that can be acquired repeatedly; each thread has its own grant."""

    _grant_type: type[Grant] = Grant

    __slots__ = ("_engine", "_grants", "_meter", "_progress", "_request", "_timeout")

    def __init__(
        self,
        engine: Engine | WatchedEngine,
        request: Request | None = None,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        if request is None:
            raise refuse_made_by_hand("a lock", engine, "vez.lock('nightly'), or client.election('scheduler')")
        self._engine, self._request = engine, request
        self._timeout = timeout if timeout is None else check_timeout(timeout)
        self._progress = progress
        self._grants: Grants[Grant] = Grants()  # by thread
        self._meter: Meter | None = None

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._request.name

    def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Grant:
        """Wait until granted. Raises `LockTimeout` after `timeout` seconds; the request has left the queue then. None
        waits without limit."""
        seconds = self._timeout if timeout is OWN_TIMEOUT else check_timeout(timeout)
        request, owner, progress, meter = self._request, here.owner.number, self._progress, self._meter
        if progress is not None:
            progress = OnlyChanges(progress)
        begin = 0.0 if meter is None else monotonic()
        try:
            holding, grant = self._engine.acquire(request, owner, seconds, progress), None
        except LockTimeout:
            if meter is not None:
                meter.timed_out(monotonic() - begin)
            raise
        try:
            grant, grants = self._grant_type(request.name, holding), self._grants
            if grants.setdefault(owner, grant) is not grant or len(grants) > REMEMBERED:
                grants.push(owner, grant)
            if meter is not None:
                grant._meter, grant._since = meter, monotonic()
                meter.waited(grant._since - begin)
            return grant
        except BaseException:  # an interrupt: the caller never gets the grant
            try:
                holding.release()
            except BaseException:  # a second one
                start_new_thread(quietly, (holding.release,))
                raise
            finally:
                if grant is not None:
                    grant.released = True
            raise

    def try_acquire(self) -> Grant | None:
        """The grant if the lock is free now, else None."""
        try:
            return self.acquire(0)
        except (LockTimeout, AlreadyHeld):
            return None

    def release(self) -> None:
        """Release the newest grant that this thread has through this object."""
        owner = here.owner.number
        grant = self._grants.newest(owner)
        if grant is None:
            raise Misuse(f"{self.name!r} is not held by this thread through this object", hint="acquire it first")
        try:
            grant.release()
        finally:
            self._grants.tidy(owner)

    __enter__ = acquire

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        owner, grants, grant = here.owner.number, self._grants, None
        try:
            grant = grants[owner] if owner in grants else None  # noqa: SIM401  no call: an interrupt cannot lose it
            if grant is not None and grant.released:
                grant = grants.newest(owner)
            if grant is not None:
                grant._holding.release()
                grant.released = True
                if grant._meter is not None:
                    grant._meter.ended(grant._since, grant._holding.lost)
                if grant._below is None:
                    grants.pop(owner, None)
                else:
                    grants.tidy(owner)
        except BaseException:  # an interrupt: complete what it has cut short
            try:
                grant = grant or grants.newest(owner)
                if grant is not None:
                    grant._end()
            except BaseException:  # a second one
                if grant is not None:
                    start_new_thread(quietly, (grant._holding.release,))
            raise
        if grant is not None and grant._holding.lost is not None and kind is None:
            raise ownership_lost(grant.name, grant.token, grant._holding.lost)

    def locked(self) -> bool:
        """True if the lock is held now, by any owner."""
        return bool(self._engine.inspect(self.name, self._request.kind).holders)

    @property
    def owned(self) -> bool:
        """True if this thread holds the lock through this object, and has not lost it."""
        grant = self._grants.newest(here.owner.number)
        return grant is not None and grant._held

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorator: the function runs while the lock is held."""
        refuse_wrong_kind(function, tasks=False)

        @wraps(function)
        def locked(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return locked

    def if_free(self, function: Callable[P, R]) -> Callable[P, R | None]:
        """Decorator: the function runs if the lock is free; otherwise it is skipped, and None is returned."""
        refuse_wrong_kind(function, tasks=False)

        @wraps(function)
        def locked(*args: P.args, **kwargs: P.kwargs) -> R | None:
            grant = self.try_acquire()
            if grant is None:
                return None
            with grant:
                return function(*args, **kwargs)

        return locked

    def every(self, period: str) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
        """Decorator: the function runs while the lock is held, once in each period, such as "1d"; otherwise it is
        skipped, and None is returned. A run that raises does not count."""
        from vez.locks.turns.thread_periodic import ThreadPeriodic  # here: most programs need none

        return ThreadPeriodic(self, period)

    def __repr__(self) -> str:
        from vez.locks.turns.describe import describe_holders, describe_lock

        grant = self._grants.newest(here.owner.number)
        held = describe_holders(grant if grant is not None and grant._held else None, self._grants.any_held(), "thread")
        return describe_lock(f"vez.{type(self).__name__}", self._engine, self._request, held)


class Election(Lock):
    """A candidacy: `with` waits until elected."""

    _grant_type = Leadership
    __slots__ = ()

    def acquire(self, timeout: float | OwnTimeout | None = OWN_TIMEOUT) -> Leadership:
        """Wait until elected."""
        return super().acquire(timeout)  # type: ignore[return-value]  # _grant_type says so

    __enter__ = acquire

    def lead(self, work: Callable[[Leadership], object], *, every: float) -> Leading:
        """Stand for election in the background. While this process leads, call `work` with the leadership every `every`
        seconds, again and again. After a loss, stand again. It ends with the block of the result, or by its `stop`."""
        from vez.locks.turns.thread_leading import Leading  # here: most programs lead nothing

        return Leading(self, work, every)

    def observe(self, seconds: float | None = None) -> Iterator[Leader | None]:
        """Yield the current leader, then each change; end after `seconds` without a change."""
        return self._engine.observe(self.name, check_timeout(seconds))


class Client(BaseClient[Lock, Election, Engine]):
    """A connection to an engine. Cheap to share among threads; close it, or use `with`."""

    _lock_type, _election_type, _grace = Lock, Election, 0

    @staticmethod
    def _under_terms(engine: Engine, terms: Terms) -> WatchedEngine:
        from vez.locks.turns.thread_watched import WatchedEngine  # here: most locks have no terms

        return WatchedEngine(engine, terms)

    @contextmanager
    def lock_all(self, names: Sequence[str], *, timeout: float | None = None) -> Iterator[dict[str, Grant]]:
        """Acquire several locks, all or none, in sorted order, so that no two callers wait for each other."""
        ordered = in_order(names)
        with ExitStack() as stack:
            clock = Clock(timeout)
            yield {name: stack.enter_context(self.lock(name).acquire(clock.left())) for name in ordered}

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue, forced releases and periodic work (`every`) of a name."""
        from vez.locks.turns.thread_periodic import inspect

        return inspect(self.engine, check_name(name), check_kind(kind))

    def locks(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """Names in use, or once used, that begin with the prefix."""
        return self.engine.names(check_prefix(prefix), check_kind(kind))

    def prune(self, prefix: str = "") -> int:
        """Remove stored data of idle names that begin with the prefix. Returns the number of names. Their tokens are
        never issued again. `file:` removes their files, `etcd:` the records of forced releases. Notes of `every` go
        when a whole period has passed since theirs."""
        from vez.locks.turns.thread_periodic import prune

        return prune(self, check_prefix(prefix))

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take a name from its holders by force. The break is recorded, and the holders are told first. None if nobody
        holds the name."""
        return self.engine.break_lock(check_name(name), check_reason(reason), check_kind(kind))

    def close(self) -> None:
        """Release everything and close."""
        self.engine.close()

    def _viewer(self) -> Engine | None:
        return None if self.engine.closed else self.engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        from vez.locks.turns.describe import describe_client

        return describe_client("vez.Client", self.engine)


def connect(url: str | None = None) -> Client:
    """A client of the engine at the URL; by default `VEZ_URL`, or the files of this machine."""
    client = open_client(url)
    late_parts.load()
    return client


def open_client(url: str | None = None) -> Client:
    """`connect` for programs that end soon: parts of the engine are loaded when they are first used."""
    return Client(open_engine(url))


_default: Client | None = None


def lock(name: str, *, shared: bool = False, **options: Unpack[Options]) -> Lock:
    """A lock of the default engine, which is opened once: `VEZ_URL`, or the files of this machine."""
    global _default
    if _default is None:
        _default = open_client()
    return _default.lock(name, shared=shared, **options)
