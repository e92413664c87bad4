"""LockTicket: a request for a lock, exclusive or shared.

An exclusive request is granted when no lower ticket is alive, a shared one when no lower exclusive ticket is alive.
Each waiter has written its slot's number into the slot of the nearest living ticket before it, its predecessor. The
predecessor rings it when it leaves. This is a queue lock like that of Mellor-Crummey and Scott.
"""

from __future__ import annotations

from collections.abc import Sequence
from fcntl import F_OFD_GETLK, F_RDLCK, F_UNLCK, LOCK_UN, fcntl, flock
from os import SEEK_SET
from time import time
from typing import TYPE_CHECKING

from vez.locks.engines.file.bell import POLL_MS, Bell, Ear
from vez.locks.engines.file.byte_locks import alive, conflict, highest_below, pack_flock
from vez.locks.engines.file.doorway import enter
from vez.locks.engines.file.holding import FileHolding
from vez.locks.engines.file.layout import (
    BELL_IN_SLOT,
    BROKEN_WORD,
    FIRST_HALF,
    FIRST_WORD,
    GRANTED_WORD,
    HELD,
    NAMESPACE,
    NAMESPACE_HALF,
    NETWORK,
    NETWORK_HALF,
    PID_HALF,
    REVOKED_WORD,
    SLOT_BYTES,
    SLOT_HALVES,
    SLOT_WORDS,
    SLOTS_AT,
    STATE_IN_SLOT,
    SUCCESSOR_HALF,
    TAIL_HALF,
    TAKEN_AT,
    WAITING,
    damaged,
)
from vez.locks.engines.file.waiter import FOREIGN_POLL, HEAD_POLL, QUEUE_POLL, Waiter

if TYPE_CHECKING:
    from vez.locks.engines.file.ears import LoopEar

_POLLS = 8
"""Number of sleeps of `POLL_MS` in one `poll`. One long sleep would notice a death too late. A single short one would
send all waiters of a long queue to the slower sleep, and so keep the queue long."""


