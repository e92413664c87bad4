"""Ticket: a number drawn from a name's file, its locked byte and its slot, from the drawing to the clean-up.

A request plays three roles, one after the other: it draws a ticket, it waits (`waiter.py`), it holds (`holding.py`).
They are three classes and one object: `LockTicket`, `Permit` and `Candidate` combine them and add the rule by which one
of their kind is granted. Several objects would cost allocations and method calls in every turn. The code of every turn
has few function calls for the same reason: when processes take turns, each finds the caches cold, and every function
that it enters must be fetched again.
"""

from __future__ import annotations

from _thread import start_new_thread
from fcntl import F_OFD_SETLK, F_RDLCK, F_WRLCK, fcntl
from os import SEEK_END, SEEK_SET, lseek
from time import time
from typing import TYPE_CHECKING

from vez.locks.engines import handles
from vez.locks.engines.base import Request
from vez.locks.engines.file.bell import Bell, Ringer
from vez.locks.engines.file.byte_locks import UNLOCK_ALL, pack_flock
from vez.locks.engines.file.layout import (
    ALL,
    COMPLEMENT,
    FREE,
    GRANTED_WORD,
    HELD,
    LEAVING,
    MEAN_REAL,
    NEXT,
    REVOKED_WORD,
    SLOT,
    SLOT_BYTES,
    SLOT_FRONT,
    SLOTS_AT,
    STATE_IN_SLOT,
    TAKEN_AT,
)
from vez.locks.engines.file.mapped_file import POOL
from vez.locks.engines.file.ticket_file import TicketFile
from vez.locks.table.places import NEWEST_STAY

if TYPE_CHECKING:
    from vez.locks.engines.cycles import Target
    from vez.locks.engines.file.ears import LoopEar
    from vez.locks.engines.owners import Entry

pack_front, SLOT_SIZE = SLOT_FRONT.pack, SLOT.size
_LONGEST_STAY = 86400.0
"""Seconds. A stay that seems longer, or below 0, does not count in the mean: the clock was set meanwhile, and one such
stay would spoil the estimates of a hundred turns."""
_TOO_SHORT = 30e-6
"""Seconds in which no other process can have created another file in place of ours and been granted there. A shorter
stay does not check at its end to which file the name leads; the check takes a fifth of a turn without a body."""
_SHORT = 200e-6
"""Seconds up to which a stay does not check at its end whether its byte is still locked."""


