"""Layout: the bytes of the file of one name.

    0     magic, next ticket (and its complement), what was broken, the tail of the queue       changes all the time
    80    boot identifier
    96    two durable records, written in turn: tickets below `reserved` may have been issued   fsynced
    144   the sequence of the newest record that is known to be on disk                         not after a boot
    256   kind and name, with a checksum                                                        never changes
    1024  one byte a slot: 1 when taken
    4096  slots of 128 bytes: who holds, who waits

Only the durable records must survive a power loss. Everything else is about live processes, or can be derived: a next
ticket that cannot be trusted is replaced by `reserved`, which is above everything that was ever issued.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from functools import lru_cache
from mmap import mmap

from vez.errors import CorruptState, EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import MAX_LABEL

BOOT_ID, _BOOT_BYTES = "/proc/sys/kernel/random/boot_id", 16
MAGIC = b"VEZTURN1"
ALL = 0xFFFF_FFFF_FFFF_FFFF

HEAD = struct.Struct("<8sQQQQII")  # magic, next, ~next, broken_below, revoked_below, tail slot + 1, capacity
COUNTER = struct.Struct("<QQ")
COUNTER_AT = 8
BROKEN = struct.Struct("<Q")
BROKEN_AT, REVOKED_AT = 24, 32
TAIL = struct.Struct("<I")
TAIL_AT, CAPACITY_AT = 40, 44
MEAN = struct.Struct("<d")
MEAN_AT = 48
LEADER = struct.Struct("<QQ")  # the ticket of the leading candidate, and the term
LEADER_AT = 56
LIMIT_AT = 72
BOOT_AT = 80
DURABLE = struct.Struct("<QQI4x")  # reserved, sequence, checksum
DURABLE_AT = (96, 120)
ON_DISK_AT = 144
IDENTITY = struct.Struct("<8sH")  # kind, length of the name
IDENTITY_AT = 256
TAKEN_AT = 1024
SLOTS_AT = 4096

SLOT_FRONT, SLOT_REST = struct.Struct("<QQdd8sQ"), struct.Struct("<IIIIiBBH48s")
"""The two halves of a slot: what is new with every ticket, and what most tickets of a process have in common."""
SLOT = struct.Struct(SLOT_FRONT.format + SLOT_REST.format.removeprefix("<"))
"""ticket, owner, since, granted, bell, waits, pid, pid namespace, successor slot + 1, grace in ms, weight, state,
shared, network namespace, label"""
SLOT_BYTES = 128
SUCCESSOR_IN_SLOT = 56
BELL_IN_SLOT = 32
WAITS_IN_SLOT = 40
WAITS = struct.Struct("<Q")
GRANTED_IN_SLOT = 24
STATE_IN_SLOT = 68
LABEL_BYTES = MAX_LABEL

FREE, WAITING, HELD, LEAVING, OBSERVING = 0, 1, 2, 3, 4

FIRST_CAPACITY = 32
MAX_CAPACITY = SLOTS_AT - TAKEN_AT
RANGE = 1 << 20
"""Number of tickets reserved with one fsync, enough for some seconds of the fastest use. A reboot skips at most this
many."""
EPOCH = 1_735_689_600
"""2025-01-01. A new file starts at the number of microseconds since then. This is above any ticket that a lost file of
the same name can have issued, because no machine issues a million tickets a second. The clock matters only where files
get lost, as in a temporary directory that is emptied at boot."""


NAMESPACE = os.stat("/proc/self/ns/pid").st_ino & 0xFFFFFFFF if os.path.exists("/proc/self/ns/pid") else 0
"""The namespace of our process numbers: processes of another container cannot be watched."""
NETWORK = os.stat("/proc/self/ns/net").st_ino & 0xFFFF if os.path.exists("/proc/self/ns/net") else 0
"""The namespace of our sockets: processes of another one cannot ring us. A slot has room for 16 bits of its number."""


def store(shared: mmap, at: int, packed: bytes) -> None:
    """Write bytes into the map that others may be reading. `pack_into` is not used, because it first fills the place
    with zeros that a process on another core can see. A copy of eight bytes is one store."""
    shared[at : at + len(packed)] = packed


# Indices into views of the same map as numbers of eight and of four bytes. Each number is read and written atomically.
NEXT, COMPLEMENT, BROKEN_WORD, REVOKED_WORD = 1, 2, 3, 4
MEAN_REAL = MEAN_AT // 8
ON_DISK_WORD = ON_DISK_AT // 8
TAIL_HALF, CAPACITY_HALF = TAIL_AT // 4, CAPACITY_AT // 4
SLOT_WORDS, SLOT_HALVES = SLOT_BYTES // 8, SLOT_BYTES // 4
FIRST_WORD, FIRST_HALF = SLOTS_AT // 8, SLOTS_AT // 4
GRANTED_WORD, WAITS_WORD = GRANTED_IN_SLOT // 8, WAITS_IN_SLOT // 8
PID_HALF, NAMESPACE_HALF, SUCCESSOR_HALF, NETWORK_HALF = 12, 13, SUCCESSOR_IN_SLOT // 4, 17  # in its upper 16 bits


def size_of(capacity: int) -> int:
    """Size in bytes of a file with `capacity` slots."""
    return SLOTS_AT + capacity * SLOT_BYTES


def now_ticket() -> int:
    """The first ticket of a new file."""
    return max(1, int((time.time() - EPOCH) * 1_000_000))


@lru_cache(maxsize=1)
def boot_id() -> bytes:
    """Identifier of the current boot of this machine."""
    try:
        with open(BOOT_ID, encoding="utf-8") as file:
            text = file.read().strip().replace("-", "")
        found = bytes.fromhex(text)
        if len(found) != _BOOT_BYTES:
            raise ValueError(f"expected {_BOOT_BYTES} bytes in hexadecimal, found {text[:64]!r}")
        return found
    except (OSError, ValueError) as error:  # in a container the file may have any content
        raise EngineUnavailable(
            f"cannot read the identifier of this boot in {BOOT_ID}: {error}",
            hint=(isinstance(error, OSError) and handles.hint_for(error))
            or "mount /proc in this container, or put an identifier of its own there",
        ) from error


def identity(kind: str, name: str) -> bytes:
    """The constant part of the file: kind and name, with a checksum."""
    raw = name.encode()
    body = IDENTITY.pack(kind.encode(), len(raw)) + raw
    return body + struct.pack("<I", zlib.crc32(MAGIC + body))


def durable(reserved: int, sequence: int) -> bytes:
    """A durable record with its checksum."""
    body = struct.pack("<QQ", reserved, sequence)
    return body + struct.pack("<I4x", zlib.crc32(body))


def identity_in(page: bytes) -> str:
    """The name in a file's first page. Raises `struct.error` if the page is too short."""
    _, length = IDENTITY.unpack_from(page, IDENTITY_AT)
    start = IDENTITY_AT + IDENTITY.size
    return page[start : start + length].decode(errors="replace")


