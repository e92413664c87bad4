"""Forced release: recorded first, then told to the holder, and only then are others granted.

No process can unlock the byte of another, so a break declares all tickets up to that of the newest holder void. Holders
read `revoked`, waiters read `broken`. Between the two writes the holder has the grace that it asked for, for example to
end a child process.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from itertools import takewhile
from typing import TYPE_CHECKING

from vez.errors import EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import MAX_GRACE_MS, Kind
from vez.locks.engines.file.byte_locks import alive
from vez.locks.engines.file.directory import RECORDS
from vez.locks.engines.file.doorway import doorway
from vez.locks.engines.file.layout import (
    BROKEN,
    BROKEN_AT,
    HELD,
    LEADER,
    LEADER_AT,
    OBSERVING,
    REVOKED_AT,
    WAITING,
    damaged,
    store,
)
from vez.locks.engines.file.leadership import depose, leads
from vez.locks.engines.file.mapped_file import Gone
from vez.locks.engines.file.mark import file_mode
from vez.locks.engines.file.slots import Slot
from vez.locks.engines.file.ticket_file import TicketFile
from vez.locks.engines.local.core import give_grace
from vez.locks.engines.machine import host_name

if TYPE_CHECKING:
    from vez.locks.engines.base import Break
    from vez.locks.engines.file.core import FileCore

_MAX_BYTES = 1 << 20


def break_lock(engine: FileCore, name: str, reason: str, kind: Kind) -> Break | None:
    """Take a name from its holders. Returns the record, or None if nobody holds the name."""
    if not engine.exists(kind, name):
        return None
    file, handle = engine.opened(kind, name)
    try:
        try:
            holders, record = _revoke(engine, file, handle, reason, kind)
        except Gone:
            return None  # nobody can hold a name whose file was removed
        if record is None:
            return None
        for slot in holders:
            engine.ringer.ring(slot.bell, slot.ticket)
        _wait_for(file, handle, holders)
        if kind == "election":
            depose(file, handle, record.tokens[0], engine.ringer)
        else:
            _void(file, handle, max(slot.ticket for slot in holders) + 1)
        for _, slot in file.slots():
            if slot.state in (WAITING, OBSERVING):
                engine.ringer.ring(slot.bell, slot.ticket)
        return record
    finally:
        file.give_back(handle)


def _tokens(file: TicketFile, kind: Kind, holders: list[Slot]) -> tuple[int, ...]:
    return (LEADER.unpack_from(file.map, LEADER_AT)[1],) if kind == "election" else tuple(s.ticket for s in holders)


def _revoke(
    engine: FileCore, file: TicketFile, handle: int, reason: str, kind: Kind
) -> tuple[list[Slot], Break | None]:
    """Record the break, then tell the holders: from now on their `check` raises. A break without a record must not
    exist, hence the order."""
    with doorway(handle, file.where):
        _, broken = file.look(handle)
        living = [s for _, s in file.living(handle) if s.ticket >= broken]
        leader = LEADER.unpack_from(file.map, LEADER_AT)[0]
        holders = [s for s in living if leads(s, leader)] if kind == "election" else _entitled(living, file.limit())
        if not holders:
            return [], None
        if (grace := max(slot.grace_ms for slot in holders)) > MAX_GRACE_MS:  # else we would wait for weeks
            raise damaged(
                file.where, f"a holder has a grace of {grace} ms, and at most {MAX_GRACE_MS} can be asked for"
            )
        from vez.locks.engines.base import Break

        record = Break(
            name=file.name, kind=kind, tokens=_tokens(file, kind, holders), reason=reason, at=time.time(),
            by_pid=handles.pid, by_host=host_name(),
        )  # fmt: skip
        _write(engine, record)
        revoked = BROKEN.unpack_from(file.map, REVOKED_AT)[0]
        store(file.map, REVOKED_AT, BROKEN.pack(max(revoked, *(token + 1 for token in record.tokens))))
        return holders, record


def _entitled(living: list[Slot], limit: int) -> list[Slot]:
    """The holders, and the waiters before the newest of them: their turn has come too, but they have not noticed it.
    They lose it with the holder, so the record must name them. Without a holder, the waiters whose turn has come: if
    such a waiter is paused, it blocks all others as a holder does."""
    inside = [slot.ticket for slot in living if slot.state == HELD]
    waiting = [slot for slot in living if slot.state == WAITING]
    if inside or not waiting:
        return [slot for slot in living if slot.state in (HELD, WAITING) and slot.ticket <= max(inside, default=0)]
    if not waiting[0].shared:
        return waiting[:limit]
    return list(takewhile(lambda slot: slot.shared, waiting))


def _wait_for(file: TicketFile, handle: int, holders: list[Slot]) -> None:
    """Wait for the grace of the holders. If `vez run` was killed, its keeper needs the grace to end the command."""
    grace = max(slot.grace_ms for slot in holders)
    give_grace(grace, lambda: not any(alive(handle, slot.ticket) for slot in holders))


def _void(file: TicketFile, handle: int, below: int) -> None:
    """Declare the tickets below `below` void: from now on others are granted."""
    with doorway(handle, file.where):
        _, broken = file.look(handle)
        store(file.map, BROKEN_AT, BROKEN.pack(max(broken, below)))


def _write(engine: FileCore, record: Break) -> None:
    try:
        _append(engine, record)
    except OSError as error:
        raise EngineUnavailable(
            f"cannot write {os.path.join(engine.path, RECORDS)}: {error.strerror}; nothing was broken",
            hint="a break must be recorded: make room on the disk, or remove what is in the file's place",
        ) from error


def _refuse_irregular(handle: int) -> None:
    """Raise `OSError` if the file is not a regular one: opening a pipe in its place would block."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def _open_records(engine: FileCore, flags: int) -> int:
    handle = handles.open_handle(RECORDS, flags, directory=engine.directory)
    if os.fstat(handle).st_uid == os.geteuid():
        os.fchmod(handle, file_mode(engine.directory))  # whatever the umask says
    return handle


