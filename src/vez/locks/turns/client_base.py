"""Base class of the clients for threads and for tasks: everything that does not wait.

Both clients inherit names, parameters, defaults and texts from here, so these cannot differ.
`tests/locks/engines/test_parity.py` compares the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypedDict, TypeVar, Unpack

from vez.errors import Misuse
from vez.locks.engines.base import Progress, Request
from vez.locks.engines.names import check_name
from vez.locks.engines.seam import AsyncEngine, Engine
from vez.locks.turns.request import (
    check_lease,
    check_progress,
    check_timeout,
    default_label,
    election_request,
    lock_request,
    semaphore_request,
)
from vez.locks.turns.terms import NO_TERMS, Terms, Told, check_terms, is_verbose

if TYPE_CHECKING:
    from vez.locks.engines.base import Place
    from vez.locks.turns.metrics import Meter, Metrics


class Options(TypedDict, total=False):
    """The options of every lock, semaphore and election."""

    timeout: float | None
    """Longest wait in seconds, unless `acquire` names another; None, the default, waits without limit."""
    label: str | None
    """The name that others see. None, the default: the program's name, or host and process for an election."""
    grace: float | None
    """Seconds for which a forced release waits for the holder before others are granted. None: 0 for threads, which
    cannot be interrupted, and 1 for tasks, whose body is cancelled meanwhile."""
    lease: float | None
    """For engines over a network: seconds after which the lock of a silent holder is free."""
    reentrant: bool
    """True if an owner may acquire it again through this object while it holds it. It must release as often, in any
    order."""
    at_least: float
    """Shortest stay in seconds: an earlier release waits for the rest."""
    on_wait: Progress | None
    """Called with a `Place` while waiting, whenever the position or the holder has changed."""
    on_acquired: Told | None
    """Called with the name and the token when granted. If it raises, the lock is released, and `acquire` raises the
    same exception."""
    on_lost: Told | None
    """Called with the name and the token when a loss is noticed: at once by tasks, and by threads when they ask, with
    `lost`, `check()` or `release()`. An exception that it raises is logged, because it must not hide the loss."""
    on_released: Told | None
    """Called with the name and the token after the release. An exception that it raises is logged."""


class Asked(NamedTuple):
    """The options, with their defaults."""

    timeout: float | None
    label: str | None
    grace: float | None
    lease_ms: int | None
    on_wait: Progress | None
    terms: Terms


def asked(called: str, options: Options) -> Asked:
    """Check the options of a call; `called` is the name of the function."""
    for option in options:
        if option not in Options.__annotations__:
            from vez.locks.turns.other_words import no_option

            raise no_option(called, option, tuple(Options.__annotations__))
    return _checked(**options)


def _checked(
    *,
    timeout: float | None = None,
    label: str | None = None,
    grace: float | None = None,
    lease: float | None = None,
    reentrant: bool = False,
    at_least: float = 0.0,
    on_wait: Progress | None = None,
    on_acquired: Told | None = None,
    on_lost: Told | None = None,
    on_released: Told | None = None,
) -> Asked:
    terms = check_terms(Terms(bool(reentrant), at_least, on_acquired, on_lost, on_released, is_verbose()))
    return Asked(check_timeout(timeout), label, grace, check_lease(lease), check_progress(on_wait), terms)


class Hinting:
    """Says for an unknown attribute which word vez has for it."""

    __slots__ = ()

    if not TYPE_CHECKING:  # or every attribute would seem to be known

        def __getattr__(self, name: str) -> Any:
            from vez.locks.turns.other_words import no_attribute

            raise no_attribute(self, name)


def refuse_made_by_hand(kind: str, engine: object, call: str) -> Misuse:
    """The error for a lock or client that was made with a name or a URL: `Lock('nightly')`."""
    return Misuse(f"{kind} is not made by its name, found {engine!r:.60}", hint=f"write {call}")


class MakesLock(Protocol):
    """The constructor of a lock, for threads or for tasks."""

    _meter: Meter | None

    def __init__(self, engine: Any, request: Request, timeout: float | None, progress: Progress | None) -> None: ...


L = TypeVar("L", bound=MakesLock)
E = TypeVar("E", bound=MakesLock)
M = TypeVar("M", bound=MakesLock)
N = TypeVar("N", bound=Engine | AsyncEngine)


