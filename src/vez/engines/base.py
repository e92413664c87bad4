"""The interface of every engine, and the values that go in and out.

The client (`vez.turns.client`, `vez.aio`) knows nothing of files and sockets; an engine knows nothing of context
managers. Between them: a `Request` goes in, a `Holding` comes out, or one of the errors of `vez.errors`.
Engines of one machine share the two pumps of `vez.engines.local`; engines over a network write their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from vez.engines.owners import Owner

Kind = Literal["lock", "semaphore", "election"]

MAX_LABEL = 48
"""Largest label in bytes. A label is how a holder or waiter is shown to others."""
DEFAULT_GRACE_MS = 0
"""How long a forced release waits for the holder to release by itself; a holder that must end a child asks for more."""


class Request(msgspec.Struct, frozen=True):
    """What a client asks an engine for."""

    name: str
    kind: Kind = "lock"
    shared: bool = False
    limit: int = 1
    """How many may hold it at once; more than 1 only for semaphores."""
    weight: int = 0
    """In an election the heaviest candidate wins; among equals the first."""
    grace_ms: int = DEFAULT_GRACE_MS
    label: str = ""


class Place(msgspec.Struct, frozen=True):
    """The position of a waiting request."""

    position: int
    """How many are before it, holders included; it only falls."""
    estimated_seconds: float | None
    """Position times the recent mean of stays, less how long the first has held it. None if no stay has ended yet, or
    if the first has held it for longer than that."""
    holder: Contestant | None = None


class Contestant(msgspec.Struct, frozen=True):
    """A holder or a waiter, as `inspect` shows it."""

    token: int
    pid: int
    host: str
    since: float
    """Seconds since the epoch: when it was granted, or when it began to wait."""
    shared: bool = False
    label: str = ""
    weight: int = 0
    lost: bool = False
    """True if it was broken by force and has not released yet."""
    ended: bool = False
    """True if its process has ended, and a child of it keeps the lock."""


class Break(msgspec.Struct, frozen=True):
    """A forced release, as it was recorded."""

    name: str
    tokens: tuple[int, ...]
    reason: str
    at: float
    by_pid: int
    by_host: str
    kind: Kind = "lock"


class Inspection(msgspec.Struct, frozen=True):
    """All that is known of one name."""

    name: str
    kind: Kind
    limit: int
    holders: tuple[Contestant, ...]
    queue: tuple[Contestant, ...]
    last_token: int
    """The newest token issued; 0 when there was none."""
    mean_hold_seconds: float | None = None
    lease_seconds: float | None = None
    """How long the lock can stay held after a crash of the holder; None where the kernel frees it at once."""
    breaks: tuple[Break, ...] = ()


class Leader(msgspec.Struct, frozen=True):
    """The leader, as an observer sees it."""

    term: int
    pid: int
    host: str
    label: str
    since: float


Progress = Callable[[Place], None]


class Holding(Protocol):
    """A lock, a permit or a leadership that was granted."""

    @property
    def token(self) -> int:
        """The fencing token; the term of a leadership."""

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when the holding is lost; for `acquire_async` only."""

    def release(self) -> None:
        """Release. Calling it twice is harmless."""

    async def release_async(self) -> None:
        """Async version of `release`."""

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""

    def lifeline(self) -> int | None:
        """A copy of the descriptor on which the lock depends, for a child that should keep it if we are killed. The
        caller closes it. None if the engine has none: then the lock ends with this process."""


class Engine(ABC):
    """Keeps the turns of all names of one URL."""

    url: str
    closed: bool = False

    @abstractmethod
    def acquire(
        self, request: Request, owner: Owner, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        """Wait until granted. `LockTimeout` after `seconds`; 0 does not wait, None waits without limit."""

    @abstractmethod
    async def acquire_async(
        self, request: Request, owner: Owner, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        """Async version of `acquire`."""

    @abstractmethod
    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""

    @abstractmethod
    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names in use, or once used, that begin with the prefix, sorted."""

    @abstractmethod
    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take it from its holders by force. None if nobody holds it."""

    @abstractmethod
    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        """Yield the leader now, then each change; end after `seconds` without a change."""

    @abstractmethod
    def observe_async(self, name: str) -> AsyncIterator[Leader | None]:
        """Async version of `observe`, which never ends by itself."""

    @abstractmethod
    def close(self) -> None:
        """Release everything and close."""