class Ticket:
    """A number, the byte locked for it and the slot that describes it. Never blocks."""

    # Defaults are class attributes: most turns leave them as they are.
    state = FREE
    inside = False  # granted, and not yet released
    lost: str | None  # the reason, once it is known that it was lost before it was released
    token = number = offset = 0
    ear: LoopEar | None = None
    entry: Entry | None = None  # in the registry of owners
    waits: Target | None = None  # the name for which its owner waits before it can release
    withdrawn = False  # no longer wanted by its owner, while it waits

    def __init__(self, file: TicketFile, ringer: Ringer, request: Request, owner: int) -> None:
        self.file, self.ringer, self.request, self.owner = file, ringer, request, owner
        self.generation = handles.generation
        self.mode = F_RDLCK if request.shared else F_WRLCK
        self.handle = -1  # the open file description that holds the byte lock
        self.lost = None  # here, because every turn reads it: an attribute of the class takes longer to find

    def draw(self, bell: Bell | None, state: int, upcoming: int, low: int | None = None, number: int = -1) -> None:
        """Draw the number `upcoming`, lock its byte, fill a slot. Call inside the doorway. The number is written first:
        a crash after that leaves a gap in the numbers. The slot counts only while the byte is locked, so a crash before
        it is filled leaves nothing.

        With `low`, try to lock all bytes from there on. If that succeeds, no earlier ticket is alive, and this one is
        granted without a further check. A lock belongs to the ticket at its end. `number` is a free slot, if the caller
        knows one."""
        file, handle, request = self.file, self.handle, self.request
        shared, words, following = file.map, file.words, upcoming + 1
        if number < 0:
            number = shared.find(b"\0", TAKEN_AT, TAKEN_AT + file.capacity) - TAKEN_AT
            if number < 0:
                number = file.free_slot(handle)
                shared = file.map
        words[NEXT] = following
        words[COMPLEMENT] = following ^ ALL
        if low is None:
            fcntl(handle, F_OFD_SETLK, pack_flock(self.mode, SEEK_SET, upcoming, 1, 0))
        else:
            try:
                fcntl(handle, F_OFD_SETLK, pack_flock(self.mode, SEEK_SET, low, following - low, 0))
                state = HELD
            except BlockingIOError:
                fcntl(handle, F_OFD_SETLK, pack_flock(self.mode, SEEK_SET, upcoming, 1, 0))
        now = time()
        if not file.proved_from <= now < file.proved_until:
            file.refuse_moved(now)  # before the slot is written: the caller closes the descriptor
        self.token, self.number = upcoming, number
        self.offset = offset = SLOTS_AT + number * SLOT_BYTES
        if file.described is not request or file.described_state != state:
            file.describe(request, state)
        shared[offset : offset + SLOT_SIZE] = (
            pack_front(upcoming, self.owner, now, now, bell.number if bell else b"", 0) + file.description
        )
        shared[TAKEN_AT + number] = 1
        self.state = state  # with no call since the line above: either the slot is ours and we know it, or neither

    def sound(self) -> bool:
        """True if the map can be touched. The size of the map is read first: another thread may map a larger file."""
        return self.file.size <= lseek(self.handle, 0, SEEK_END)

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""
        raise NotImplementedError

    def ring_number(self) -> int:
        """The number that comes with the rings for this request."""
        return self.token

    def ring_next(self) -> None:
        """Wake the waiters that may be granted now that we have left."""
        raise NotImplementedError

    # Clean-up

    def release(self) -> None:
        """Leave the queue, or release the holding, and wake the next waiters. Calling it twice is harmless. If an
        interrupt cuts it short, the next call completes it, at the latest the call of the finaliser.

        A waiter that links itself to us before we unlock saw our byte locked, so we see the link after; a later one
        sees the byte free. The slot is given up last, so that no other request can take it, and the link with it,
        before we have read it."""
        if self.generation != handles.generation:
            if self.state != FREE:
                self.lost = self.why_lost()
            return
        with handles.gate:  # another thread may close the client at this moment
            state = self.state
            if state == FREE:
                return
            handle, offset, file = self.handle, self.offset, self.file
            sound, stay = file.size <= lseek(handle, 0, SEEK_END), -1.0  # a stay below 0 is one that is not known
            if state == HELD:
                if sound:
                    stay = time() - file.reals[offset // 8 + GRANTED_WORD]
                if not 0.0 <= stay < _TOO_SHORT or self.token < file.words[REVOKED_WORD]:
                    stay = self._look_for_loss(stay)
            if sound:
                file.map[offset + STATE_IN_SLOT] = LEAVING
            self.state, self.inside = LEAVING, False
            fcntl(handle, F_OFD_SETLK, UNLOCK_ALL)
            if sound:
                self.ring_next()
                if stay >= 0.0:  # as `mean_with`, without a call
                    reals = file.reals
                    mean = reals[MEAN_REAL]
                    reals[MEAN_REAL] = mean + NEWEST_STAY * (stay - mean) if mean else stay
            if self.ear is not None:
                self.ear.forget(self.ring_number(), id(self))
            if (entry := self.entry) is not None:
                try:  # noqa: SIM105  as `leave`, without a call
                    entry[0].entries.remove(entry)
                except ValueError:
                    pass
            if sound:
                file.map[TAKEN_AT + self.number] = 0
            # With no call since the line above: a second release cannot give up a slot that is another's by then.
            self.state, self.handle, self.entry = FREE, -1, None
            if len(pool := file.pool) < POOL and not file.closed:
                pool.append(handle)
            else:
                handles.close_handle(handle)

    def _look_for_loss(self, stay: float) -> float:
        """Look for a loss at the end of a stay, unless the stay was too short for one. A negative stay is not known.
        Returns the stay, or -1.0 if it does not count in the mean."""
        file = self.file
        if not 0.0 <= stay < _SHORT or self.token < file.words[REVOKED_WORD] or file.elsewhere() is not None:
            self.why_lost()
        return stay if 0.0 <= stay < _LONGEST_STAY else -1.0

    def give_back(self) -> None:
        """Return the descriptor, which holds no lock, to the pool of the file."""
        handle, self.handle = self.handle, -1
        self.file.give_back(handle)

    def abandon(self) -> None:
        """Close the descriptor, which drops every lock on it: the doorway's and the byte's. Closed first, so that an
        interrupted call can be repeated."""
        handles.close_handle(self.handle)
        self.handle = -1

    def quit(self) -> None:
        """Clean up a request, whatever state it has reached. Calling it twice is harmless."""
        if self.state != FREE:
            self.release()
        if self.handle >= 0:
            self.abandon()

    def __del__(self) -> None:
        try:
            if (self.state != FREE or self.handle >= 0) and self.generation == handles.generation:
                self.quit()
        except Exception:  # noqa: S110  at the interpreter's end the kernel does it
            pass
        except BaseException:  # an interrupt, and a finaliser is not called again
            start_new_thread(handles.quietly, (self.quit,))
            raise