def newborn(kind: str, name: str, mark: int) -> bytes:
    """The first bytes of a new file, whose tickets start at the mark or at the clock, whichever is higher."""
    first = max(now_ticket(), mark)
    page = bytearray(SLOTS_AT)
    HEAD.pack_into(page, 0, MAGIC, first, first ^ ALL, first, first, 0, FIRST_CAPACITY)
    page[BOOT_AT : BOOT_AT + 16] = boot_id()
    for place, sequence in zip(DURABLE_AT, (1, 0), strict=True):
        page[place : place + DURABLE.size] = durable(first + RANGE, sequence)
    page[ON_DISK_AT : ON_DISK_AT + 8] = BROKEN.pack(1)  # it is fsynced before it gets its name
    whole = identity(kind, name)
    page[IDENTITY_AT : IDENTITY_AT + len(whole)] = whole
    return bytes(page) + bytes(FIRST_CAPACITY * SLOT_BYTES)


def read_durable(page: bytes, where: str) -> tuple[int, int]:
    """`reserved` and the sequence of the newest record whose checksum is right."""
    best: tuple[int, int] | None = None
    for place in DURABLE_AT:
        reserved, sequence, checksum = DURABLE.unpack_from(page, place)
        if checksum == zlib.crc32(page[place : place + 16]) and (best is None or sequence > best[1]):
            best = (reserved, sequence)
    if best is None:
        raise damaged(where, "both durable records fail their checksums")
    return best


def verify(descriptor: int, kind: str, name: str, where: str) -> bytes:
    """The first page. Raises `CorruptState` if the file is damaged. The page is read, not mapped, because touching a
    truncated map raises SIGBUS."""
    page = os.pread(descriptor, SLOTS_AT, 0)
    if len(page) < SLOTS_AT:
        raise damaged(where, f"it has {len(page)} bytes, expected {size_of(FIRST_CAPACITY)} or more")
    magic, *_, capacity = HEAD.unpack_from(page, 0)
    if magic != MAGIC:
        raise damaged(where, f"it begins with {magic!r}, expected {MAGIC!r}")
    expected = identity(kind, name)
    if page[IDENTITY_AT : IDENTITY_AT + len(expected)] != expected:
        raise damaged(where, f"it is not the file of {kind} {name!r}, or its checksum is wrong")
    size = os.fstat(descriptor).st_size
    if not FIRST_CAPACITY <= capacity <= MAX_CAPACITY or size < size_of(capacity):
        raise damaged(where, f"it has {size} bytes and claims {capacity} slots")
    read_durable(page, where)
    return page


def in_order(page: bytes, where: str) -> bool:
    """True if a request would accept the numbers in a first page that nobody writes at this moment. A counter whose
    writer died is accepted, because it is repaired."""
    _, upcoming, complement, broken, revoked, tail, capacity = HEAD.unpack_from(page, 0)
    reserved, _ = read_durable(page, where)
    if upcoming ^ complement == ALL and not revoked <= upcoming in range(reserved - RANGE - 2, reserved + 1):
        return False
    return bool(broken <= revoked and tail <= capacity)


def damaged(where: str, what: str) -> CorruptState:
    """The error for a file that must not be used."""
    return CorruptState(
        f"{where} is damaged: {what}",
        hint="stop all users of this name, then remove the file; tokens go on from the clock",
    )
