"""Byte locks: open-file-description locks of fcntl(2), asked for by ticket number.

A ticket is alive while its byte is locked. A request that came when nobody was alive locks all bytes up to its own,
so a lock belongs to the ticket at its end.
"""

from __future__ import annotations

import struct
from fcntl import F_OFD_GETLK, F_UNLCK, F_WRLCK, fcntl
from os import SEEK_SET

FLOCK = struct.Struct("hhqqi0q")  # struct flock of 64-bit Linux
pack_flock = FLOCK.pack
HIGHEST = 1 << 62
"""Upper bound of tickets: byte locks are addressed by signed numbers of 64 bits."""
UNLOCK_ALL = FLOCK.pack(F_UNLCK, SEEK_SET, 0, 0, 0)


def conflict(handle: int, low: int, high: int, mode: int) -> int | None:
    """A living ticket from `low` up to, not including, `high` whose lock excludes `mode`; None if there is none."""
    if low >= high:
        return None
    raw = fcntl(handle, F_OFD_GETLK, pack_flock(mode, SEEK_SET, low, high - low, 0))
    if raw[0] == F_UNLCK:
        return None
    _, _, start, length, _ = FLOCK.unpack(raw)
    found: int = start + length - 1
    return found


def alive(handle: int, ticket: int) -> bool:
    """True if another open file description has locked the byte of this ticket."""
    return ticket < HIGHEST and conflict(handle, ticket, ticket + 1, F_WRLCK) == ticket


def highest_below(handle: int, low: int, ticket: int) -> int | None:
    """The nearest living ticket before this one; None if there is none. Searches a short range first, then doubles
    it."""
    high, reach = ticket, 1
    while high > low:
        start = max(low, high - reach)
        found = conflict(handle, start, high, F_WRLCK)
        while found is not None:
            nearer = conflict(handle, found + 1, high, F_WRLCK)
            if nearer is None:
                return found
            found = nearer
        high, reach = start, reach * 2
    return None
