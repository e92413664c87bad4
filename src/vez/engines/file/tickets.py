"""Tickets: the mapped file of one name, its counter, its slots, and the byte locks that tell who is alive.

Whoever comes enters the doorway (a short flock), draws the next ticket, locks the byte of that number, writes a
slot and leaves the doorway. The ticket is the token. A contender is alive while its byte is locked: the kernel
unlocks it when the process ends, however it ends. Since numbers only grow and are drawn and locked inside the
doorway, "no lower byte is locked" once true stays true. docs/decisions/file-engine.md goes through every window
in which a process can die.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import mmap
import os
import stat
import struct
import time
from collections.abc import Iterator
from os import fstat
from stat import ST_NLINK, ST_SIZE
from typing import NamedTuple
from urllib.parse import quote

from vez.engines import handles
from vez.engines.file.layout import (
    ALL,
    BOOT_AT,
    BROKEN_WORD,
    CAPACITY_AT,
    CAPACITY_HALF,
    COMPLEMENT,
    COUNTER,
    COUNTER_AT,
    DURABLE,
    DURABLE_AT,
    FIRST_CAPACITY,
    HEAD,
    LEADER,
    LEADER_AT,
    LEAVING,
    LIMIT_AT,
    MAGIC,
    MAGIC_WORD,
    MAX_CAPACITY,
    NAMESPACE,
    NEXT,
    RANGE,
    SLOT,
    SLOT_BYTES,
    SLOTS_AT,
    TAIL,
    TAKEN_AT,
    boot_id,
    damaged,
    durable,
    newborn,
    now_ticket,
    read_durable,
    size_of,
    store,
    verify,
)
from vez.errors import EngineUnavailable

FLOCK = struct.Struct("hhqqi0q")  # struct flock of 64-bit Linux
pack_flock = FLOCK.pack
UNLOCK_ALL = FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
POOL = 4
"""Idle descriptors kept for a name."""
_ATTEMPTS = 5
_DOORWAY_PAUSE = 0.0002
PATIENCE = 5.0
"""Seconds that whoever has no time limit of its own, and must not wait for ever, gives the doorway."""
_HIGHEST = 1 << 62
"""Byte locks are numbered by signed numbers of 64 bits."""


class Gone(Exception):
    """The file was removed from the directory while it was in use; open the new one."""


def enter(handle: int, patience: float | None) -> None:
    """Go into the doorway; `BlockingIOError` if it stayed busy for so long (somebody was paused in it).

    Call it inside the `try` whose `finally` leaves: an interrupt may strike when the doorway is ours already and this
    function has not returned yet. Leaving without having entered is harmless."""
    if patience is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    deadline = 0.0
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            now = time.monotonic()
            deadline = deadline or now + patience
            if now >= deadline:
                raise
            time.sleep(_DOORWAY_PAUSE)


@contextlib.contextmanager
def doorway(handle: int, where: str, patience: float = PATIENCE) -> Iterator[None]:
    """Inside it, or an error after so many seconds."""
    try:
        try:
            enter(handle, patience)
        except BlockingIOError:
            raise busy_doorway(where, patience) from None
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def busy_doorway(where: str, seconds: float) -> EngineUnavailable:
    """The error for a doorway in which somebody stands still."""
    return EngineUnavailable(
        f"the doorway of {where} was not free within {seconds:g} s: some process is stopped in it",
        hint="let it go on (kill -CONT) or end it; /proc/locks names it",
    )


class Slot(NamedTuple):
    """A slot as it is read."""

    ticket: int
    owner: int
    since: float
    granted: float
    bell: bytes
    waits: int
    pid: int
    namespace: int
    successor: int
    grace_ms: int
    weight: int
    state: int
    shared: int
    padding: int
    label: bytes


def file_name(kind: str, name: str) -> str:
    """The name of the file. Long names are cut and told apart by a digest; the file itself carries the whole."""
    text = f"{kind}.{quote(name, safe='')}"
    if len(text) <= 200:
        return text
    return f"{text[:150]}~{hashlib.sha256(name.encode()).hexdigest()[:40]}"


class TicketFile:
    """One name's file, opened and mapped by this process."""

    def __init__(self, directory: int, path: str, kind: str, name: str) -> None:
        self.directory, self.kind, self.name = directory, kind, name
        self.file_name = file_name(kind, name)
        self.where = os.path.join(path, self.file_name)
        self.pool: list[int] = []
        self.closed = False
        self.inode: tuple[int, int] | None = None  # of the file that is mapped; another of the same name is not ours
        self.reserved = range(0)  # the next tickets that may be issued; what the file says may be higher, never lower
        self.capacity = 0
        self.size = 0
        self.map: mmap.mmap
        handle = self._made()
        try:
            verify(handle, kind, name, self.where)
            self._remap(handle)
            boot = boot_id()
            if self.map[BOOT_AT : BOOT_AT + 16] != boot:
                with doorway(handle, self.where):
                    self._first_of_boot(handle, boot)
        except BaseException:
            handles.close_handle(handle)  # nobody gets this object, so nobody would close its pool
            raise
        self.give_back(handle)

    # Opening

    def _made(self) -> int:
        """A descriptor of the file, which is created if need be."""
        for _ in range(_ATTEMPTS):
            self._create_if_missing()
            with contextlib.suppress(Gone):
                return self.handle()
        raise EngineUnavailable(f"{self.where} is removed as soon as it is made", hint="let nobody clean up there")

    def _create_if_missing(self) -> None:
        if self._exists():
            return
        temporary = f".new-{os.urandom(8).hex()}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            handle = handles.open_handle(temporary, flags, directory=self.directory)
            try:
                content = newborn(self.kind, self.name)
                os.posix_fallocate(handle, 0, len(content))  # a full disk must say so now, not kill a writer later
                os.pwrite(handle, content, 0)
                os.fsync(handle)
                with contextlib.suppress(FileExistsError):  # somebody else was faster; theirs it is
                    os.link(temporary, self.file_name, src_dir_fd=self.directory, dst_dir_fd=self.directory)
            finally:
                os.unlink(temporary, dir_fd=self.directory)
                handles.close_handle(handle)
            os.fsync(self.directory)
        except OSError as error:
            raise EngineUnavailable(f"cannot create {self.where}: {error.strerror}") from error

    def _exists(self) -> bool:
        try:
            os.stat(self.file_name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def handle(self) -> int:
        """A descriptor with an open file description of its own: locks of two of them exclude each other. `Gone` if the
        file was removed since it was mapped."""
        try:
            return self.pool.pop()
        except IndexError:
            return self._open()

    def _open(self) -> int:
        try:
            handle = handles.open_handle(self.file_name, os.O_RDWR | os.O_NOFOLLOW, directory=self.directory)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise Gone from None
            hint = "raise the limit of open files (ulimit -n)" if error.errno == errno.EMFILE else ""
            raise EngineUnavailable(f"cannot open {self.where}: {error.strerror}", hint=hint) from error
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            handles.close_handle(handle)
            raise EngineUnavailable(f"{self.where} is no file of this user", hint="remove what is in its place")
        if self.inode is None:
            self.inode = (facts.st_dev, facts.st_ino)
        elif self.inode != (facts.st_dev, facts.st_ino):
            handles.close_handle(handle)
            raise Gone
        return handle

    def give_back(self, handle: int) -> None:
        """Keep the descriptor for the next contender; it must hold no lock."""
        with handles.gate:
            if len(self.pool) < POOL and not self.closed:
                self.pool.append(handle)
            else:
                handles.close_handle(handle)

    def close(self) -> None:
        """Close the idle descriptors; those in use are closed when they come back."""
        with handles.gate:
            self.closed = True
            while self.pool:
                handles.close_handle(self.pool.pop())

    def _remap(self, handle: int) -> None:
        capacity = int.from_bytes(os.pread(handle, 4, CAPACITY_AT), "little")
        if not FIRST_CAPACITY <= capacity <= MAX_CAPACITY:
            raise damaged(self.where, f"it claims {capacity} slots")
        if os.fstat(handle).st_size < size_of(capacity):
            raise damaged(self.where, f"it is shorter than its {capacity} slots")
        # Python's map keeps a copy of the descriptor it was made from. Were that a contender's, the copy would keep
        # its locks alive in a forked child; so the map has a description of its own that never locks anything.
        try:  # not by its name: that may be another file by now
            source = handles.open_handle(f"/proc/self/fd/{handle}", os.O_RDWR)
            try:
                made = mmap.mmap(source, size_of(capacity))
            finally:
                handles.close_handle(source)
        except OSError as error:
            raise EngineUnavailable(f"cannot map {self.where}: {error.strerror}") from error
        # The map first: a thread that sees the old capacity with the new map is safe, the reverse is not.
        self.map = made
        view = memoryview(made)
        self.words, self.halves, self.reals = view.cast("Q"), view.cast("I"), view.cast("d")
        self.capacity, self.size = capacity, size_of(capacity)

    def refresh(self, handle: int) -> None:
        """Map the slots that another process has added."""
        if self.halves[CAPACITY_HALF] != self.capacity:
            self._remap(handle)

    def reach(self, handle: int) -> None:
        """The same for one who leaves, and must not fail: those whom it cannot ring look by themselves."""
        with contextlib.suppress(EngineUnavailable):
            self.refresh(handle)

    def _first_of_boot(self, handle: int, boot: bytes) -> None:
        """After a boot nothing but the durable record counts: what was not fsynced may be older or newer."""
        if self.map[BOOT_AT : BOOT_AT + 16] == boot:
            return  # somebody else was faster
        first = max(read_durable(self.map[:SLOTS_AT], self.where)[0], now_ticket())
        self._reserve(handle, first)
        store(self.map, 0, HEAD.pack(MAGIC, first, first ^ ALL, first, first, 0, self.capacity))
        store(self.map, LEADER_AT, LEADER.pack(0, 0))
        self.map[TAKEN_AT:SLOTS_AT] = bytes(SLOTS_AT - TAKEN_AT)
        self.map[BOOT_AT : BOOT_AT + 16] = boot

    def look_around(self, handle: int) -> None:
        """Refuse a file that was damaged while in use; for those who read outside the doorway."""
        self.refuse_truncated(handle)
        if self.map[:8] != MAGIC:
            raise damaged(self.where, f"it begins with {self.map[:8]!r}, expected {MAGIC!r}")
        upcoming, complement = COUNTER.unpack_from(self.map, COUNTER_AT)
        if upcoming ^ complement == ALL:  # else it is being written this moment, or its writer died
            self._refuse_counter(upcoming)
        self.refresh(handle)

    def refuse_truncated(self, handle: int) -> None:
        """To be asked before the map is touched outside the doorway: reading behind the file's end is SIGBUS."""
        size = os.lseek(handle, 0, os.SEEK_END)
        if size < self.size:
            raise damaged(self.where, f"it was truncated to {size} bytes while in use")

    def removed(self, handle: int) -> bool:
        """Whether the file has no name any more."""
        return os.fstat(handle).st_nlink == 0

    def _refuse_counter(self, upcoming: int) -> None:
        """The counter lies in the range that was reserved last; one that does not was written by somebody else."""
        reserved, _ = read_durable(self.map[:SLOTS_AT], self.where)
        if not reserved - RANGE - 2 <= upcoming <= reserved or upcoming >= _HIGHEST:
            raise damaged(self.where, f"its next ticket is {upcoming}, and tickets are reserved up to {reserved}")

    # The doorway. Everything below is called inside it unless it says otherwise.

    def upcoming(self, handle: int) -> int:
        """The next ticket, after checking that the file is sound; the short way, for every turn passes here."""
        facts = fstat(handle)
        if facts[ST_NLINK] and facts[ST_SIZE] >= self.size:
            words = self.words
            upcoming: int = words[NEXT]
            if (
                words[COMPLEMENT] ^ upcoming == ALL
                and upcoming in self.reserved
                and words[BROKEN_WORD] <= upcoming
                and words[0] == MAGIC_WORD
                and self.halves[CAPACITY_HALF] == self.capacity
            ):
                return upcoming
        return self.look(handle)[0]

    def look(self, handle: int) -> tuple[int, int]:
        """The next ticket and the lowest that still counts, after checking that the file is sound; what can be mended
        is mended."""
        facts = os.fstat(handle)
        if facts.st_nlink == 0:
            raise Gone
        if facts.st_size < self.size:
            raise damaged(self.where, f"it was truncated to {facts.st_size} bytes while in use")
        magic, upcoming, complement, broken, _, _, capacity = HEAD.unpack_from(self.map, 0)
        if magic != MAGIC:
            raise damaged(self.where, f"it begins with {magic!r}, expected {MAGIC!r}")
        if upcoming ^ complement != ALL:  # its writer died between two stores
            upcoming = max(read_durable(self.map[:SLOTS_AT], self.where)[0], now_ticket())
            self._reserve(handle, upcoming)
            store(self.map, COUNTER_AT, COUNTER.pack(upcoming, upcoming ^ ALL))
        if broken > upcoming:
            raise damaged(self.where, f"tickets below {broken} are void, and only {upcoming} were drawn")
        if capacity != self.capacity:
            self._remap(handle)
        if upcoming not in self.reserved:
            self._refuse_counter(upcoming)
            self._reserve(handle, upcoming)
        return upcoming, broken

    def _reserve(self, handle: int, upcoming: int) -> None:
        """Make sure, durably, that the next tickets will not be issued again after a power loss."""
        reserved, sequence = read_durable(self.map[:SLOTS_AT], self.where)
        if upcoming + 2 > reserved:
            reserved, sequence = upcoming + RANGE, sequence + 1
            place = DURABLE_AT[(sequence + 1) % 2]  # the older of the two: the newer stays whole
            self.map[place : place + DURABLE.size] = durable(reserved, sequence)
            self.map.flush()
            try:
                os.fsync(handle)
            except OSError as error:
                raise EngineUnavailable(f"cannot make {self.where} durable: {error.strerror}") from error
        self.reserved = range(reserved - RANGE - 2, reserved - 1)

    def free_slot(self, handle: int) -> int:
        """The number of a free slot."""
        place = self.map.find(b"\0", TAKEN_AT, TAKEN_AT + self.capacity)
        if place < 0:
            self._reclaim(handle)
            place = self.map.find(b"\0", TAKEN_AT, TAKEN_AT + self.capacity)
        if place < 0:
            place = self._grow(handle)
        return place - TAKEN_AT

    def _reclaim(self, handle: int) -> None:
        """Free the slots of the dead."""
        for number, slot in self.slots():
            if not self.alive(handle, slot.ticket) and (slot.state != LEAVING or ended(slot)):
                self.map[TAKEN_AT + number] = 0

    def _grow(self, handle: int) -> int:
        place, capacity = TAKEN_AT + self.capacity, min(self.capacity * 2, MAX_CAPACITY)
        if capacity == self.capacity:
            raise EngineUnavailable(f"{capacity} contend for {self.kind} {self.name!r} already, and that is the most")
        try:
            os.posix_fallocate(handle, 0, size_of(capacity))
        except OSError as error:
            raise EngineUnavailable(f"cannot let {self.where} grow: {error.strerror}") from error
        store(self.map, CAPACITY_AT, TAIL.pack(capacity))
        self._remap(handle)
        return place

    # Reading; inside the doorway or outside.

    def slot(self, number: int) -> Slot:
        """A slot, taken or not."""
        return Slot._make(SLOT.unpack_from(self.map, SLOTS_AT + number * SLOT_BYTES))

    def slots(self) -> Iterator[tuple[int, Slot]]:
        """Every taken slot with its number; the dead are among them."""
        taken = self.map[TAKEN_AT : TAKEN_AT + self.capacity]
        number = taken.find(1)
        while number >= 0:
            yield number, self.slot(number)
            number = taken.find(1, number + 1)

    def living(self, handle: int) -> list[tuple[int, Slot]]:
        """Every slot whose owner is alive, in the order of the tickets. `handle` must hold none of them."""
        return sorted(
            ((number, slot) for number, slot in self.slots() if slot.ticket and self.alive(handle, slot.ticket)),
            key=lambda pair: pair[1].ticket,
        )

    def alive(self, handle: int, ticket: int) -> bool:
        """Whether the byte of the ticket is locked by another description."""
        return self.conflict(handle, ticket, ticket + 1, fcntl.F_WRLCK) == ticket

    @staticmethod
    def conflict(handle: int, low: int, high: int, mode: int) -> int | None:
        """Some ticket that is alive and stands in the way of `mode` from `low` up to `high`. Who was alone when it came
        has locked all bytes up to its own; a lock is that of the ticket at its end."""
        if low >= high:
            return None
        raw = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, pack_flock(mode, os.SEEK_SET, low, high - low, 0))
        if raw[0] == fcntl.F_UNLCK:
            return None
        _, _, start, length, _ = FLOCK.unpack(raw)
        found: int = start + length - 1
        return found

    def highest_below(self, handle: int, low: int, ticket: int) -> int | None:
        """The nearest living ticket before this one: look close by first, then twice as far each time."""
        high, reach = ticket, 1
        while high > low:
            start = max(low, high - reach)
            found = self.conflict(handle, start, high, fcntl.F_WRLCK)
            while found is not None:
                nearer = self.conflict(handle, found + 1, high, fcntl.F_WRLCK)
                if nearer is None:
                    return found
                found = nearer
            high, reach = start, reach * 2
        return None

    def broken_below(self) -> int:
        """Tickets below this one are void."""
        broken: int = self.words[BROKEN_WORD]
        return broken

    def limit(self) -> int:
        """How many may be inside at once."""
        return int.from_bytes(self.map[LIMIT_AT : LIMIT_AT + 4], "little") or 1

    def find(self, ticket: int) -> int | None:
        """The number of the slot of a ticket."""
        return next((number for number, slot in self.slots() if slot.ticket == ticket), None)


def ended(slot: Slot) -> bool:
    """Whether the process of a slot is gone, as far as we can see; what it has started may keep its byte locked."""
    if slot.namespace != NAMESPACE:
        return False
    try:
        os.kill(slot.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
