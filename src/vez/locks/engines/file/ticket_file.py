"""TicketFile: the counter and the slots of one name.

Every request enters the doorway (a short flock), draws the next ticket, locks the byte of that number, writes a slot
and leaves the doorway. The ticket is the fencing token. A ticket is alive while its byte is locked: the kernel unlocks
it when the process ends, however it ends. Since numbers only grow and are drawn and locked inside the doorway, "no
lower byte is locked", once true, stays true. docs/decisions/file-engine.md goes through every window in which a process
can die.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fcntl import F_WRLCK
from os import fstat
from stat import ST_NLINK, ST_SIZE

from vez.errors import CorruptState, EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import Request
from vez.locks.engines.file.byte_locks import HIGHEST, alive, conflict
from vez.locks.engines.file.doorway import doorway
from vez.locks.engines.file.layout import (
    ALL,
    BOOT_AT,
    BROKEN_WORD,
    CAPACITY_AT,
    COMPLEMENT,
    COUNTER,
    COUNTER_AT,
    DURABLE,
    DURABLE_AT,
    HEAD,
    LABEL_BYTES,
    LEADER,
    LEADER_AT,
    LEAVING,
    LIMIT_AT,
    MAGIC,
    MAX_CAPACITY,
    NAMESPACE,
    NETWORK,
    NEXT,
    ON_DISK_WORD,
    RANGE,
    REVOKED_WORD,
    SLOT,
    SLOT_BYTES,
    SLOT_REST,
    SLOTS_AT,
    TAIL,
    TAIL_HALF,
    TAKEN_AT,
    boot_id,
    damaged,
    durable,
    now_ticket,
    read_durable,
    size_of,
    store,
)
from vez.locks.engines.file.mapped_file import Gone, MappedFile
from vez.locks.engines.file.slots import Slot, ended

unpack_head = HEAD.unpack_from


class TicketFile(MappedFile):
    """The counter and the slots in the mapped file of one name."""

    # Bounds of the tickets that may be issued now; what the file says may be higher, never lower. Two numbers, because
    # asking a `range` costs three times as much as two comparisons.
    reserved_from = reserved_until = 0
    described: Request | None = None  # the request and the state for which `description` was packed
    described_state = 0
    description = b""

    def _prepare(self, handle: int) -> None:
        boot = boot_id()
        if self.map[BOOT_AT : BOOT_AT + 16] != boot:
            with doorway(handle, self.where):
                self._reset_after_boot(handle, boot)

    def _reset_after_boot(self, handle: int, boot: bytes) -> None:
        """Reset the file after a boot. Then only the durable record counts, because data without fsync may be older or
        newer. A locked byte proves that there was no boot since: its process sees another boot identifier, as
        containers do."""
        if self.map[BOOT_AT : BOOT_AT + 16] == boot:
            return  # another process was faster
        if conflict(handle, 0, HIGHEST, F_WRLCK) is not None:
            return
        first = max(read_durable(self.map[:SLOTS_AT], self.where)[0], now_ticket())
        # Before more is reserved the counter is marked as one whose writer died. Without the mark, if this process
        # dies here, another one, which may have another boot identifier, finds a counter far below what is reserved,
        # and would take it for damage.
        self.words[COMPLEMENT] = self.words[NEXT]
        self._reserve(handle, first)
        store(self.map, 0, HEAD.pack(MAGIC, first, first ^ ALL, first, first, 0, self.capacity))
        store(self.map, LEADER_AT, LEADER.pack(0, 0))
        taken = bytearray(SLOTS_AT - TAKEN_AT)
        for number, slot in self.slots():
            taken[number] = slot.state == LEAVING and not ended(slot)  # it gives up its slot by itself
        self.map[TAKEN_AT:SLOTS_AT] = bytes(taken)
        self.map[BOOT_AT : BOOT_AT + 16] = boot

    def refuse_damaged(self, handle: int) -> None:
        """Raise `CorruptState` if the file was damaged while in use; for readers outside the doorway."""
        self.refuse_truncated(handle)
        if self.map[:8] != MAGIC:
            raise damaged(self.where, f"it begins with {self.map[:8]!r}, expected {MAGIC!r}")
        broken, revoked = self.broken_below(), self.words[REVOKED_WORD]  # before the counter: all of them only grow
        upcoming, complement = COUNTER.unpack_from(self.map, COUNTER_AT)
        if upcoming ^ complement == ALL:  # else it is being written at this moment, or its writer died
            self._refuse_counter(upcoming)
            if revoked > upcoming:
                raise self._impossible(broken, revoked, upcoming)
        tail = self.halves[TAIL_HALF]
        self.refresh(handle)
        if tail > self.capacity:
            raise self.wrong_tail(tail)

    def _refuse_counter(self, upcoming: int) -> None:
        """Raise if the counter is outside the range that was reserved last: then another program has written it."""
        reserved, _ = read_durable(self.map[:SLOTS_AT], self.where)
        if not reserved - RANGE - 2 <= upcoming <= reserved or upcoming >= HIGHEST:
            raise damaged(self.where, f"its next ticket is {upcoming}, and tickets are reserved up to {reserved}")

    # Inside the doorway

    def counters(self, handle: int) -> tuple[int, int, int]:
        """The next ticket, the lowest valid one, and the tail of the queue. This is the fast path of every turn: all
        checks at once, `look` if one fails. The head is read in one call, because everything in it is written inside
        the doorway only."""
        facts = fstat(handle)
        if facts[ST_NLINK] and facts[ST_SIZE] >= self.size:
            magic, upcoming, complement, broken, revoked, tail, capacity = unpack_head(self.map)
            if (
                upcoming ^ complement == ALL
                and self.reserved_from <= upcoming < self.reserved_until
                and broken <= revoked <= upcoming
                and magic == MAGIC
                and capacity == self.capacity
            ):
                return upcoming, broken, tail
        return *self.look(handle), self.halves[TAIL_HALF]

    def look(self, handle: int) -> tuple[int, int]:
        """The next ticket and the lowest valid one. Checks the file, and repairs a counter whose writer died."""
        facts = os.fstat(handle)
        if facts.st_nlink == 0:
            raise Gone
        if facts.st_size < self.size:
            raise damaged(self.where, f"it was truncated to {facts.st_size} bytes while in use")
        magic, upcoming, complement, broken, revoked, _, capacity = HEAD.unpack_from(self.map, 0)
        if magic != MAGIC:
            raise damaged(self.where, f"it begins with {magic!r}, expected {MAGIC!r}")
        if upcoming ^ complement != ALL:  # its writer died between two stores
            upcoming = max(read_durable(self.map[:SLOTS_AT], self.where)[0], now_ticket())
            self._reserve(handle, upcoming)
            store(self.map, COUNTER_AT, COUNTER.pack(upcoming, upcoming ^ ALL))
        if not broken <= revoked <= upcoming:
            raise self._impossible(broken, revoked, upcoming)
        if capacity != self.capacity:
            self._remap(handle)
        if not self.reserved_from <= upcoming < self.reserved_until:
            self._refuse_counter(upcoming)
            self._reserve(handle, upcoming)
        return upcoming, broken

    def _reserve(self, handle: int, upcoming: int) -> None:
        """Make sure, durably, that the next tickets will not be issued again after a power loss.

        A record in the map counts only if its fsync is known to have succeeded: it may have failed, or its writer may
        have been killed. Then the record is written again before the next fsync, since the kernel may take the page of
        a failed one for clean."""
        reserved, sequence = read_durable(self.map[:SLOTS_AT], self.where)
        known = self.words[ON_DISK_WORD] == sequence
        if upcoming + 2 > reserved:
            known, reserved, sequence = False, upcoming + RANGE, sequence + 1
        if not known:
            place = DURABLE_AT[(sequence + 1) % 2]  # the older of the two: the newer stays whole
            self.map[place : place + DURABLE.size] = durable(reserved, sequence)
            try:
                self.map.flush()
                os.fsync(handle)
            except OSError as error:
                raise EngineUnavailable(
                    f"cannot make {self.where} durable: {error.strerror}; nothing was granted",
                    hint="make room on the disk, or see what the kernel says about it (dmesg)",
                ) from error
            self.words[ON_DISK_WORD] = sequence
        self.reserved_from, self.reserved_until = reserved - RANGE - 2, reserved - 1

    def describe(self, request: Request, state: int) -> None:
        """Pack the half of a slot that says what this process asks for. It is kept: most requests of a process for one
        name are alike, and a forked child opens files of its own. The doorway is held, so threads do not mix."""
        self.described = None  # while it changes: an interrupt may come in between
        self.description = SLOT_REST.pack(
            handles.pid, NAMESPACE, 0, request.grace_ms, request.weight, state, request.shared, NETWORK,
            request.label.encode()[:LABEL_BYTES],
        )  # fmt: skip
        self.described, self.described_state = request, state

    def free_slot(self, handle: int) -> int:
        """The number of a free slot. Slots of dead tickets are reclaimed, and the file grows, if necessary."""
        place = self.map.find(b"\0", TAKEN_AT, TAKEN_AT + self.capacity)
        if place < 0:
            self._reclaim(handle)
            place = self.map.find(b"\0", TAKEN_AT, TAKEN_AT + self.capacity)
        if place < 0:
            place = self._grow(handle)
        return place - TAKEN_AT

    def _reclaim(self, handle: int) -> None:
        for number, slot in self.slots():
            if not alive(handle, slot.ticket) and (slot.state != LEAVING or ended(slot)):
                self.map[TAKEN_AT + number] = 0

    def _grow(self, handle: int) -> int:
        place, capacity = TAKEN_AT + self.capacity, min(self.capacity * 2, MAX_CAPACITY)
        if capacity == self.capacity:
            raise EngineUnavailable(
                f"{self.kind} {self.name!r} has {capacity} holders and waiters, and there is no room for more"
            )
        try:
            os.posix_fallocate(handle, 0, size_of(capacity))
        except OSError as error:
            raise EngineUnavailable(f"cannot enlarge {self.where}: {error.strerror}") from error
        store(self.map, CAPACITY_AT, TAIL.pack(capacity))
        self._remap(handle)
        return place

    # Reading; inside the doorway or outside.

    def slot(self, number: int) -> Slot:
        """A slot, taken or not."""
        return Slot._make(SLOT.unpack_from(self.map, SLOTS_AT + number * SLOT_BYTES))

    def slots(self) -> Iterator[tuple[int, Slot]]:
        """Every taken slot with its number, those of dead tickets included."""
        taken = self.map[TAKEN_AT : TAKEN_AT + self.capacity]
        number = taken.find(1)
        while number >= 0:
            yield number, self.slot(number)
            number = taken.find(1, number + 1)

    def living(self, handle: int) -> list[tuple[int, Slot]]:
        """Every slot whose ticket is alive, sorted by ticket. `handle` must hold none of their locks."""
        return sorted(
            ((number, slot) for number, slot in self.slots() if slot.ticket and alive(handle, slot.ticket)),
            key=lambda pair: pair[1].ticket,
        )

    def broken_below(self) -> int:
        """The lowest valid ticket; tickets below it are void. Holders are told first, so `revoked` is never lower. This
        rule reveals a damaged number, which would otherwise grant a request. The numbers are read in this order,
        because all of them only grow."""
        broken: int = self.words[BROKEN_WORD]
        revoked: int = self.words[REVOKED_WORD]
        if broken > revoked:
            raise self._impossible(broken, revoked, self.words[NEXT])
        return broken

    def _impossible(self, broken: int, revoked: int, upcoming: int) -> CorruptState:
        what = f"tickets below {broken} are void, holders below {revoked} were told, and the next ticket is {upcoming}"
        return damaged(self.where, what)

    def wrong_tail(self, tail: int) -> CorruptState:
        """The error for a tail of the queue that is not one of the slots."""
        return damaged(self.where, f"the tail of its queue is slot {tail} of {self.capacity}")

    def limit(self) -> int:
        """The limit of a semaphore; 1 for a lock or an election."""
        return int.from_bytes(self.map[LIMIT_AT : LIMIT_AT + 4], "little") or 1

    def find(self, ticket: int) -> int | None:
        """The number of the slot of a ticket; None if there is none."""
        return next((number for number, slot in self.slots() if slot.ticket == ticket), None)
