"""Ticket: a number drawn from a name's file, its locked byte and its slot, from the drawing to the clean-up.

A request plays three roles, one after the other: it draws a ticket, it waits (`waiter.py`), it holds (`holding.py`).
They are three classes and one object: `LockTicket`, `Permit` and `Candidate` combine them and add the rule by which one
of their kind is granted. Several objects would be allocated, and their methods entered, in every turn. What every turn
passes through is written flat for the same reason: when processes take turns, each finds the caches cold, and every
function that it enters is fetched anew.
"""

from __future__ import annotations

from _thread import start_new_thread
from fcntl import F_OFD_SETLK, F_RDLCK, F_WRLCK, fcntl
from functools import lru_cache
from os import SEEK_END, SEEK_SET, lseek
from time import time
from typing import TYPE_CHECKING

from vez.engines import handles
from vez.engines.base import Request
from vez.engines.file.bell import Bell, Ringer
from vez.engines.file.byte_locks import UNLOCK_ALL, pack_flock
from vez.engines.file.layout import (
    ALL,
    COMPLEMENT,
    FREE,
    GRANTED_WORD,
    HELD,
    LABEL_BYTES,
    LEAVING,
    MEAN_REAL,
    NAMESPACE,
    NETWORK,
    NEXT,
    REVOKED_WORD,
    SLOT,
    SLOT_BYTES,
    SLOTS_AT,
    STATE_IN_SLOT,
    TAKEN_AT,
)
from vez.engines.file.mapped_file import POOL
from vez.engines.file.ticket_file import TicketFile
from vez.engines.owners import leave
from vez.engines.queueing import mean_stay

if TYPE_CHECKING:
    from vez.engines.circles import Target
    from vez.engines.file.ears import LoopEar
    from vez.engines.owners import Entry

pack_slot, SLOT_SIZE = SLOT.pack, SLOT.size
_LONGEST_STAY = 86400.0
"""Seconds. A stay that seems longer, or below 0, does not count in the mean: the clock was set meanwhile, and one such
stay would spoil the estimates of a hundred turns."""
_TOO_SHORT = 30e-6
"""Seconds in which nobody can have made another file in place of ours, and been granted there: a shorter stay need not
ask at its end where the name leads, which would be a fifth of a turn without a body."""
_SHORT = 200e-6
"""Seconds up to which a stay does not ask at its end whether its byte is still locked."""


@lru_cache(maxsize=64)
def _encoded(label: str) -> bytes:
    return label.encode()[:LABEL_BYTES]


class Ticket:
    """A number, the byte locked for it and the slot that describes it. Never blocks."""

    # Defaults are class attributes: most turns leave them as they are.
    state = FREE
    inside = False  # granted, and not yet released
    lost: str | None = None  # the reason, once it is known that it was lost before it was released
    token = number = offset = 0
    ear: LoopEar | None = None
    entry: Entry | None = None  # in the registry of owners
    waits: Target | None = None  # for what its release waits

    def __init__(self, file: TicketFile, ringer: Ringer, request: Request, owner: int) -> None:
        self.file, self.ringer, self.request, self.owner = file, ringer, request, owner
        self.generation = handles.generation
        self.mode = F_RDLCK if request.shared else F_WRLCK
        self.handle = -1  # the open file description that holds the byte lock

    def draw(self, bell: Bell | None, state: int, upcoming: int, low: int | None = None) -> None:
        """Draw the number `upcoming`, lock its byte, fill a slot. Call inside the doorway. The number is written first:
        a crash after that leaves a gap. The slot counts only while the byte is locked, so a crash before it is filled
        leaves nothing.

        With `low`, try to lock all bytes from there on: if that succeeds, no earlier ticket is alive, and this one is
        granted without having asked. A lock belongs to the ticket at its end."""
        file, handle, request = self.file, self.handle, self.request
        shared, words, following = file.map, file.words, upcoming + 1
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
        shared[offset : offset + SLOT_SIZE] = pack_slot(
            upcoming, self.owner, now, now, bell.number if bell else b"", 0, handles.pid, NAMESPACE, 0,
            request.grace_ms, request.weight, state, request.shared, NETWORK, _encoded(request.label),
        )  # fmt: skip
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
        """Leave the queue, or release what is held, and wake the next. Calling it twice is harmless, and what an
        interrupt has cut short is completed by the next call, the finaliser's at the latest.

        A waiter that links itself to us before we unlock saw our byte locked, so we see the link after; a later one
        sees the byte free. The slot is given up last, so that no other request can take it, and the link with it,
        before we have read it."""
        if self.state == FREE:
            return
        if self.generation != handles.generation:
            self.lost = self.why_lost()
            return
        with handles.gate:  # another thread may close the client at this moment
            state, handle, offset, file = self.state, self.handle, self.offset, self.file
            if state == FREE:
                return
            sound, stay = file.size <= lseek(handle, 0, SEEK_END), 0.0
            if state == HELD:
                if sound:
                    stay = time() - file.reals[offset // 8 + GRANTED_WORD]
                if not (sound and self.token >= file.words[REVOKED_WORD] and (
                    0 <= stay < _TOO_SHORT or (0 <= stay < _SHORT and file.elsewhere() is None)
                )):  # fmt: skip
                    self.why_lost()
            if sound:
                file.map[offset + STATE_IN_SLOT] = LEAVING
            self.state, self.inside = LEAVING, False
            fcntl(handle, F_OFD_SETLK, UNLOCK_ALL)
            if sound:
                self.ring_next()
                if state == HELD and 0.0 <= stay < _LONGEST_STAY:
                    reals = file.reals
                    reals[MEAN_REAL] = mean_stay(reals[MEAN_REAL], stay)
            if self.ear is not None:
                self.ear.forget(self.ring_number(), id(self))
            leave(self.entry)
            self.entry = None
            if sound:
                file.map[TAKEN_AT + self.number] = 0
            # With no call since the line above: a second release cannot give up a slot that is another's by then.
            self.state, self.handle = FREE, -1
            if len(file.pool) < POOL and not file.closed:
                file.pool.append(handle)
            else:
                handles.close_handle(handle)

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
        """Leave nothing behind, however far it came. It can be repeated."""
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
