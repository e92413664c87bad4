"""Permit: a request for a semaphore. It is granted when fewer than `limit` lower tickets are alive.

A waiter has no predecessor: any holder may be the next to leave. A request that leaves rings the first waiters, and
each waiter watches the processes of all requests before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fcntl import F_WRLCK
from time import time
from typing import TYPE_CHECKING

from vez.locks.engines.file.bell import Bell, Ear
from vez.locks.engines.file.byte_locks import alive, conflict
from vez.locks.engines.file.holding import FileHolding
from vez.locks.engines.file.layout import (
    BROKEN_WORD,
    GRANTED_WORD,
    HELD,
    LIMIT_AT,
    NAMESPACE,
    NETWORK,
    STATE_IN_SLOT,
    WAITING,
)
from vez.locks.engines.file.waiter import FOREIGN_POLL, HEAD_POLL, Waiter
from vez.locks.engines.wording import other_limit

if TYPE_CHECKING:
    from vez.locks.engines.file.ears import LoopEar

_MOST_WATCHED = 32
"""Largest number of holders whose end a waiter watches; with more holders it polls."""


class Permit(Waiter, FileHolding):
    """A request for a permit of a semaphore, and later the permit held."""

    def enlist(self, bell: Bell | None, wait: Ear | LoopEar | None) -> bool:
        """Draw a ticket, inside the doorway. False, without any change, if no permit is free and `wait` is None."""
        file = self.file
        upcoming, low, _ = file.counters(self.handle)
        self._agree_on_limit(upcoming, low)
        if wait is None and self._blocked(low, upcoming):
            return False
        self.bell = bell or (wait.open() if wait else None)
        self.draw(self.bell, WAITING, upcoming)
        # Checked only now: a request that leaves after we have seen it alive sees us wait, and rings.
        if not self._blocked(low, upcoming):
            file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
            self.inside = True
        return True

    def _agree_on_limit(self, upcoming: int, broken: int) -> None:
        file, limit = self.file, self.request.limit
        agreed = int.from_bytes(file.map[LIMIT_AT : LIMIT_AT + 4], "little")
        if agreed == limit:
            return
        if agreed and conflict(self.handle, broken, upcoming, F_WRLCK) is not None:
            raise other_limit(self.request, agreed)
        file.map[LIMIT_AT : LIMIT_AT + 4] = limit.to_bytes(4, "little")

    def _blocked(self, low: int, high: int) -> bool:
        """True if `limit` tickets or more are alive from `low` up to `high`."""
        count, parts = 0, [(low, high)]
        while parts and count < self.request.limit:
            start, end = parts.pop()
            found = conflict(self.handle, start, end, F_WRLCK)
            if found is not None:
                count += 1
                parts += [(found + 1, end), (start, found)]
        return count >= self.request.limit

    def granted(self) -> bool:
        """True if the request is granted. Never blocks."""
        if self.inside:
            return True
        file = self.file
        file.refuse_truncated(self.handle)
        low = file.broken_below()
        if self.token < low:
            raise self.broken()
        if self._blocked(low, self.token):
            return False
        file.reals[self.offset // 8 + GRANTED_WORD] = time()
        file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
        self.inside = True
        self.ring_next()  # waiters behind us may be granted too
        return True

    def relink(self) -> bool:
        """Always False: a permit has no predecessor."""
        return False

    def watch(self) -> tuple[Sequence[int], float]:
        """The processes of all requests before us, and the longest sleep in seconds."""
        low = self.file.broken_below()
        slots = [slot for _, slot in self.file.living(self.handle) if low <= slot.ticket < self.token]
        pids = {slot.pid for slot in slots if slot.namespace == NAMESPACE} - self.ended
        foreign = any(slot.network != NETWORK for slot in slots)
        return sorted(pids)[:_MOST_WATCHED], FOREIGN_POLL if foreign else HEAD_POLL

    def ring_next(self) -> None:
        """Wake the first waiters, as many as the limit."""
        file = self.file
        file.refresh_if_possible(self.handle)
        low, rung = file.words[BROKEN_WORD], 0  # unchecked: a release must not fail
        for slot in sorted(slot for _, slot in file.slots() if slot.state == WAITING and slot.ticket >= low):
            if rung < self.request.limit and alive(self.handle, slot.ticket):  # dead waiters are not rung
                self.ringer.ring(slot.bell, slot.ticket)
                rung += 1
