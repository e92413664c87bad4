"""Waiter: a ticket that is not granted yet, with the two ways to wait, for threads and for tasks.

What decides whether it is granted, whom it asks to ring and whose end it watches depends on the kind of the name:
`locks.py`, `permits.py` and `candidates.py` say it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from vez.engines import handles, queueing
from vez.engines.base import Place
from vez.engines.file.bell import Bell, Ear
from vez.engines.file.layout import LEAVING, MEAN_REAL
from vez.engines.file.slots import contestant
from vez.engines.file.ticket import Ticket
from vez.engines.wording import broken_before_taken
from vez.errors import OwnershipLost

HEAD_POLL = 0.05
"""Seconds after which the first waiter polls although nobody rang: a ring can be lost, and the end of a process in
another container is not seen. It keeps the promise of 100 ms in every case, and costs one system call of one waiter."""
FOREIGN_POLL = 0.002
"""Poll interval, in seconds, of a waiter that cannot be rung, since sockets do not cross network namespaces."""
QUEUE_POLL = 1.0
"""Fallback poll interval, in seconds, of waiters that are not first."""

ear = Ear()
"""What the threads of this process sleep on; each thread has its own."""


class Waiter(Ticket):
    """A ticket in its role as a waiter (`engines.local.Waiting`)."""

    bell: Bell | None = None  # on which we are rung
    ended: frozenset[int] = frozenset()  # processes that ended, and whose bytes a copy in a child may keep locked

    def granted(self) -> bool:
        """True if it is our turn by now. Never blocks."""
        raise NotImplementedError

    def relink(self) -> bool:
        """Before a sleep: make sure that somebody will ring us. True if something changed, so that the caller must ask
        `granted` again. Tries the doorway without blocking; False when it was busy."""
        raise NotImplementedError

    def watch(self) -> tuple[Sequence[int], float]:
        """The processes whose end concerns us, and how long to sleep at most. Call it after
        `refuse_truncated`: it reads the map."""
        raise NotImplementedError

    def poll(self) -> bool:
        """Poll for a few milliseconds; True if granted. Here: no shorter way than `listen` is known."""
        return False

    def listen(self, seconds: float) -> None:
        """Block this thread until something may have changed, at most for so long."""
        if self.relink():
            return
        self.confirm()
        self.file.refuse_truncated(self.handle)
        processes, longest = self.watch()
        ended = ear.listen(processes, seconds if seconds < longest else longest)
        if ended:
            self.ended = self.ended | ended

    async def listen_async(self, seconds: float) -> None:
        """Async version of `listen`."""
        if self.relink() or self.ear is None:
            return
        self.confirm()
        self.file.refuse_truncated(self.handle)
        processes, longest = self.watch()
        ended = await self.ear.listen(self.token, processes, min(seconds, longest))
        if ended:
            self.ended = self.ended | ended

    def confirm(self) -> None:
        """Raise `Gone` if the name leads to another file by now, where others are granted."""
        self.file.refuse_moved(time.time())

    def wake(self) -> None:
        """End a `listen`, from any thread: ring our own bell."""
        with handles.gate:  # another thread may release it at this moment
            if self.handle < 0 or not self.sound():
                return  # it has left already, or polls soon enough
            slot = self.file.slot(self.number)
            self.ringer.ring(slot.bell, slot.ticket)

    def place(self) -> Place:
        """Our position in the queue."""
        self.file.refuse_truncated(self.handle)
        low = self.file.broken_below()
        before = [s for _, s in self.file.living(self.handle) if low <= s.ticket < self.token and s.state != LEAVING]
        holder = contestant(before[0]) if before else None
        return queueing.place(len(before), holder, self.file.reals[MEAN_REAL], self.request.limit)

    def broken(self) -> OwnershipLost:
        """The error for a waiter whose turn came, and was broken by force before it noticed."""
        return broken_before_taken(self.request, self.token)