class LockTicket(Waiter, FileHolding):
    """A request for a lock, and later the lock held."""

    predecessor: int | None = None  # the ticket that rings us when it leaves
    linked = False  # the predecessor was alive when we last looked, and knows us
    predecessor_number = 0
    watched = 0  # the predecessor's process, 0 when it cannot be watched

    def enlist(self, bell: Bell | None, wait: Ear | LoopEar | None) -> bool:
        """Draw a ticket, inside the doorway. False, without any change, if it is not our turn and `wait` is None.

        `wait` is the ear to listen with; its bell is opened only when needed. `bell` is given if the holder wants to be
        told of a loss."""
        file, handle, mode = self.file, self.handle, self.mode
        upcoming, low, tail = file.counters(handle)
        high = upcoming
        if wait is None and conflict(handle, low, high, mode) is not None:
            return False
        free = -1
        if tail:
            if tail > file.capacity:
                raise file.wrong_tail(tail)
            free = tail - 1
            if file.map[TAKEN_AT + free]:
                free = -1
                if wait is not None:
                    bell = wait.open()
            else:
                tail = 0
        self.draw(bell, WAITING, upcoming, None if tail or mode == F_RDLCK else low, free)
        if free < 0:
            file.halves[TAIL_HALF] = self.number + 1
        if self.state == HELD:
            self.inside, self.bell = True, bell
            return True
        # Checked only now: a request that leaves after we have seen it alive sees the link, and rings.
        if tail:
            near = self._link(tail - 1)  # the ticket that most likely blocks us
            if near > upcoming:  # equal, if its holder has left meanwhile and the slot is ours by now
                raise damaged(file.where, f"its queue has the ticket {near}, and the next one is {upcoming}")
            if near >= low:
                self.linked = fcntl(handle, F_OFD_GETLK, pack_flock(mode, SEEK_SET, near, high - near, 0))[0] != F_UNLCK
                high = near
        if self.linked or (
            low < high and fcntl(handle, F_OFD_GETLK, pack_flock(mode, SEEK_SET, low, high - low, 0))[0] != F_UNLCK
        ):
            if bell is None and wait is not None:  # nobody can have rung us: we are linked to nobody
                bell = wait.open()
                file.map[self.offset + BELL_IN_SLOT : self.offset + BELL_IN_SLOT + 8] = bell.number
        else:
            file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
            self.inside = True
        self.bell = bell
        return True

    def _link(self, number: int) -> int:
        """Ask the request of that slot to ring us when it leaves. Returns its ticket."""
        file, slot = self.file, FIRST_HALF + number * SLOT_HALVES
        halves = file.halves
        halves[slot + SUCCESSOR_HALF] = self.number + 1
        self.predecessor = ticket = file.words[FIRST_WORD + number * SLOT_WORDS]
        self.predecessor_number = number
        self.watched = halves[slot + PID_HALF] if halves[slot + NAMESPACE_HALF] == NAMESPACE else 0
        return ticket

    def granted(self) -> bool:
        """True if the request is granted. Never blocks."""
        if self.inside:
            return True
        file, token = self.file, self.token
        file.refuse_truncated(self.handle)
        low = file.words[BROKEN_WORD]
        if token < low or low > file.words[REVOKED_WORD]:
            file.broken_below()
            raise self.broken()
        if low < token and (
            fcntl(self.handle, F_OFD_GETLK, pack_flock(self.mode, SEEK_SET, low, token - low, 0))[0] != F_UNLCK
        ):
            self.linked = False  # it may have been our predecessor who rang, and others are left
            return False
        file.reals[self.offset // 8 + GRANTED_WORD] = time()
        file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
        self.inside = True
        if self.mode == F_RDLCK:
            self.ring_next()  # shared requests behind us may be granted too
        return True

    def poll(self) -> bool:
        """Poll for a few milliseconds; True if granted. Sleeps on the bell alone, which is the cheapest way to sleep,
        and after each sleep checks that the predecessor is alive."""
        bell = self.bell
        if not self.linked or bell is None:
            return False
        for _ in range(_POLLS):
            if bell.pending:
                bell.take()  # the ring of the turn before
            if bell.poller.poll(POLL_MS):
                bell.pending = True
                return self.granted()
            if self.granted() or (self.relink() and self.granted()):
                return True
            if self.predecessor is None:
                break
        return False

    def relink(self) -> bool:
        """Before a sleep: link to another predecessor if ours has left. True if the link changed, so that the caller
        must ask `granted` again. Tries the doorway without blocking; False when it was busy."""
        before = self.predecessor
        if before is not None and (self.linked or alive(self.handle, before)):
            return False
        self.file.refuse_truncated(self.handle)
        try:
            enter(self.handle, 0)
            nearest = highest_below(self.handle, self.file.broken_below(), self.token)
            number = None if nearest is None else self.file.find(nearest)
            self.predecessor = None
            if number is not None:
                self._link(number)
        except BlockingIOError:
            self.predecessor = None
            return False
        finally:
            flock(self.handle, LOCK_UN)
        return True

    def watch(self) -> tuple[Sequence[int], float]:
        """The predecessor's process, and the longest sleep in seconds."""
        if self.predecessor is None:
            return (), 0.001  # the doorway was busy, or the predecessor leaves at this moment
        if self.file.halves[FIRST_HALF + self.predecessor_number * SLOT_HALVES + NETWORK_HALF] >> 16 != NETWORK:
            return (), FOREIGN_POLL
        if not self.watched or self.watched in self.ended:
            return (), HEAD_POLL
        first = self.file.map[SLOTS_AT + self.predecessor_number * SLOT_BYTES + STATE_IN_SLOT] != WAITING
        return (self.watched,), HEAD_POLL if first else QUEUE_POLL

    def ring_next(self) -> None:
        """Wake the waiter that has linked itself to us."""
        file = self.file
        successor = file.halves[self.offset // 4 + SUCCESSOR_HALF]
        if not successor:
            return
        if successor > file.capacity:  # the file has grown since we mapped it
            file.refresh_if_possible(self.handle)
        if successor <= file.capacity:
            at = SLOTS_AT + (successor - 1) * SLOT_BYTES
            self.ringer.ring(file.map[at + BELL_IN_SLOT : at + BELL_IN_SLOT + 8], file.words[at // 8])
