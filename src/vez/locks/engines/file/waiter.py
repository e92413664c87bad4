"""Waiter: a ticket that is not granted yet. It can wait in two ways, for threads and for tasks.

The kind of the name decides when the waiter is granted, which request rings it, and which processes it watches: see
`locks.py`, `permits.py` and `candidates.py`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vez.errors import OwnershipLost
from vez.locks.engines import handles, queueing
from vez.locks.engines.file.bell import Bell, Ear
from vez.locks.engines.file.layout import LEAVING, MEAN_REAL
from vez.locks.engines.file.slots import contestant
from vez.locks.engines.file.ticket import Ticket
from vez.locks.engines.wording import broken_before_taken

if TYPE_CHECKING:
    from vez.locks.engines.base import Place

HEAD_POLL = 0.05
"""Seconds after which the first waiter polls although nobody rang. A ring can be lost, and the end of a process in
another container is not seen. With this interval the guarantee of 100 ms holds in every case; it costs one system call
of one waiter."""
FOREIGN_POLL = 0.002
"""Poll interval, in seconds, of a waiter that cannot be rung, since sockets do not cross network namespaces."""
QUEUE_POLL = 1.0
"""Fallback poll interval, in seconds, of waiters that are not first."""

ear = Ear()
"""The ears of the threads of this process; each thread has its own bell."""


class Waiter(Ticket):
    """A ticket in its role as a waiter (`Waiting` in `locks/engines/local/core.py`)."""

    bell: Bell | None = None  # on which we are rung
    ended: frozenset[int] = frozenset()  # processes that ended, and whose bytes a copy in a child may keep locked

    def granted(self) -> bool:
        """True if the request is granted. Never blocks."""
        raise NotImplementedError

    def relink(self) -> bool:
        """Before a sleep: make sure that somebody will ring us. True if something changed, so that the caller must ask
        `granted` again. Tries the doorway without blocking; False when it was busy."""
        raise NotImplementedError

    def watch(self) -> tuple[Sequence[int], float]:
        """The processes whose end may cause our grant, and the longest sleep in seconds. Call it after
        `refuse_truncated`, because it reads the map."""
        raise NotImplementedError

    def poll(self) -> bool:
        """Poll for a few milliseconds; True if granted. Always False here: there is no faster way to wait than
        `listen`."""
        return False

    def listen(self, seconds: float) -> None:
        """Block this thread until something may have changed, for at most `seconds`."""
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
        """End a `listen` from any thread, by ringing our own bell."""
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
        """The error for a waiter whose turn was broken by force before it noticed that it was granted."""
        return broken_before_taken(self.request, self.token)
