"""Engines of one machine: a core that never blocks, which both pumps drive.

A request never blocks by itself: it is asked whether it is granted, and it knows what to listen to. The pump for
threads (`thread_engine.py`) blocks its thread on that, the pump for tasks (`task_engine.py`) its task. Neither is a
wrapper around the other.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Protocol

from vez.locks.engines import queueing
from vez.locks.engines.base import Kind, Progress, Request, Traits
from vez.locks.engines.own_process import SearchedEngine
from vez.locks.engines.owners import Claim, leave_all
from vez.locks.engines.wording import timed_out, withdrawn

if TYPE_CHECKING:
    from vez.locks.engines.base import Break, Inspection, Leader, Place
    from vez.locks.engines.cycles import Holders, Searched, Target

    Blocked = list[tuple[Searched, Claim]]

_ASK_AGAIN = 0.002
"""Seconds after which a waiter asks again whether its wait closes a cycle, if that could not be decided."""
_LOOK = 0.01
DOORWAY = 0.01
"""Seconds for which a request with a timeout of 0 waits for the doorway, where nobody stays for more than
microseconds."""


class Superseded(Exception):
    """The queue in which a request waits was replaced by another, in which it must ask again."""


class Unprepared(Exception):
    """A request needs something that is not open yet; opening it could block."""


def give_grace(milliseconds: int, gone: Callable[[], bool]) -> None:
    """Wait until a broken holder has released, or its grace is over. The wait is bounded, so polling is enough."""
    end = time.monotonic() + milliseconds / 1000
    while time.monotonic() < end and not gone():
        time.sleep(_LOOK)


class Waiting(Claim, Protocol):
    """A request in the queue; once granted, the holding. Nothing blocks but `poll`, `listen` and `transfer`."""

    @property
    def token(self) -> int:
        """The fencing token."""

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""

    def release(self) -> None:
        """Release. Calling it twice is harmless."""

    def granted(self) -> bool:
        """True if it is granted by now."""

    def poll(self) -> bool:
        """Poll for a few milliseconds; True if granted."""

    def listen(self, seconds: float) -> None:
        """Block until something may have changed, at most for so long."""

    async def listen_async(self, seconds: float) -> None:
        """Async version of `listen`."""

    def confirm(self) -> None:
        """Raise `Superseded` if the queue was replaced by another while it waited."""

    def place(self) -> Place:
        """Our position in the queue."""

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release or a transfer is not a loss, and does not change the answer."""

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when it is lost: from the event loop, or from any thread if a thread holds it."""

    def lifeline(self) -> int | None:
        """A descriptor on which the lock depends, or None."""

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""

    def transfer_at_once(self, to: str) -> int:
        """`transfer` without blocking; `BlockingIOError` while the doorway is busy."""


class LocalCore(SearchedEngine, ABC):
    """An engine without a server, without the ways to wait."""

    traits: Traits
    looking_blocks = True
    """True if `inspect` and `names` may block for longer than a mutex within the process does."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.closed = False

    @abstractmethod
    def enlist(self, request: Request, owner: int, patience: float | None, *, wait: bool) -> Waiting | None:
        """Take a place in the queue, waiting for the doorway at most `patience` seconds (None: without limit).
        None if `wait` is false and it cannot be granted at once; `BlockingIOError` if the doorway stayed busy."""

    @abstractmethod
    def enlist_async(self, request: Request, owner: int, *, wait: bool, prepared: bool = False) -> Waiting | None:
        """Async version of `enlist`: never waits for the doorway, `BlockingIOError` while it is busy. `Unprepared` if
        there is I/O that `prepare` can do before, unless that was just done."""

    def prepare(self, kind: Kind, name: str) -> None:
        """Open what a request for the name needs. It may block."""

    @property
    @abstractmethod
    def identity(self) -> Hashable:
        """Identity of the place that holds the names: equal for all engines that share them, in
        whatever way their URLs are written."""

    @abstractmethod
    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        """Return the holders of a name, each with what it waits for: see `cycles.Searched`."""

    # Methods that may block

    @abstractmethod
    def inspect(self, name: str, kind: Kind) -> Inspection:
        """Holders, queue and forced releases of a name."""

    def is_idle(self, name: str, kind: Kind) -> bool:
        """True if it is known at little cost that nobody holds the name or waits for it."""
        return False

    @abstractmethod
    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        """All names in use, or once used, that begin with the prefix, sorted."""

    def prune(self, prefix: str = "") -> int:
        """Forget idle names that begin with the prefix. Returns their number. By default nothing is kept for them."""
        self.refuse_if_closed()
        return 0

    @abstractmethod
    def break_lock(self, name: str, reason: str, kind: Kind) -> Break | None:
        """Take it from its holders by force. None if nobody holds it."""

    @abstractmethod
    def memo(self, name: str, kind: Kind) -> str | None:
        """The memo of a name; None if nothing was written."""

    @abstractmethod
    def write_memo(self, name: str, text: str | None, token: int, kind: Kind) -> None:
        """Replace the memo of a name; None removes it. Raises `StaleToken` if it was written with a higher token."""

    @abstractmethod
    def observe(self, name: str, seconds: float | None) -> Iterator[Leader | None]:
        """Yield the leader now, then each change; end after `seconds` without a change."""

    @abstractmethod
    def observe_async(self, name: str, seconds: float | None) -> AsyncIterator[Leader | None]:
        """Async version of `observe`, which never blocks."""

    def end_waits(self) -> None:
        """Release everything held, end every wait with an error, and stop listening in event loops. Never blocks."""
        self.closed = True
        leave_all(self)

    @abstractmethod
    def close(self) -> None:
        """`end_waits`, and close all files."""

    # Steps that both pumps have in common

    def refuse_cycle(self, waiting: Waiting, blocked: Blocked) -> float:
        """Raise `Deadlock` if this wait would close a cycle. Returns the time of the next search.

        One search is enough if all waiters see each other. A wait for something in the memory of another process is not
        seen, so those behind it search again."""
        if not blocked:
            return 0.0
        from vez.locks.engines.cycles import look_again, refuse_cycle

        sure = refuse_cycle(waiting, self, blocked)
        return time.monotonic() + (look_again() if sure else _ASK_AGAIN)

    def patience(
        self, waiting: Waiting, seconds: float | None, deadline: float | None, progress: Progress | None
    ) -> float:
        """Report the position. Returns the longest time to listen. Raises when the time is over."""
        self.refuse_if_closed()
        if waiting.withdrawn:
            raise withdrawn(waiting.request)
        left = queueing.left(deadline, time.monotonic(), telling=progress is not None)
        if left <= 0:
            raise timed_out(waiting.request, seconds or 0, waiting.place().holder, self.url)
        if progress is not None:
            progress(waiting.place())
        return left
