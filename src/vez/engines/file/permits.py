"""Permits: contenders for a semaphore. One is in when fewer than the limit with lower tickets are alive.

A waiter has no predecessor: any of those inside may be the next to leave. Whoever leaves rings the first of those who
wait, and whoever waits watches the processes of all before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fcntl import F_WRLCK
from time import time
from typing import TYPE_CHECKING

from vez.engines.file.bell import Bell, Ear
from vez.engines.file.contender import HEAD_NET
from vez.engines.file.layout import BROKEN_WORD, GRANTED_WORD, HELD, LIMIT_AT, NAMESPACE, STATE_IN_SLOT, WAITING
from vez.engines.file.waiting import FileContender
from vez.errors import Misuse

if TYPE_CHECKING:
    from vez.engines.file.ears import LoopEar

_MOST_WATCHED = 32
"""Holders whose end a waiter watches; beyond that it looks by itself."""


class Permit(FileContender):
    """A permit, asked for or held."""

    def enlist(self, bell: Bell | None, wait: Ear | LoopEar | None) -> bool:
        """Draw a ticket; the doorway is ours. False, and nothing done, if all permits are out and `wait` is nothing."""
        file = self.file
        upcoming, low = file.upcoming(self.handle), file.words[BROKEN_WORD]
        self._agree_on_limit(upcoming, low)
        if wait is None and self._blocked(low, upcoming):
            return False
        self.bell = bell or (wait.open() if wait else None)
        self._stand(self.bell, WAITING, upcoming)
        # Only now do we look: whoever leaves after we have seen it sees us wait, and rings.
        if not self._blocked(low, upcoming):
            file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
            self.inside = True
        return True

    def _agree_on_limit(self, upcoming: int, broken: int) -> None:
        file, limit = self.file, self.request.limit
        agreed = int.from_bytes(file.map[LIMIT_AT : LIMIT_AT + 4], "little")
        if agreed == limit:
            return
        if agreed and file.conflict(self.handle, broken, upcoming, F_WRLCK) is not None:
            raise Misuse(
                f"semaphore {self.request.name!r} is in use with a limit of {agreed}, asked for {limit}",
                hint="all users of a semaphore must name the same limit",
            )
        file.map[LIMIT_AT : LIMIT_AT + 4] = limit.to_bytes(4, "little")

    def _blocked(self, low: int, high: int) -> bool:
        """Whether as many as may be inside are alive from `low` up to `high`."""
        count, parts = 0, [(low, high)]
        while parts and count < self.request.limit:
            start, end = parts.pop()
            found = self.file.conflict(self.handle, start, end, F_WRLCK)
            if found is not None:
                count += 1
                parts += [(found + 1, end), (start, found)]
        return count >= self.request.limit

    def granted(self) -> bool:
        """Look whether it is our turn by now."""
        if self.inside:
            return True
        file = self.file
        file.refuse_truncated(self.handle)
        if self.token < file.broken_below():
            raise self._broken()
        if self._blocked(file.broken_below(), self.token):
            return False
        file.reals[self.offset // 8 + GRANTED_WORD] = time()
        file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
        self.inside = True
        self._ring_next()  # those behind us may get in too
        return True

    def relink(self) -> bool:
        """There is nobody to be linked to."""
        return False

    def watch(self) -> tuple[Sequence[int], float]:
        """The processes of all before us, and how long to sleep at most."""
        low = self.file.broken_below()
        slots = [slot for _, slot in self.file.living(self.handle) if low <= slot.ticket < self.token]
        pids = {slot.pid for slot in slots if slot.namespace == NAMESPACE} - self.ended
        return sorted(pids)[:_MOST_WATCHED], HEAD_NET

    def _ring_next(self) -> None:
        """Of those who wait, as many as can get in."""
        file = self.file
        file.reach(self.handle)
        low, rung = file.broken_below(), 0
        for slot in sorted(slot for _, slot in file.slots() if slot.state == WAITING and slot.ticket >= low):
            if rung < self.request.limit and file.alive(self.handle, slot.ticket):  # the dead must not use up the rings
                self.ringer.ring(slot.bell, slot.ticket)
                rung += 1
