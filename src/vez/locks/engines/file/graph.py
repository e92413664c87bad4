"""The wait-for graph of a directory, across processes: the holders of a name, and the name for which each holder waits.

An owner that holds a name and waits for another writes the awaited name, as a number of eight bytes, into the slots of
all its holdings. If the awaited name is in another directory, the owner also notes that directory in this one, by
device and inode: a container may see it at another path, and may see another directory at that path. Both happen under
one lock of the directory, so of two owners that close a cycle together exactly one is refused. Slots of dead tickets do
not count, so a crash needs no clean-up.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from vez.errors import EngineUnavailable, VezError
from vez.locks.engines import handles
from vez.locks.engines.cycles import Holder, Holders, Target
from vez.locks.engines.file.doorway import enter
from vez.locks.engines.file.layout import HELD, NAMESPACE
from vez.locks.engines.file.mapped_file import file_name
from vez.locks.engines.file.mark import file_mode
from vez.locks.engines.file.place import place_of
from vez.locks.engines.file.slots import Slot
from vez.locks.engines.owners import all_holdings

if TYPE_CHECKING:
    from vez.locks.engines.file.core import FileCore
    from vez.locks.engines.owners import Claim

_LOCK = ".deadlocks"
_MOST_BYTES = 1 << 20
"""Largest size of the file of notes about other directories; a larger one is started again."""


class Elsewhere(msgspec.Struct, frozen=True):
    """A name of another directory for which an owner in this directory waits."""

    key: int
    place: tuple[int, int]
    """Device and inode of the directory."""
    url: str
    """The URL of the directory as the waiter wrote it."""
    kind: str
    name: str


def key_of(kind: str, name: str, place: str = "") -> int:
    """A name, with the place of its directory if that is another one, as eight bytes of a slot."""
    text = f"{file_name(kind, name)}{chr(0) + place if place else ''}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") | 1


class Graph:
    """The waits of one directory."""

    def __init__(self, engine: FileCore) -> None:
        self.engine = engine
        self._names: dict[int, tuple[str, str]] = {}
        self._others: dict[tuple[int, int], FileCore] = {}  # directories that others wait for, by device and inode

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Exclude the searches of other processes. Raises `BlockingIOError` if one is under way, or was suspended."""
        handle = self._open()
        try:
            enter(handle, 0)
            yield
        finally:
            handles.close_handle(handle)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND
        try:
            handle = handles.open_handle(_LOCK, flags, directory=self.engine.directory)
            with contextlib.suppress(PermissionError):  # another user of the group has made it
                os.fchmod(handle, file_mode(self.engine.directory))  # whatever the umask says
            return handle
        except OSError as error:
            where = os.path.join(self.engine.path, _LOCK)
            hint = handles.hint_for(error) or "remove it"
            raise EngineUnavailable(f"cannot open {where}: {error.strerror}", hint=hint) from error

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        """The holders of a name of this directory, and the name for which each waits."""
        file, handle = self.engine.opened(target.kind, target.name)
        try:
            file.refuse_damaged(handle)
            low = file.broken_below()
            held = [slot for _, slot in file.living(handle) if slot.state == HELD and slot.ticket >= low]
            limit = file.limit() if target.kind == "semaphore" else None
        finally:
            file.give_back(handle)
        known = {holding.ring_number(): holding for holding in here}  # type: ignore[attr-defined]  # they are tickets
        return Holders(target, [self._holder(slot, known, mine) for slot in held], limit)

    def _holder(self, slot: Slot, known: dict[int, Claim], mine: set[int]) -> Holder:
        who = f"process {slot.pid}"
        holding = known.get(slot.ticket) if (slot.pid, slot.namespace) == (handles.pid, NAMESPACE) else None
        if holding is not None:
            return Holder(who, holding.waits, id(holding) in mine)
        return Holder(who, self._target(slot.waits) if slot.waits else None, mine=False)

    def key_of(self, target: Target) -> int:
        """The number that a slot contains for a wait for this name; 0 if other processes cannot hold it. Call inside
        `searching`."""
        if target.engine.identity == self.engine.identity:
            return key_of(target.kind, target.name)
        if not isinstance(target.engine, type(self.engine)):
            return 0
        place, url = target.engine.identity, target.engine.url
        note = Elsewhere(key_of(target.kind, target.name, f"{place} {url}"), place, url, target.kind, target.name)
        if note not in self._notes():
            self._write(note)
        return note.key

    def _target(self, key: int) -> Target | None:
        """The name with this key; None if it is unknown."""
        if key not in self._names:
            for kind in ("lock", "semaphore", "election"):
                self._names |= {key_of(kind, name): (kind, name) for name in self.engine.names(kind=kind)}
        if (found := self._names.get(key)) is not None:
            return Target(self.engine, *found)
        note = next((note for note in self._notes() if note.key == key), None)
        if note is None or (engine := self._other(note)) is None:
            return None
        return Target(engine, note.kind, note.name)

    def _other(self, note: Elsewhere) -> FileCore | None:
        """An engine of another directory; None if we cannot use it."""
        for engine, _ in all_holdings():
            if isinstance(engine, type(self.engine)) and engine.identity == note.place:
                return engine  # at whatever path; only our own holdings can close a cycle through us
        try:
            place = place_of(note.url)
            facts = os.lstat(place.where)
            if (facts.st_dev, facts.st_ino) != note.place:
                return None
            if note.place not in self._others:
                self._others[note.place] = type(self.engine)(place)
        except (VezError, OSError):
            return None
        return self._others[note.place]

    def _notes(self) -> list[Elsewhere]:
        handle = self._open()
        try:
            raw = os.pread(handle, _MOST_BYTES, 0)
        finally:
            handles.close_handle(handle)
        found = []
        for line in raw.splitlines():
            with contextlib.suppress(msgspec.MsgspecError):  # a line that a crash cut short
                found.append(msgspec.json.decode(line, type=Elsewhere))
        return found

    def _write(self, note: Elsewhere) -> None:
        handle = self._open()
        try:
            line = b"\n" + msgspec.json.encode(note) + b"\n"
            if os.fstat(handle).st_size + len(line) > _MOST_BYTES:
                os.ftruncate(handle, 0)
            os.write(handle, line)
        except OSError as error:
            where = os.path.join(self.engine.path, _LOCK)
            raise EngineUnavailable(f"cannot write {where}: {error.strerror}", hint="make room on the disk") from error
        finally:
            handles.close_handle(handle)

    def close(self) -> None:
        """Close the engines of other directories."""
        while self._others:
            self._others.popitem()[1].close()