class BaseClient(Hinting, Generic[L, E, N]):
    """Makes the locks of one engine."""

    _lock_type: type[L]
    _election_type: type[E]
    _under_terms: Callable[[N, Terms], Any]
    _grace: float

    def __init__(self, engine: N) -> None:
        if isinstance(engine, str):
            raise refuse_made_by_hand("a client", engine, f"connect({engine!r})")
        self.engine: N = engine
        self._metrics: Metrics | None = None

    @property
    def url(self) -> str:
        """The URL of the engine."""
        return self.engine.url

    def lock(self, name: str, *, shared: bool = False, **options: Unpack[Options]) -> L:
        """A lock, exclusive or `shared`."""
        if (
            not options and self._metrics is None and not is_verbose()
        ):  # the fast path: many programs make a lock for each turn
            return self._lock_type(self.engine, lock_request(name, shared, None, self._grace, None), None, None)
        return self._lock("lock", name, shared, options)

    def read_lock(self, name: str, **options: Unpack[Options]) -> L:
        """A shared lock, for readers. First come, first served: neither readers nor writers starve."""
        return self._lock("read_lock", name, True, options) if options else self.lock(name, shared=True)

    def write_lock(self, name: str, **options: Unpack[Options]) -> L:
        """An exclusive lock, for writers; like `lock`."""
        return self._lock("write_lock", name, False, options) if options else self.lock(name)

    def semaphore(self, name: str, limit: int, **options: Unpack[Options]) -> L:
        """A semaphore: at most `limit` holders at once. All who use it at the same time must name the same limit."""
        given = asked("semaphore", options)
        if given.terms.reentrant:
            raise Misuse("a semaphore is not reentrant", hint="each acquire takes one more permit")
        request = semaphore_request(
            name, limit, label=given.label, grace=self._patience(given), lease_ms=given.lease_ms
        )
        return self._make(self._lock_type, request, given)

    def election(self, name: str, *, weight: int = 0, **options: Unpack[Options]) -> E:
        """A candidacy. When there is no leader the heaviest candidate wins, among equals the first."""
        given = asked("election", options)
        label = default_label() if given.label is None else given.label
        request = election_request(name, weight, label=label, grace=self._patience(given), lease_ms=given.lease_ms)
        return self._make(self._election_type, request, given)

    def measure(self) -> Metrics:
        """Measure the locks that this client makes from now on. Returns the object from which the metrics are read."""
        if self._metrics is None:
            from vez.locks.turns.metrics import Metrics  # here: most programs measure nothing

            self._metrics = Metrics(self._viewer)
        return self._metrics

    def _viewer(self) -> Engine | None:
        """An engine for threads, from which the metrics read the lengths of queues; None if the client was closed."""
        raise NotImplementedError

    def _patience(self, given: Asked) -> float:
        return self._grace if given.grace is None else given.grace

    def _lock(self, called: str, name: str, shared: bool, options: Options) -> L:
        given = asked(called, options)
        request = lock_request(name, shared, given.label, self._patience(given), given.lease_ms)
        return self._make(self._lock_type, request, given)

    def _make(self, kind: type[M], request: Request, given: Asked) -> M:
        engine = self.engine if given.terms == NO_TERMS else self._under_terms(self.engine, given.terms)
        made = kind(engine, request, given.timeout, given.on_wait)
        if self._metrics is not None:
            made._meter = self._metrics.meter(request.name, request.kind)
        return made


class OnlyChanges:
    """Calls `on_wait` when the position or the holder has changed, but not for the estimate, which changes all the
    time."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[int, int | None] | None = None

    def __call__(self, place: Place) -> None:
        now = (place.position, None if place.holder is None else place.holder.token)
        if now != self._last:
            self._last = now
            self._progress(place)


def in_order(names: Sequence[str]) -> list[str]:
    """The names in the order in which all programs acquire them. One order for all prevents deadlocks."""
    if isinstance(names, str):
        raise Misuse(f"lock_all takes several names, found the text {names!r}", hint=f"for one: lock({names!r})")
    found = sorted({check_name(name) for name in names})
    if len(found) != len(names):
        raise Misuse(f"lock_all got a name twice: {', '.join(sorted(names))}")
    return found


class Clock:
    """The time that is left of one timeout over several waits."""

    def __init__(self, seconds: float | None) -> None:
        seconds = check_timeout(seconds)
        self._end = None if seconds is None else monotonic() + seconds

    def left(self) -> float | None:
        """Seconds that are left; None if there is no limit."""
        return None if self._end is None else max(0.0, self._end - monotonic())
