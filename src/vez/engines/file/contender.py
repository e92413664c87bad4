"""Contender: one request in the queue of one file, from its ticket to its release. It never waits itself.

A contender is in as soon as nobody with a lower ticket stands in its way: for an exclusive one that is anybody
alive, for a shared one any exclusive one alive, for a semaphore as many as may be inside. Each waiter has written
its slot's number into the slot of the nearest living ticket before it, and is rung by that one when it leaves.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import ref

from vez.engines import handles
from vez.engines.base import Contestant, Place, Request
from vez.engines.file.bell import Bell, Ringer
from vez.engines.file.layout import (
    ALL,
    BELL_WORD,
    BROKEN_WORD,
    COMPLEMENT,
    FIRST_HALF,
    FIRST_WORD,
    FREE,
    GRANTED_WORD,
    HELD,
    LABEL_BYTES,
    LEAVING,
    LIMIT_AT,
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
    TICKET_WORD,
    WAITING,
    WAITS_WORD,
)
from vez.engines.file.tickets import FLOCK, UNLOCK_ALL, Slot, TicketFile, ended, enter
from vez.engines.local import ledger
from vez.errors import Misuse, OwnershipLost

if TYPE_CHECKING:
    from vez.engines.file.ears import LoopEar

HEAD_NET = 0.05
"""Seconds after which the first waiter looks by itself, should a ring be lost or a process of another container
have died unseen. It keeps the promise of 100 ms in every case, and costs one waiter one system call."""
QUEUE_NET = 1.0
"""The same for the others."""
_NONE: set[int] = set()
_MOST_WATCHED = 32
"""Holders of a semaphore whose end a waiter watches; beyond that it looks by itself."""
_MEMORY = 0.2
"""The weight of the newest stay in the mean of stays."""


@lru_cache(maxsize=64)
def _encoded(label: str) -> bytes:
    return label.encode()[:LABEL_BYTES]


class Contender:
    """A ticket, its byte and its slot. Once in, it is the holding that the client gets."""

    __slots__ = (
        "__weakref__", "blocker", "ear", "ended", "file", "generation", "handle", "limit", "mode", "number", "offset",
        "owner", "predecessor", "predecessor_number", "request", "ringer", "slept", "state", "token", "watched",
    )  # fmt: skip

    def __init__(self, file: TicketFile, ringer: Ringer, request: Request, owner: int) -> None:
        self.file, self.ringer, self.request, self.owner = file, ringer, request, owner
        self.generation = handles.generation
        self.limit = request.limit
        self.mode = fcntl.F_RDLCK if request.shared else fcntl.F_WRLCK
        self.handle = -1  # the open file description whose byte lock is our life
        self.state = FREE
        self.token = 0
        self.number = self.offset = 0
        self.blocker: int | None = None  # one who stood in the way when we last looked
        self.predecessor: int | None = None  # the ticket on whose leaving we are rung
        self.predecessor_number = 0
        self.slept = False  # it has waited for a ring
        self.watched = 0  # its process, 0 when it cannot be watched
        self.ended: set[int] = _NONE  # processes that have ended and whose bytes may still be locked by a copy
        self.ear: LoopEar | None = None

    def enlist(self, bell: Bell | None, wait: Callable[[], Bell] | None) -> bool:
        """Draw a ticket; the doorway is ours. False, and nothing done, if it is not our turn and `wait` is nothing.

        `wait` opens the bell on which to be rung; `bell` is there already when the holder wants to hear of loss."""
        file, handle, request = self.file, self.handle, self.request
        upcoming, broken, tail = file.look(handle)
        if request.kind == "semaphore":
            self._agree_on_limit(upcoming, broken)
        busy = self._blocked(broken, upcoming)
        if busy:
            if wait is None:
                return False
            bell = wait()
        self._stand(bell, WAITING if busy else HELD, upcoming)
        if busy and tail and file.map[TAKEN_AT + tail - 1]:
            self._link(tail - 1)
        file.halves[TAIL_HALF] = self.number + 1
        return True

    def _stand(self, bell: Bell | None, state: int, upcoming: int | None = None) -> None:
        """Draw the ticket, lock its byte, fill a slot. The number is written first: a crash after that leaves a mere
        gap. The slot counts only while the byte is locked, so a crash before it is filled leaves nothing."""
        file, handle, request = self.file, self.handle, self.request
        if upcoming is None:
            upcoming = file.look(handle)[0]
        number = file.free_slot(handle)
        file.words[NEXT] = upcoming + 1
        file.words[COMPLEMENT] = (upcoming + 1) ^ ALL
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, FLOCK.pack(self.mode, os.SEEK_SET, upcoming, 1, 0))
        now = time.time()
        self.token, self.number, self.offset = upcoming, number, SLOTS_AT + number * SLOT_BYTES
        file.map[self.offset : self.offset + SLOT.size] = SLOT.pack(
            upcoming, self.owner, now, now, bell.number if bell else 0, 0, handles.pid, NAMESPACE, 0,
            request.grace_ms, request.weight, state, request.shared, 0, _encoded(request.label),
        )  # fmt: skip
        file.map[TAKEN_AT + number] = 1
        self.state = state  # with no call since the line above: either the slot is ours and we know it, or neither

    def _agree_on_limit(self, upcoming: int, broken: int) -> None:
        agreed = int.from_bytes(self.file.map[LIMIT_AT : LIMIT_AT + 4], "little")
        if agreed == self.limit:
            return
        if agreed and self.file.conflict(self.handle, broken, upcoming, fcntl.F_WRLCK) is not None:
            raise Misuse(
                f"semaphore {self.request.name!r} is in use with a limit of {agreed}, asked for {self.limit}",
                hint="all users of a semaphore must name the same limit",
            )
        self.file.map[LIMIT_AT : LIMIT_AT + 4] = self.limit.to_bytes(4, "little")

    def _blocked(self, low: int, high: int) -> bool:
        if self.limit == 1:
            near = self.predecessor
            # Before the first sleep the nearest is the likeliest, and if it is alive it is the one who will ring us.
            if near is not None and near > low and not self.slept:
                self.blocker = self.file.conflict(self.handle, near, high, self.mode)
                if self.blocker is not None:
                    return True
            self.blocker = self.file.conflict(self.handle, low, high, self.mode)
            return self.blocker is not None
        return self._count(low, high, self.limit) >= self.limit

    def _count(self, low: int, high: int, enough: int) -> int:
        """How many from `low` up to `high` are alive, counted up to `enough`."""
        count, parts = 0, [(low, high)]
        while parts and count < enough:
            start, end = parts.pop()
            found = self.file.conflict(self.handle, start, end, fcntl.F_WRLCK)
            if found is not None:
                count += 1
                parts += [(found + 1, end), (start, found)]
        return count

    def _link(self, number: int) -> None:
        """Ask the contender of that slot to ring us when it leaves."""
        halves, slot = self.file.halves, FIRST_HALF + number * SLOT_HALVES
        halves[slot + SUCCESSOR_HALF] = self.number + 1
        self.predecessor = self.file.words[FIRST_WORD + number * SLOT_WORDS + TICKET_WORD]
        self.predecessor_number = number
        self.watched = halves[slot + PID_HALF] if halves[slot + NAMESPACE_HALF] == NAMESPACE else 0

    # Waiting; outside the doorway.

    def granted(self) -> bool:
        """Look whether it is our turn by now."""
        if self.state == HELD:
            return True
        file = self.file
        file.refuse_truncated(self.handle)
        broken = file.words[BROKEN_WORD]
        if self.token < broken:
            raise OwnershipLost(
                f"the turn of this request for {self.request.name!r} (token {self.token}) came and was broken by force "
                f"before it was taken",
                hint="ask again",
            )
        if self._blocked(broken, self.token):
            return False
        file.reals[self.offset // 8 + GRANTED_WORD] = time.time()
        file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
        if self.request.shared or self.limit > 1:
            self._ring_successor()  # those behind us may get in too
        return True

    def relink(self) -> bool:
        """Before going to sleep: is the one who will ring us still there? If not, find another; the caller must look
        again then. Takes the doorway without waiting; False when it was busy or nothing changed."""
        before = self.predecessor
        if self.limit > 1 or (before is not None and (before == self.blocker or self.file.alive(self.handle, before))):
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
            fcntl.flock(self.handle, fcntl.LOCK_UN)
        return True

    def watch(self) -> tuple[Sequence[int], float]:
        """The processes whose end concerns us, and how long to sleep at most. `granted` has looked at the file."""
        if self.limit > 1:
            low = self.file.broken_below()
            slots = [slot for _, slot in self.file.living(self.handle) if low <= slot.ticket < self.token]
            pids = {slot.pid for slot in slots if slot.namespace == NAMESPACE} - self.ended
            return sorted(pids)[:_MOST_WATCHED], HEAD_NET
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
        inside = time.time() - before[0].granted if before else 0.0
        estimate = len(before) * mean / self.limit - inside if mean else 0.0
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
        interrupt has cut short is completed by the next call, the finaliser's at the latest."""
        state = self.state
        if state == FREE or self.generation != handles.generation:
            return
        sound = False
        try:
            sound = os.lseek(self.handle, 0, os.SEEK_END) >= self.file.size
            if sound:
                self.file.map[self.offset + STATE_IN_SLOT] = LEAVING
        finally:
            self.state = LEAVING
            fcntl.fcntl(self.handle, fcntl.F_OFD_SETLK, UNLOCK_ALL)
            self._left(state, sound)

    def _sound(self) -> bool:
        """Whether the map can be touched."""
        return os.lseek(self.handle, 0, os.SEEK_END) >= self.file.size

    def _left(self, state: int, sound: bool) -> None:
        """The next may be in by now. Whoever linked itself to us before saw our byte locked, so the link is visible
        here; whoever comes later sees the byte free. The slot is given up last, so that nobody can have taken it, and
        the link with it, before we have read it."""
        file = self.file
        if sound:
            if file.words[NEXT] > self.token + 1:
                self._ring_successor()
            if state == HELD:
                stay, mean = time.time() - file.reals[self.offset // 8 + GRANTED_WORD], file.reals[MEAN_REAL]
                file.reals[MEAN_REAL] = mean + _MEMORY * (stay - mean) if mean else stay
        if self.ear is not None:
            self.ear.forget(self.token, id(self))
        if sound:
            file.map[TAKEN_AT + self.number] = 0
        self.state = FREE  # with no call since the line above: nobody else's slot can be given up by a second release
        handle, self.handle = self.handle, -1
        file.give_back(handle)
        ledger.remove(self.owner, self)

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

    def _ring_successor(self) -> None:
        file = self.file
        if self.limit > 1:
            file.refresh(self.handle)
            low = file.broken_below()
            waiting = [slot for _, slot in file.slots() if slot.state == WAITING and slot.ticket >= low]
            rung = 0
            for slot in sorted(waiting):
                if rung < self.limit and file.alive(self.handle, slot.ticket):  # the dead must not use up the rings
                    self.ringer.ring(slot.bell, slot.ticket)
                    rung += 1
            return
        successor = file.halves[self.offset // 4 + SUCCESSOR_HALF]
        if not successor:
            return
        if successor > file.capacity:  # the file has grown since we mapped it
            file.refresh(self.handle)
        if successor <= file.capacity:
            at = FIRST_WORD + (successor - 1) * SLOT_WORDS
            self.ringer.ring(file.words[at + BELL_WORD], file.words[at + TICKET_WORD])

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
