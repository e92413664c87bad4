"""The seam between clients and engines: two small interfaces with the same names, for threads and for tasks.

The clients (`vez.turns.client`, `vez.turns.aio`) know nothing of files and sockets; an engine knows nothing of context
managers. Between them: a `Request` and the number of an owner go in, a `Holding` comes out, or one of the errors of
`vez.errors`. No exception of the operating system crosses the seam, and nothing of `AsyncEngine` and `AsyncHolding`
blocks the event loop.

Engines of one machine share two pumps over one core that never blocks (`local.py`, `local_threads.py`,
`local_tasks.py`). Who holds what is kept in `owners.py`, and what all engines say and compute in the same way is in
`wording.py` and `queueing.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol

from vez.engines.base import Break, Inspection, Kind, Leader, Progress, Request, Traits


class Held(Protocol):
    """A lock, a permit or a leadership that was granted: what threads and tasks can ask of it. Nothing here blocks."""

    @property
    def token(self) -> int | None:
        """The fencing token; the term of a leadership. None if the engine gives none (`Traits.token`)."""

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known; at the latest after `release`."""

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held."""

    def loss(self) -> str | None:
        """Reason of the loss, or None. Unlike for `why_lost`, a release, a transfer and the closing of the client are
        not losses, and the answer stays the same after them."""

    def lifeline(self) -> int | None:
        """A copy of the descriptor on which the lock depends, for a process of ours that should keep it if we are
        killed. The caller closes it. None if the engine has none: then the lock ends with this process."""


class Holding(Held, Protocol):
    """What was granted to a thread."""

    def release(self) -> None:
        """Release. Calling it twice is harmless."""

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""


class AsyncHolding(Held, Protocol):
    """What was granted to a task."""

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when the holding is lost. If it was lost before this call,
        `lost` says so after it."""

    async def release(self) -> None:
        """Release. Calling it twice is harmless."""

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""


class Engine(ABC):
    """Keeps the turns of all names of one URL, for threads."""

    url: str
    traits: Traits
    closed: bool

    @abstractmethod
    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        """Wait until granted. `LockTimeout` after `seconds`; 0 does not wait, None waits without limit. `owner` is a
        number of `owners.py`: whoever asks again for what it holds would wait for itself, and is refused."""

    @abstractmethod
    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""

    @abstractmethod
    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names in use, or once used, that begin with the prefix, sorted."""

    @abstractmethod
    def prune(self, prefix: str = "") -> int:
        """Forget idle names that begin with the prefix, without repeating a token; how many. Engines that keep nothing
        for an idle name have nothing to do."""

    @abstractmethod
    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take it from its holders by force. None if nobody holds it."""

    @abstractmethod
    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        """Yield the leader now, then each change; end after `seconds` without a change."""

    @abstractmethod
    def close(self) -> None:
        """Release everything and close. Calling it twice is harmless. Whatever is asked from then on, and what
        waits, is refused with `wording.client_closed`."""


class AsyncEngine(ABC):
    """Keeps the turns of all names of one URL, for the tasks of one event loop. It connects at the first use."""

    url: str
    traits: Traits
    closed: bool

    @abstractmethod
    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        """Wait until granted. `LockTimeout` after `seconds`; 0 does not wait, None waits without limit. `owner` is a
        number of `owners.py`: whoever asks again for what it holds would wait for itself, and is refused."""

    @abstractmethod
    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""

    @abstractmethod
    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names in use, or once used, that begin with the prefix, sorted."""

    @abstractmethod
    async def prune(self, prefix: str = "") -> int:
        """Forget idle names that begin with the prefix, without repeating a token; how many. Engines that keep nothing
        for an idle name have nothing to do."""

    @abstractmethod
    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Take it from its holders by force. None if nobody holds it."""

    @abstractmethod
    def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        """Yield the leader now, then each change; end after `seconds` without a change."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything and close. Calling it twice is harmless. Whatever is asked from then on, and what
        waits, is refused with `wording.client_closed`."""

    def abandon(self) -> None:  # noqa: B027  not every engine has to
        """Free what can be freed without an event loop: the one of this engine was closed before the engine."""
