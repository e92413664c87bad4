"""What every engine offers, and the values that go in and out.

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
"""Bytes of a label: what is shown of one who holds or waits."""
DEFAULT_GRACE_MS = 0
"""How long a forced release waits for the holder to go by itself; a holder with a child to end asks for more."""


class Request(msgspec.Struct, frozen=True):
    """What a client asks for."""

    name: str
    kind: Kind = "lock"
    shared: bool = False
    limit: int = 1
    """How many may be inside at once; more than one only for semaphores."""
    weight: int = 0
    """In an election, the heaviest candidate wins; among equals the one that came first."""
    grace_ms: int = DEFAULT_GRACE_MS
    label: str = ""


class Place(msgspec.Struct, frozen=True):
    """Where a waiting request stands."""

    position: int
    """How many are before it, those inside included; it only falls."""
    estimated_seconds: float | None
    """The position times the mean stay of late, less what the first has been inside for; nothing where no stay has
    ended yet, and where the first has stayed for longer than that."""
    holder: Contestant | None = None


class Contestant(msgspec.Struct, frozen=True):
    """One who holds or waits, as `inspect` shows it."""

    token: int
    pid: int
    host: str
    since: float
    """Seconds since the epoch: when it got in, or when it began to wait."""
    shared: bool = False
    label: str = ""
    weight: int = 0
    lost: bool = False
    """Its holding was broken, and it has not gone yet."""
    ended: bool = False
    """Its process is gone, and what it has started keeps the turn."""


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
    """How long a crash of the holder can keep the lock; nothing where the kernel tells at once."""
    breaks: tuple[Break, ...] = ()


class Leader(msgspec.Struct, frozen=True):
    """Who leads, as an observer sees it."""

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
        """Why this is no longer held, or nothing while it is. Never waits."""

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call back from the event loop when the holding is lost; only for holdings of the async pump."""

    def release(self) -> None:
        """Let go. Doing it twice is harmless."""

    async def release_async(self) -> None:
        """The same for a task."""

    def transfer(self, to: str) -> int:
        """Hand a leadership to the candidate with this label; its new term."""

    def lifeline(self) -> int | None:
        """A copy of the descriptor on which it depends, for a child that should keep it should we die; the caller's to
        close. Nothing where an engine has none: then it goes with us."""


class Engine(ABC):
    """A place where turns are kept."""

    url: str
    closed: bool = False

    @abstractmethod
    def acquire(
        self, request: Request, owner: Owner, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        """Wait for one's turn; `LockTimeout` after so many seconds, 0 meaning not to wait at all."""

    @abstractmethod
    async def acquire_async(
        self, request: Request, owner: Owner, seconds: float | None, progress: Progress | None = None
    ) -> Holding:
        """The same for a task."""

    @abstractmethod
    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and history of a name."""

    @abstractmethod
    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names known, sorted."""

    @abstractmethod
    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take it from its holders by force; nothing when nobody holds it."""

    @abstractmethod
    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        """The leader now, and each change; ends after so many seconds without one."""

    @abstractmethod
    def observe_async(self, name: str) -> AsyncIterator[Leader | None]:
        """The same for a task, without an end."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything, holdings too."""
