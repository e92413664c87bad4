"""Contender: one request in the queue of one file, from its ticket to its release. It never waits itself.

A contender is in as soon as nobody with a lower ticket stands in its way: for an exclusive one that is anybody
alive, for a shared one any exclusive one alive. Each waiter has written its slot's number into the slot of the nearest
living ticket before it, and is rung by that one when it leaves. What every turn passes through is written flat: when
processes take turns, each finds the caches cold, and every function that it enters is fetched anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fcntl import F_OFD_GETLK, F_OFD_SETLK, F_RDLCK, F_UNLCK, F_WRLCK, LOCK_UN, fcntl, flock
from functools import lru_cache
from os import SEEK_END, SEEK_SET, lseek
from time import time
from typing import TYPE_CHECKING
from weakref import ref

from vez.engines import handles
from vez.engines.base import Contestant, Place, Request
from vez.engines.file.bell import Bell, Ear, Ringer
from vez.engines.file.layout import (
    ALL,
    BELL_IN_SLOT,
    BROKEN_WORD,
    COMPLEMENT,
    FIRST_HALF,
    FIRST_WORD,
    FREE,
    GRANTED_WORD,
    HELD,
    LABEL_BYTES,
    LEAVING,
    MEAN_REAL,
    NAMESPACE,
    NAMESPACE_HALF,
    NEXT,
    PID_HALF,
    REVOKED_WORD,
    SLOT,
    SLOT_BYTES,
    SLOT_HALVES,
    SLOT_WORDS,
    SLOTS_AT,
    STATE_IN_SLOT,
    SUCCESSOR_HALF,
    TAIL_HALF,
    TAKEN_AT,
    WAITING,
    WAITS_WORD,
)
from vez.engines.file.tickets import POOL, UNLOCK_ALL, Slot, TicketFile, ended, enter, pack_flock
from vez.engines.owners import NOBODY, Owner
from vez.errors import Misuse, OwnershipLost

if TYPE_CHECKING:
    from vez.engines.file.ears import LoopEar
    from vez.engines.owners import Entry

HEAD_NET = 0.05
"""Seconds after which the first waiter looks by itself, should a ring be lost or a process of another container
have died unseen. It keeps the promise of 100 ms in every case, and costs one waiter one system call."""
QUEUE_NET = 1.0
"""The same for the others."""
pack_slot, SLOT_SIZE = SLOT.pack, SLOT.size
_MEMORY = 0.2
"""The weight of the newest stay in the mean of stays."""


@lru_cache(maxsize=64)
def _encoded(label: str) -> bytes:
    return label.encode()[:LABEL_BYTES]


class Contender:
    """A ticket, its byte and its slot. Once in, it is the holding that the client gets."""

    # What most turns leave as it is stands in the class.
    state = FREE
    inside = False  # granted, and not yet released
    token = number = offset = 0
    bell: Bell | None = None  # on which a waiter is rung
    predecessor: int | None = None  # the ticket on whose leaving we are rung
    linked = False  # the predecessor was alive when we last looked, and knows us
    predecessor_number = 0
    watched = 0  # the predecessor's process, 0 when it cannot be watched
    ended: frozenset[int] = frozenset()  # processes that have ended and whose bytes may still be locked by a copy
    ear: LoopEar | None = None
    entry: Entry | None = None  # among those of the owner

    def __init__(self, file: TicketFile, ringer: Ringer, request: Request, owner: Owner) -> None:
        self.file, self.ringer, self.request, self.owner = file, ringer, request, owner
        self.generation = handles.generation
        self.mode = F_RDLCK if request.shared else F_WRLCK
        self.handle = -1  # the open file description whose byte lock is our life

    def enlist(self, bell: Bell | None, wait: Ear | LoopEar | None) -> bool:
        """Draw a ticket; the doorway is ours. False, and nothing done, if it is not our turn and `wait` is nothing.

        `wait` is where to listen, whose bell is opened only when needed; `bell` is there already when the holder wants
        to hear of loss."""
        file, handle, mode = self.file, self.handle, self.mode
        upcoming = file.upcoming(handle)
        low, high, tail = file.words[BROKEN_WORD], upcoming, file.halves[TAIL_HALF]
        if wait is None and file.conflict(handle, low, high, mode) is not None:
            return False
        if tail and not file.map[TAKEN_AT + tail - 1]:
            tail = 0
        if tail and wait is not None:
            bell = wait.open()
        self._stand(bell, WAITING, upcoming, None if tail or mode == F_RDLCK else low)
        file.halves[TAIL_HALF] = self.number + 1
        if self.state == HELD:
            self.inside, self.bell = True, bell
            return True
        # Only now do we look: whoever leaves after we have seen it sees the link, and rings.
        if tail:
            near = self._link(tail - 1)  # the likeliest to stand in the way
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

    def _stand(self, bell: Bell | None, state: int, upcoming: int, low: int | None = None) -> None:
        """Draw the ticket, lock its byte, fill a slot. The number is written first: a crash after that leaves a mere
        gap. The slot counts only while the byte is locked, so a crash before it is filled leaves nothing.

        With `low`, all bytes from there on are locked, if they can be: then nobody before us is alive, and we are in
        without having asked. A lock is that of the ticket at its end."""
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
        self.token, self.number = upcoming, number
        self.offset = offset = SLOTS_AT + number * SLOT_BYTES
        shared[offset : offset + SLOT_SIZE] = pack_slot(
            upcoming, self.owner.number, now, now, bell.number if bell else b"", 0, handles.pid, NAMESPACE, 0,
            request.grace_ms, request.weight, state, request.shared, 0, _encoded(request.label),
        )  # fmt: skip
        shared[TAKEN_AT + number] = 1
        self.state = state  # with no call since the line above: either the slot is ours and we know it, or neither

    def _link(self, number: int) -> int:
        """Ask the contender of that slot to ring us when it leaves; its ticket."""
        file, slot = self.file, FIRST_HALF + number * SLOT_HALVES
        halves = file.halves
        halves[slot + SUCCESSOR_HALF] = self.number + 1
        self.predecessor = ticket = file.words[FIRST_WORD + number * SLOT_WORDS]
        self.predecessor_number = number
        self.watched = halves[slot + PID_HALF] if halves[slot + NAMESPACE_HALF] == NAMESPACE else 0
        return ticket

    # Waiting; outside the doorway.

    def granted(self) -> bool:
        """Look whether it is our turn by now."""
        if self.inside:
            return True
        file, token = self.file, self.token
        file.refuse_truncated(self.handle)
        low = file.words[BROKEN_WORD]
        if token < low:
            raise self._broken()
        if low < token and (
            fcntl(self.handle, F_OFD_GETLK, pack_flock(self.mode, SEEK_SET, low, token - low, 0))[0] != F_UNLCK
        ):
            self.linked = False  # it may have been our predecessor who rang, and others are left
            return False
        file.reals[self.offset // 8 + GRANTED_WORD] = time()
        file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
        self.inside = True
        if self.mode == F_RDLCK:
            self._ring_next()  # those behind us may get in too
        return True

    def _broken(self) -> OwnershipLost:
        return OwnershipLost(
            f"the turn of this request for {self.request.name!r} (token {self.token}) came and was broken by force "
            f"before it was taken",
            hint="ask again",
        )

    def relink(self) -> bool:
        """Before going to sleep: is the one who will ring us still there? If not, find another; the caller must look
        again then. Takes the doorway without waiting; False when it was busy or nothing changed."""
        before = self.predecessor
        if before is not None and (self.linked or self.file.alive(self.handle, before)):
            return False
        self.file.refuse_truncated(self.handle)
        try:
            enter(self.handle, 0)
            nearest = self.file.highest_below(self.handle, self.file.broken_below(), self.token)
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
        """The processes whose end concerns us, and how long to sleep at most. `granted` has looked at the file."""
        if self.predecessor is None:
            return (), 0.001  # the doorway was busy, or the predecessor leaves this moment
        if not self.watched or self.watched in self.ended:
            return (), HEAD_NET
        first = self.file.map[SLOTS_AT + self.predecessor_number * SLOT_BYTES + STATE_IN_SLOT] != WAITING
        return (self.watched,), HEAD_NET if first else QUEUE_NET

    def place(self) -> Place:
        """Where we stand in the queue."""
        self.file.refuse_truncated(self.handle)
        low = self.file.broken_below()
        before = [s for _, s in self.file.living(self.handle) if low <= s.ticket < self.token and s.state != LEAVING]
        mean = self.file.reals[MEAN_REAL]
        inside = time() - before[0].granted if before else 0.0
        estimate = len(before) * mean / self.request.limit - inside if mean else 0.0
        return Place(len(before), estimate if estimate > 0 else None, contestant(before[0]) if before else None)

    def waits_for(self, key: int) -> None:
        """Write into our slot that our owner now waits for another name; 0 when no longer."""
        if self.generation == handles.generation and self.state == HELD and self._sound():
            self.file.words[self.offset // 8 + WAITS_WORD] = key

    # Holding and leaving.

    def why_lost(self) -> str | None:
        """Why this is no longer held, or nothing while it is."""
        if self.generation != handles.generation:
            return "this process was forked from the one that holds it"
        with handles.gate:  # another thread may let go of it this moment
            if self.state != HELD:
                return "it was released"
            if not self._sound():
                return f"{self.file.where} was truncated"
            if self.token < self.file.words[REVOKED_WORD]:
                return "it was broken by force"
            if os.fstat(self.handle).st_nlink == 0:
                return f"{self.file.where} was removed"
        return None

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call back from the event loop when this is lost."""
        if self.ear is not None:
            self.ear.on_ring(self._rung_by(), id(self), _teller(ref(self), tell))

    def _rung_by(self) -> int:
        """The number for which we are rung."""
        return self.token

    def release(self) -> None:
        """Leave, from the queue or from the inside, and wake the next. Doing it twice is harmless, and what an
        interrupt has cut short is completed by the next call, the finaliser's at the latest.

        Whoever linked itself to us before we unlock saw our byte locked, so the link is visible after; whoever comes
        later sees the byte free. The slot is given up last, so that nobody can have taken it, and the link with it,
        before we have read it."""
        if self.state == FREE or self.generation != handles.generation:
            return
        with handles.gate:  # another thread may close the client this moment
            state, handle, offset, file = self.state, self.handle, self.offset, self.file
            if state == FREE:
                return
            sound = lseek(handle, 0, SEEK_END) >= file.size
            if sound:
                file.map[offset + STATE_IN_SLOT] = LEAVING
            self.state, self.inside = LEAVING, False
            fcntl(handle, F_OFD_SETLK, UNLOCK_ALL)
            if sound:
                self._ring_next()
                if state == HELD:
                    reals = file.reals
                    stay, mean = time() - reals[offset // 8 + GRANTED_WORD], reals[MEAN_REAL]
                    reals[MEAN_REAL] = mean + _MEMORY * (stay - mean) if mean else stay
            if self.ear is not None:
                self.ear.forget(self._rung_by(), id(self))
            try:  # noqa: SIM105  every turn passes here
                self.owner.entries.remove(self.entry)  # type: ignore[arg-type]  # nothing is not among them
            except ValueError:
                pass
            self.owner = NOBODY
            if sound:
                file.map[TAKEN_AT + self.number] = 0
            # With no call since the line above: a second release cannot give up what is another's by then.
            self.state, self.handle = FREE, -1
            if len(file.pool) < POOL and not file.closed:
                file.pool.append(handle)
            else:
                handles.close_handle(handle)

    def _sound(self) -> bool:
        """Whether the map can be touched."""
        return lseek(self.handle, 0, SEEK_END) >= self.file.size

    def give_back(self) -> None:
        """The descriptor, which holds no lock, is for the next contender."""
        handle, self.handle = self.handle, -1
        self.file.give_back(handle)

    def abandon(self) -> None:
        """Drop whatever the descriptor had locked, the doorway and the byte, by closing it."""
        handle, self.handle = self.handle, -1
        handles.close_handle(handle)

    async def release_async(self) -> None:
        """The same; leaving a file never waits."""
        self.release()

    def lifeline(self) -> int | None:
        """A copy of our descriptor: the byte stays locked until the last copy is closed, or we unlock it."""
        return os.dup(self.handle) if self.why_lost() is None else None

    def transfer(self, to: str) -> int:
        """Only leaderships can be handed over."""
        raise Misuse(
            f"a {self.request.kind} cannot be transferred to {to!r}", hint="release it; the next in line gets it"
        )

    def _ring_next(self) -> None:
        """Wake whoever asked us to."""
        file = self.file
        successor = file.halves[self.offset // 4 + SUCCESSOR_HALF]
        if not successor:
            return
        if successor > file.capacity:  # the file has grown since we mapped it
            file.reach(self.handle)
        if successor <= file.capacity:
            at = SLOTS_AT + (successor - 1) * SLOT_BYTES
            self.ringer.ring(file.map[at + BELL_IN_SLOT : at + BELL_IN_SLOT + 8], file.words[at // 8])

    def __del__(self) -> None:
        try:
            if self.state != FREE:
                self.release()
            if self.handle >= 0 and self.generation == handles.generation:
                self.abandon()
        except Exception:  # noqa: S110  at the interpreter's end the kernel does it
            pass


def _teller(known: ref[Contender], tell: Callable[[str], None]) -> Callable[[], None]:
    """Looks for a loss, and tells. The loop keeps it, so it must not keep a holding that nobody else knows any more."""

    def look() -> None:
        holding = known()
        if holding is not None and (why := holding.why_lost()) is not None:
            tell(why)

    return look


def contestant(slot: Slot, *, lost: bool = False, term: int | None = None) -> Contestant:
    """A slot in the words of `inspect`; what a leader has is not its ticket but its term."""
    return Contestant(
        token=slot.ticket if term is None else term,
        pid=slot.pid,
        host=os.uname().nodename,
        since=slot.granted if slot.state == HELD else slot.since,
        shared=bool(slot.shared),
        label=slot.label.rstrip(b"\0").decode(errors="replace"),
        weight=slot.weight,
        lost=lost,
        ended=slot.state == HELD and ended(slot),
    )