def _append(engine: FileCore, record: Break) -> None:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = _open_records(engine, flags)
    try:
        _refuse_irregular(handle)
        size = os.fstat(handle).st_size
        if size > _MAX_BYTES:
            os.rename(RECORDS, RECORDS + ".old", src_dir_fd=engine.directory, dst_dir_fd=engine.directory)
            handles.close_handle(handle)
            handle = _open_records(engine, flags)
            size = 0
        import msgspec

        line = msgspec.json.encode(record) + b"\n"
        if size and os.pread(handle, 1, size - 1) != b"\n":  # a line that was cut short must not spoil this one
            line = b"\n" + line
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, "it was written in part only")
        os.fsync(handle)
    finally:
        handles.close_handle(handle)


def records(engine: FileCore) -> list[Break]:
    """All recorded forced releases, the oldest first; a line that a crash cut short is skipped."""
    return [record for name in (RECORDS + ".old", RECORDS) for record in _read(engine, name)]


def _read(engine: FileCore, name: str) -> list[Break]:
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = handles.open_handle(name, flags, directory=engine.directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise EngineUnavailable(
            f"cannot read {os.path.join(engine.path, name)}: {error.strerror}",
            hint=handles.hint_for(error) or "remove what is in its place",
        ) from error
    try:
        _refuse_irregular(handle)
        raw = os.read(handle, 2 * _MAX_BYTES)
    except OSError as error:
        raise EngineUnavailable(f"cannot read {os.path.join(engine.path, name)}: {error.strerror}") from error
    finally:
        handles.close_handle(handle)
    if not raw:
        return []
    import msgspec

    from vez.locks.engines.base import Break

    found = []
    for line in raw.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=Break))
        except msgspec.MsgspecError:
            continue
    return found
