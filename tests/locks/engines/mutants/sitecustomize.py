"""Mutants of the file engine: each breaks it in one way, in every process that finds this folder on its path.

Python imports `sitecustomize` at its start, so the workers of a campaign are broken too, whichever process starts them.
The environment variable `VEZ_TEST_MUTANT` names the mutant; without it nothing is changed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

MUTANTS: dict[str, Callable[[], None]] = {}
KEPT: list[Any] = []


def mutant(function: Callable[[], None]) -> Callable[[], None]:
    MUTANTS[function.__name__] = function
    return function


def put(where: Any, **changes: Any) -> None:
    for name, value in changes.items():
        getattr(where, name)  # the name must exist: otherwise the mutant would change nothing
        setattr(where, name, value)


@mutant
def skipped_byte_lock() -> None:
    """One in fifty tickets does not lock its byte."""
    from vez.locks.engines.file import byte_locks, ticket

    real, lock = ticket.__dict__["fcntl"], ticket.__dict__["F_OFD_SETLK"]

    def sometimes(handle: int, command: int, packed: bytes) -> Any:
        if command == lock and packed != byte_locks.UNLOCK_ALL and random.random() < 0.02:
            return packed
        return real(handle, command, packed)

    put(ticket, fcntl=sometimes)


@mutant
def blind_grant() -> None:
    """One request in fifty that should wait is granted."""
    from vez.locks.engines.file.layout import HELD, STATE_IN_SLOT, WAITING
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.enlist

    def enlist(self: LockTicket, *arguments: Any) -> bool:
        found = real(self, *arguments)
        if self.state == WAITING and random.random() < 0.02:
            self.file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
            self.inside = True
        return found

    put(LockTicket, enlist=enlist)


def _reuse(chance: float) -> None:
    """Set the counter back if nobody has drawn a higher number; otherwise the lock of the byte would show the
    mistake."""
    from vez.locks.engines.file.layout import ALL, COMPLEMENT, HELD, NEXT
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.release

    def release(self: LockTicket) -> None:
        words, token = self.file.words, self.token
        last = self.state == HELD and words[NEXT] == token + 1
        real(self)
        if last and random.random() < chance:
            words[NEXT] = token
            words[COMPLEMENT] = token ^ ALL

    put(LockTicket, release=release)


@mutant
def reused_token() -> None:
    """A number is drawn twice, one in ten."""
    _reuse(0.1)


@mutant
def rarely_reused_token() -> None:
    """A number is drawn twice, at 0.2 %."""
    _reuse(0.002)


@mutant
def wake_nobody() -> None:
    """A release wakes no waiter."""
    from vez.locks.engines.file.locks import LockTicket

    put(LockTicket, ring_next=lambda self: None)


@mutant
def wake_the_wrong_one() -> None:
    """A release rings its own bell, not the bell of its successor."""
    from vez.locks.engines.file.layout import BELL_IN_SLOT
    from vez.locks.engines.file.locks import LockTicket

    def ring_next(self: LockTicket) -> None:
        at = self.offset + BELL_IN_SLOT
        self.ringer.ring(self.file.map[at : at + 8], self.token)

    put(LockTicket, ring_next=ring_next)


@mutant
def dead_holder_unnoticed() -> None:
    """Waiters do not watch the process of their predecessor, and seldom look by themselves."""
    from vez.locks.engines.file.locks import LockTicket

    put(LockTicket, watch=lambda self: ((), 2.0), poll=lambda self: False)


@mutant
def child_keeps_descriptors() -> None:
    """A forked child keeps the descriptors of its parent open."""
    from vez.locks.engines import handles

    def keep() -> None:
        if handles._forking:
            handles.generation += 1
            handles.pid = os.getpid()
            handles._forking = False
            with contextlib.suppress(RuntimeError):
                handles.gate.release()

    put(handles._after_in_child, __code__=_calls(keep))


def _calls(function: Callable[[], None]) -> Any:
    """Code that calls the function, for a hook that was registered already."""
    KEPT.append(function)

    def call() -> None:
        import sys

        sys.modules["sitecustomize"].KEPT[0]()

    return call.__code__


@mutant
def last_come_first_served() -> None:
    """The newest waiter is granted when nobody is inside."""
    from vez.locks.engines.file.layout import HELD, STATE_IN_SLOT, WAITING
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.granted

    def granted(self: LockTicket) -> bool:
        if not self.inside:
            living = [slot for _, slot in self.file.living(self.handle) if slot.ticket != self.token]
            if any(slot.state == HELD for slot in living):
                return False
            if not any(slot.state == WAITING and slot.ticket > self.token for slot in living):
                self.file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
                self.inside = True
        return real(self)

    put(LockTicket, granted=granted)


@mutant
def leak_on_timeout() -> None:
    """One request in ten keeps its byte locked after its timeout."""
    from vez.locks.engines.file.layout import FREE, WAITING
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.release

    def release(self: LockTicket) -> None:
        if self.state == WAITING and random.random() < 0.1:
            self.state = FREE
            KEPT.append(self)
        else:
            real(self)

    put(LockTicket, release=release)


@mutant
def ring_before_unlock() -> None:
    """The successor is woken while the byte is still locked, and not again."""
    from vez.locks.engines.file.layout import HELD
    from vez.locks.engines.file.locks import LockTicket

    ring, real = LockTicket.ring_next, LockTicket.release

    def release(self: LockTicket) -> None:
        if self.state == HELD and self.sound():
            ring(self)
        put(LockTicket, ring_next=lambda self: None)
        try:
            real(self)
        finally:
            put(LockTicket, ring_next=ring)

    put(LockTicket, release=release)


@mutant
def dropped_store() -> None:
    """The link to the predecessor is not written, one in three."""
    from vez.locks.engines.file.layout import FIRST_HALF, SLOT_HALVES, SUCCESSOR_HALF
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket._link

    def link(self: LockTicket, number: int) -> int:
        place = FIRST_HALF + number * SLOT_HALVES + SUCCESSOR_HALF
        before = self.file.halves[place]
        found = real(self, number)
        if random.random() < 0.33:
            self.file.halves[place] = before
        return found

    put(LockTicket, _link=link)


@mutant
def one_permit_too_many() -> None:
    """A semaphore admits one more than its limit, one in five."""
    from vez.locks.engines.file.permits import Permit

    real = Permit._blocked

    def blocked(self: Permit, low: int, high: int) -> bool:
        return real(self, low, high) and random.random() > 0.2

    put(Permit, _blocked=blocked)


@mutant
def reader_beside_writer() -> None:
    """One reader in ten that should wait is granted."""
    from vez.locks.engines.file.layout import HELD, STATE_IN_SLOT, WAITING
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.enlist

    def enlist(self: LockTicket, *arguments: Any) -> bool:
        found = real(self, *arguments)
        if self.state == WAITING and self.request.shared and random.random() < 0.1:
            self.file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
            self.inside = True
        return found

    put(LockTicket, enlist=enlist)


@mutant
def two_leaders_of_one_term() -> None:
    """One candidate in ten believes that it leads the current term."""
    from vez.locks.engines.file.candidates import Candidate
    from vez.locks.engines.file.layout import HELD, LEADER, LEADER_AT

    real = Candidate.granted

    def granted(self: Candidate) -> bool:
        leader, term = LEADER.unpack_from(self.file.map, LEADER_AT)
        if not self.inside and leader and leader != self.ticket and random.random() < 0.1:
            self.state, self.inside, self.token = HELD, True, term
        return real(self)

    put(Candidate, granted=granted)


@mutant
def reader_overtakes_writer() -> None:
    """A reader is granted while readers hold, and overtakes a waiting writer."""
    from vez.locks.engines.file.layout import HELD, STATE_IN_SLOT, WAITING
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.enlist

    def enlist(self: LockTicket, *arguments: Any) -> bool:
        found = real(self, *arguments)
        if self.state == WAITING and self.request.shared:
            inside = [s for _, s in self.file.living(self.handle) if s.state == HELD and s.ticket < self.token]
            if inside and all(slot.shared for slot in inside):
                self.file.map[self.offset + STATE_IN_SLOT] = self.state = HELD
                self.inside = True
        return found

    put(LockTicket, enlist=enlist)


@mutant
def repeated_term() -> None:
    """One leader in ten has the term of the leader before."""
    from vez.locks.engines.file import candidates, leadership
    from vez.locks.engines.file.layout import LEADER, LEADER_AT, store

    real = leadership.inaugurate

    def inaugurate(file: Any, handle: int, number: int, ticket: int) -> int:
        before: int = LEADER.unpack_from(file.map, LEADER_AT)[1]
        term = real(file, handle, number, ticket)
        if before and random.random() < 0.1:
            store(file.map, LEADER_AT, LEADER.pack(ticket, before))
            return before
        return term

    put(leadership, inaugurate=inaugurate)
    put(candidates, inaugurate=inaugurate)


@mutant
def deposed_leader_not_told() -> None:
    """A leader does not look whether it was deposed."""
    from vez.locks.engines.file.candidates import Candidate

    put(Candidate, _find_loss=lambda self: None)


@mutant
def permit_that_nobody_sees() -> None:
    """A permit is granted and its byte unlocked, one in ten."""
    from fcntl import F_OFD_SETLK, fcntl

    from vez.locks.engines.file.byte_locks import UNLOCK_ALL
    from vez.locks.engines.file.permits import Permit

    real = Permit.enlist

    def enlist(self: Permit, *arguments: Any) -> bool:
        found = real(self, *arguments)
        if self.inside and random.random() < 0.1:
            fcntl(self.handle, F_OFD_SETLK, UNLOCK_ALL)
        return found

    put(Permit, enlist=enlist)


@mutant
def readers_ring_nobody() -> None:
    """A reader that releases wakes no waiter."""
    from fcntl import F_RDLCK

    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.ring_next
    put(LockTicket, ring_next=lambda self: None if self.mode == F_RDLCK else real(self))


@mutant
def broken_holder_not_told() -> None:
    """A holder does not look whether its lock was broken."""
    from vez.locks.engines.file.holding import FileHolding

    put(FileHolding, _find_loss=lambda self: None)


@mutant
def pruner_does_not_ask() -> None:
    """Files are pruned without checking whether they are in use."""
    from vez.locks.engines.file import pruning

    put(pruning, conflict=lambda *arguments: None)


@mutant
def slow_doorway() -> None:
    """Every request stays in the doorway for ten milliseconds; waiters in the queue are served as quickly as ever."""
    from vez.locks.engines.file.locks import LockTicket

    real = LockTicket.enlist

    def enlist(self: LockTicket, *arguments: Any) -> bool:
        time.sleep(0.01)  # the mutation: a slow doorway
        return real(self, *arguments)

    put(LockTicket, enlist=enlist)


@mutant
def blind_reset() -> None:
    """A process with another boot identifier resets the file without checking whether a byte is locked."""
    from vez.locks.engines.file import ticket_file

    put(ticket_file, conflict=lambda *arguments: None)


@mutant
def mark_ignored() -> None:
    """A new file begins at the clock, even if a higher token was pruned before."""
    from vez.locks.engines.file import mapped_file

    real = mapped_file.__dict__["reading_mark"]

    @contextlib.contextmanager
    def reading_mark(*arguments: Any) -> Iterator[int]:
        with real(*arguments):
            yield 0

    put(mapped_file, reading_mark=reading_mark)


@mutant
def failed_sync_taken_for_success() -> None:
    """Tokens are issued from a range that could not be made durable."""
    from vez.errors import EngineUnavailable
    from vez.locks.engines.file.layout import ON_DISK_WORD, RANGE, SLOTS_AT, read_durable
    from vez.locks.engines.file.ticket_file import TicketFile

    real = TicketFile._reserve

    def reserve(self: TicketFile, handle: int, upcoming: int) -> None:
        try:
            real(self, handle, upcoming)
        except EngineUnavailable:
            reserved, sequence = read_durable(self.map[:SLOTS_AT], self.where)
            self.words[ON_DISK_WORD] = sequence
            self.reserved_from, self.reserved_until = reserved - RANGE - 2, reserved - 1

    put(TicketFile, _reserve=reserve)


@mutant
def unrecorded_break() -> None:
    """A forced release continues although its record could not be written."""
    from vez.locks.engines.file import breaking

    real = breaking._append

    def append(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            real(*arguments)

    put(breaking, _append=append)


@mutant
def no_descriptor_for_good() -> None:
    """A process that could not open a file once never opens one again."""
    from vez.locks.engines import handles

    real = handles.open_handle

    def open_handle(*arguments: Any, **options: Any) -> Any:
        if KEPT:
            raise KEPT[0]
        try:
            return real(*arguments, **options)
        except OSError as error:
            if error.errno == errno.EMFILE:
                KEPT.append(error)
            raise

    put(handles, open_handle=open_handle)


if chosen := os.environ.get("VEZ_TEST_MUTANT"):
    MUTANTS[chosen]()
