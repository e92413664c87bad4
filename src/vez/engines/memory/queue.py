"""Queue: the holders and waiters of one name, in the order of arrival; and all names of one URL."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import ref

from vez.engines.base import Break
from vez.engines.machine import at_fork

if TYPE_CHECKING:
    from vez.engines.memory.ticket import MemoryTicket


class Bell:
    """Wakes one thread. A bare lock that is held while nobody has rung: an interrupt can leave `threading.Event`
    locked."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Wake the thread, now or at its next wait."""
        with contextlib.suppress(RuntimeError):
            self._silent.release()

    def wait(self, seconds: float | None) -> bool:
        """Sleep until it rings; False if the time is over."""
        return self._silent.acquire(timeout=-1 if seconds is None else seconds)


class Queue:
    """One name: its holders and waiters, in the order of arrival."""

    def __init__(self) -> None:
        self.last = 0
        self.seats: dict[int, ref[MemoryTicket]] = {}  # by ticket; weak, so that a dropped request is finalised
        self.mean: float | None = None
        self.limit = 1
        self.breaks: list[Break] = []
        self.leading = 0  # the ticket of the leader
        self.observers: list[Callable[[], None]] = []

    @property
    def members(self) -> list[MemoryTicket]:
        """Holders and waiters."""
        return [member for seat in list(self.seats.values()) if (member := seat()) is not None]

    @property
    def leader(self) -> MemoryTicket | None:
        """The leader, or None."""
        seat = self.seats.get(self.leading)
        return None if seat is None else seat()

    def draw(self) -> int:
        """Draw the next ticket or term."""
        self.last += 1
        return self.last

    def blocked(self, member: MemoryTicket) -> bool:
        """True if requests that came before must release first."""
        before = [other for other in self.members if other.ticket < member.ticket and not other.void]
        if member.request.shared:
            return any(not other.request.shared for other in before)
        return len(before) >= member.request.limit

    def elect_if_vacant(self) -> None:
        """Elect if there is no leader: the heaviest candidate, among equals the first. Wake everybody only after an
        election: a candidate that checks would otherwise wake itself for ever."""
        if self.leader is None:
            candidates = [member for member in self.members if member.lost is None]
            if candidates:
                self.inaugurate(min(candidates, key=lambda member: (-member.request.weight, member.ticket)))
                self.wake()

    def inaugurate(self, winner: MemoryTicket) -> None:
        """Make it leader with a new term. One statement without a call: an interrupt arrives only at calls."""
        term, now = self.draw(), time.time()
        winner.token, winner.inside, winner.since, self.leading = term, True, now, winner.ticket

    def wake(self) -> None:
        """Wake all waiters and observers."""
        for member in self.members:
            member.wake()
        for tell in list(self.observers):
            tell()


class Space:
    """All names of one URL."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.queues: dict[tuple[str, str], Queue] = {}

    def queue(self, kind: str, name: str) -> Queue:
        """The queue of a name, made at the first use."""
        return self.queues.setdefault((kind, name), Queue())


spaces: dict[str, Space] = {}
at_fork(after_in_child=spaces.clear)
