"""What can be read from a directory without taking part: holders and queue of a name, and all names."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING
from urllib.parse import unquote

from vez.engines import handles
from vez.engines.base import Inspection, Kind
from vez.engines.file import breaking
from vez.engines.file.layout import (
    COUNTER,
    COUNTER_AT,
    HELD,
    IDENTITY,
    IDENTITY_AT,
    LEAVING,
    MEAN,
    MEAN_AT,
    REVOKED_AT,
    WAITING,
    WAITS,
)
from vez.engines.file.leadership import leader_now, leads
from vez.engines.file.slots import contestant
from vez.errors import EngineUnavailable

if TYPE_CHECKING:
    from vez.engines.file.engine import FileEngine


def inspect(engine: FileEngine, name: str, kind: Kind) -> Inspection:
    """Holders, queue and forced releases of a name."""
    if not engine.exists(kind, name):
        return Inspection(name, kind, 1, (), (), 0)
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
    return Inspection(
        name=name,
        kind=kind,
        limit=limit,
        holders=tuple(inside),
        queue=tuple(map(contestant, waiting)),
        last_token=upcoming - 1,
        mean_hold_seconds=mean or None,
        breaks=tuple(record for record in breaking.records(engine) if (record.name, record.kind) == (name, kind)),
    )


def names(engine: FileEngine, prefix: str, kind: Kind) -> list[str]:
    """All names of a kind that begin with the prefix, sorted."""
    try:
        entries = os.listdir(engine.directory)
    except OSError as error:
        raise EngineUnavailable(f"cannot read {engine.path}: {error.strerror}") from error
    found = []
    for entry in entries:
        start, _, rest = entry.partition(".")
        if start == kind and entry.isascii():  # the engine writes no other names
            found.append(unquote(rest) if "~" not in rest else _full_name(engine.directory, entry))
    return sorted(name for name in found if name.startswith(prefix))


def _full_name(directory: int, entry: str) -> str:
    """The name inside a file whose own name was cut."""
    try:
        handle = handles.open_handle(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, directory=directory)
    except OSError:
        return unquote(entry.partition(".")[2])  # whoever opens it is told what is wrong
    try:
        raw = os.pread(handle, 1024, IDENTITY_AT)
        _, length = IDENTITY.unpack_from(raw, 0)
        return raw[IDENTITY.size : IDENTITY.size + length].decode(errors="replace")
    except (OSError, struct.error):
        return unquote(entry.partition(".")[2])
    finally:
        handles.close_handle(handle)
