"""The seam between clients and engines: two small interfaces with the same names, for threads and for tasks.

The clients (`locks/turns/client.py`, `locks/turns/aio.py`) know nothing of files and sockets; an engine knows nothing
of context managers. A client passes a `Request` and the number of an owner to the engine. The engine returns a
`Holding`, or raises one of the errors of `vez.errors`. No exception of the operating system crosses the seam, and no
method of `AsyncEngine` and `AsyncHolding` blocks the event loop.

Engines of one machine share one core that never blocks (`local/`), which is driven for threads by `thread_engine.py`
and for tasks by `task_engine.py`. `owners.py` records the holdings of each owner. Texts and computations that are the
same for all engines are in `wording.py` and `queueing.py`. Engines on servers and in groups are written for tasks, and
generated for threads (`tools/unasync.py`). The two interfaces themselves are both written here, side by side: they are
what an engine's author reads, and `tests/locks/engines/test_parity.py` compares them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from vez.locks.engines.base import Kind, Progress, Request, Traits
from vez.locks.engines.wording import no_memos

if TYPE_CHECKING:
    from vez.locks.engines.base import Break, Inspection, Leader


class Held(Protocol):
    """A lock, a permit or a leadership that was granted, with the methods that threads and tasks share. None of them
    blocks."""

    @property
    def token(self) -> int | None:
        """The fencing token; the term of a leadership. None if the engine gives none (`Traits.token`)."""

    @property
    def lost(self) -> str | None:
        """Reason of the loss, if it is known already. After `release` it is always known."""

    def why_lost(self) -> str | None:
        """Reason why it is no longer held, or None while held. A release or a transfer is a reason too."""

    def loss(self) -> str | None:
        """Reason of the loss, or None. Unlike in `why_lost`, a release, a transfer and the closing of the client do not
        count as losses, and do not change the answer."""

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when the holding is lost: from the event loop for a task, from any thread for a
        thread. If it was lost before this call, `tell` may not be called, but `lost` then has the reason. A forced
        release is always reported. A thread may have to ask with `loss` whether a lease has ended."""

    def lifeline(self) -> int | None:
        """A duplicate of the descriptor on which the lock depends. A child process that has it keeps the lock if we
        are killed. The caller closes it. None if the engine has no such descriptor: then the lock ends with this
        process."""


class Holding(Held, Protocol):
    """A grant as the engine sees it, for threads."""

    def release(self) -> None:
        """Release. Calling it twice is harmless."""

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""


class AsyncHolding(Held, Protocol):
    """A grant as the engine sees it, for tasks."""

    async def release(self) -> None:
        """Release. Calling it twice is harmless."""

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""


class Engine(ABC):
    """Keeps the turns of all names of one URL, for threads."""

    url: str
    traits: Traits
    closed: bool

    @abstractmethod
    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        """Wait until granted. Raises `LockTimeout` after `seconds`; 0 does not wait, None waits without limit.
        `owner` is a number of `owners.py`. An owner that already holds the name is refused, because it would wait
        for itself."""

    @abstractmethod
    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""

    def is_idle(self, name: str, kind: Kind = "lock") -> bool:
        """True if it is known at little cost that nobody holds the name or waits for it. False says nothing. `vez
        status` asks before it inspects: there may be thousands of idle names."""
        return False

    @abstractmethod
    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names in use, or once used, that begin with the prefix, sorted."""

    @abstractmethod
    def prune(self, prefix: str = "") -> int:
        """Forget idle names that begin with the prefix, and return their number. Tokens are not repeated afterwards.
        Does nothing on engines that store nothing for an idle name."""

    @abstractmethod
    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Release by force, and record the reason. Returns the record, or None if nobody holds it."""

    def memo(self, name: str, kind: Kind = "lock") -> str | None:
        """The memo of a name, which stays when its holder has left; None if nothing was written."""
        raise no_memos(self.url)

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        """Replace the memo of a name; None removes it. Raises `StaleToken` if it was written with a higher token."""
        raise no_memos(self.url)

    @abstractmethod
    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        """Yield the present leader, then each change. End after `seconds` without a change."""

    @abstractmethod
    def close(self) -> None:
        """Release everything and close. Calling it twice is harmless. Waiting and later requests are refused with
        `wording.client_closed`."""


class AsyncEngine(ABC):
    """Keeps the turns of all names of one URL, for the tasks of one event loop. It connects at the first use."""

    url: str
    traits: Traits
    closed: bool

    @abstractmethod
    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        """Wait until granted. Raises `LockTimeout` after `seconds`; 0 does not wait, None waits without limit.
        `owner` is a number of `owners.py`. An owner that already holds the name is refused, because it would wait
        for itself."""

    @abstractmethod
    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders, queue and forced releases of a name."""

    async def is_idle(self, name: str, kind: Kind = "lock") -> bool:
        """True if it is known at little cost that nobody holds the name or waits for it. False says nothing. `vez
        status` asks before it inspects: there may be thousands of idle names."""
        return False

    @abstractmethod
    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names in use, or once used, that begin with the prefix, sorted."""

    @abstractmethod
    async def prune(self, prefix: str = "") -> int:
        """Forget idle names that begin with the prefix, and return their number. Tokens are not repeated afterwards.
        Does nothing on engines that store nothing for an idle name."""

    @abstractmethod
    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        """Release by force, and record the reason. Returns the record, or None if nobody holds it."""

    async def memo(self, name: str, kind: Kind = "lock") -> str | None:
        """The memo of a name, which stays when its holder has left; None if nothing was written."""
        raise no_memos(self.url)

    async def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        """Replace the memo of a name; None removes it. Raises `StaleToken` if it was written with a higher token."""
        raise no_memos(self.url)

    @abstractmethod
    def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        """Yield the present leader, then each change. End after `seconds` without a change."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything and close. Calling it twice is harmless. Waiting and later requests are refused with
        `wording.client_closed`."""

    def abandon(self) -> None:  # noqa: B027  not every engine has to
        """Free everything that can be freed without an event loop. Called if the loop was closed before the engine."""
