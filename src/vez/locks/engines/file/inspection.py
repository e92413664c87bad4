"""Inspection of a directory without taking part: holders and queue of a name, and all names."""

from __future__ import annotations

import os
import stat
import struct
from fcntl import F_WRLCK
from typing import TYPE_CHECKING

from vez.errors import EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import Kind
from vez.locks.engines.file import breaking
from vez.locks.engines.file.byte_locks import HIGHEST, conflict
from vez.locks.engines.file.layout import (
    ALL,
    COUNTER,
    COUNTER_AT,
    HELD,
    LEAVING,
    LIMIT_AT,
    MEAN,
    MEAN_AT,
    REVOKED_AT,
    TAKEN_AT,
    WAITING,
    WAITS,
    identity_in,
    in_order,
    verify,
)
from vez.locks.engines.file.leadership import leader_now, leads
from vez.locks.engines.file.mapped_file import MEMO, file_name
from vez.locks.engines.file.quoting import unquoted
from vez.locks.engines.file.slots import contestant

if TYPE_CHECKING:
    from vez.locks.engines.base import Break, Inspection
    from vez.locks.engines.file.core import FileCore


def inspect(engine: FileCore, name: str, kind: Kind) -> Inspection:
    """Holders, queue and forced releases of a name."""
    from vez.locks.engines.base import Inspection

    if not engine.exists(kind, name):
        return Inspection(name, kind, 1, (), (), 0, breaks=_breaks(engine, name, kind))
    if (idle := _idle(engine, name, kind)) is not None:
        return idle
    file, handle = engine.opened(kind, name)
    try:
        file.refuse_damaged(handle)
        living = [slot for _, slot in file.living(handle) if slot.state != LEAVING]
        upcoming = COUNTER.unpack_from(file.map, COUNTER_AT)[0]
        mean = MEAN.unpack_from(file.map, MEAN_AT)[0]
        limit = file.limit()
        revoked = WAITS.unpack_from(file.map, REVOKED_AT)[0]
        leader, term = leader_now(file, handle) if kind == "election" else (0, 0)
    finally:
        file.give_back(handle)
    if kind == "election":
        inside = [contestant(slot, lost=term < revoked, term=term) for slot in living if leads(slot, leader)]
    else:
        inside = [contestant(slot, lost=slot.ticket < revoked) for slot in living if slot.state == HELD]
    waiting = [slot for slot in living if slot.state == WAITING and (kind != "election" or slot.ticket != leader)]
    if kind == "election":
        waiting.sort(key=lambda slot: (-slot.weight, slot.ticket))
    return Inspection(
        name=name,
        kind=kind,
        limit=limit,
        holders=tuple(inside),
        queue=tuple(map(contestant, waiting)),
        last_token=upcoming - 1,
        mean_hold_seconds=mean or None,
        breaks=_breaks(engine, name, kind),
    )


def idle_page(engine: FileCore, name: str, kind: Kind) -> bytes | None:
    """The first page of the file of an idle name, read without mapping the file, because there may be thousands of idle
    names. None if the name is in use, or if something is wrong: a request that opens it reports what."""
    entry = file_name(kind, name)
    try:
        handle = handles.open_handle(entry, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, directory=engine.directory)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or conflict(handle, 0, HIGHEST, F_WRLCK) is not None:
            return None
        page = verify(handle, kind, name, os.path.join(engine.path, entry))
    finally:
        handles.close_handle(handle)
    upcoming, complement = COUNTER.unpack_from(page, COUNTER_AT)
    return page if upcoming ^ complement == ALL and in_order(page, entry) else None


def _idle(engine: FileCore, name: str, kind: Kind) -> Inspection | None:
    """The inspection of an idle name; None if the name is in use."""
    page = idle_page(engine, name, kind)
    if page is None:
        return None
    from vez.locks.engines.base import Inspection

    return Inspection(
        name=name,
        kind=kind,
        limit=int.from_bytes(page[LIMIT_AT : LIMIT_AT + 4], "little") or 1,
        holders=(),
        queue=(),
        last_token=COUNTER.unpack_from(page, COUNTER_AT)[0] - 1,
        mean_hold_seconds=MEAN.unpack_from(page, MEAN_AT)[0] or None,
        breaks=_breaks(engine, name, kind),
    )


def _breaks(engine: FileCore, name: str, kind: Kind) -> tuple[Break, ...]:
    return tuple(record for record in breaking.records(engine) if (record.name, record.kind) == (name, kind))


def names(engine: FileCore, prefix: str, kind: Kind) -> list[str]:
    """All names of a kind that begin with the prefix, sorted."""
    try:
        entries = os.listdir(engine.directory)
    except OSError as error:
        raise EngineUnavailable(f"cannot read {engine.path}: {error.strerror}") from error
    found = set()
    for entry in entries:
        start, _, rest = entry.removeprefix(MEMO).partition(".")
        if start == kind and entry.isascii():  # the engine quotes all others
            found.add(unquoted(rest) if "~" not in rest else _full_name(engine.directory, entry))
    return sorted(name for name in found if name.startswith(prefix))


def _full_name(directory: int, entry: str) -> str:
    """The name inside a file whose own name was cut."""
    if entry.startswith(MEMO):
        from vez.locks.engines.file.memos import name_in  # here: few names are so long

        return name_in(directory, entry) or unquoted(entry.removeprefix(MEMO).partition(".")[2])
    try:
        handle = handles.open_handle(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, directory=directory)
    except OSError:
        return unquoted(entry.partition(".")[2])  # a request that opens it reports what is wrong
    try:
        return identity_in(os.pread(handle, TAKEN_AT, 0))
    except (OSError, struct.error):
        return unquoted(entry.partition(".")[2])
    finally:
        handles.close_handle(handle)
