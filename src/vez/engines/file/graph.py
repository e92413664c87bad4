"""Deadlocks among several locks: the wait-for graph, read from the slots of all names of a directory.

Only an owner that holds something can close a cycle by waiting. Before it waits it writes the name for which it waits
into the slots of everything that it holds. Then it checks whether the holders of that name wait, over any number of
steps, for something of its own. Both happen under one lock of the directory, so of two that close a cycle together
exactly one is refused. Slots of dead tickets do not count, so a crash needs no clean-up.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from vez.engines import handles
from vez.engines.file.doorway import enter
from vez.engines.file.layout import HELD, NAMESPACE
from vez.engines.file.mapped_file import file_name
from vez.engines.file.slots import Slot
from vez.engines.file.ticket_file import TicketFile
from vez.engines.stuck import Stuck, combined
from vez.errors import Deadlock, EngineUnavailable

if TYPE_CHECKING:
    from vez.engines.file.engine import FileEngine
    from vez.engines.file.holding import FileHolding
    from vez.engines.file.ticket import Ticket
    from vez.engines.owners import Owner

_LOCK = ".deadlocks"
_DEEPEST = 64
"""Longest chain of waits that is followed."""


def key_of(kind: str, name: str) -> int:
    """A name as eight bytes of a slot."""
    return int.from_bytes(hashlib.sha256(file_name(kind, name).encode()).digest()[:8], "little") | 1


class Graph:
    """The wait-for graph of one directory."""

    def __init__(self, engine: FileEngine) -> None:
        self.engine = engine
        self._names: dict[int, tuple[str, str]] = {}

    def refuse_cycle(self, waiting: Ticket, owner: Owner, held: list[FileHolding]) -> bool:
        """Raise `Deadlock` if this wait would close a cycle; else write it down for others. False if another process is
        checking, or was stopped while checking: ask again."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        try:
            handle = handles.open_handle(_LOCK, flags, directory=self.engine.directory)
        except OSError as error:
            where = self.engine.path / _LOCK
            raise EngineUnavailable(f"cannot open {where}: {error.strerror}", hint="remove it") from error
        try:
            enter(handle, 0)
            file = waiting.file
            stuck = self._stuck(file.kind, file.name, owner, frozenset(), (file, waiting.handle))
            if stuck is None or not stuck.closes:
                for holding in held:
                    holding.waits_for(key_of(file.kind, file.name))
                return True
        except BlockingIOError:
            return False
        finally:
            handles.close_handle(handle)
        names = " and ".join(repr(holding.request.name) for holding in held)
        mine = f"process {handles.pid} (the caller) holds {names} and waits for {file.name!r}"
        raise Deadlock(
            f"waiting for {file.name!r} would close a cycle, which ends only if one of its waits does: "
            f"{'; '.join((mine, *stuck.links))}",
            cycle=(mine, *stuck.links),
            hint="take several locks in one order everywhere, or all at once with lock_all",
        )

    def _stuck(
        self,
        kind: str,
        name: str,
        owner: Owner,
        seen: frozenset[tuple[str, str]],
        at: tuple[TicketFile, int] | None = None,
    ) -> Stuck | None:
        """Why a name cannot be granted as long as the owner waits; None if some holder can go on. A holder that waits
        for a name in `seen` cannot go on by that way."""
        if (kind, name) in seen:
            return Stuck()
        if len(seen) > _DEEPEST:
            return None
        file, handle = at or self.engine.opened(kind, name)
        try:
            file.refuse_damaged(handle)
            low = file.broken_below()
            holders = [slot for _, slot in file.living(handle) if slot.state == HELD and slot.ticket >= low]
        finally:
            if at is None:
                file.give_back(handle)
        found = [self._of_holder(file, slot, owner, seen | {(kind, name)}) for slot in holders]
        return combined(found, file.limit() if kind == "semaphore" else None)

    def _of_holder(self, file: TicketFile, slot: Slot, owner: Owner, seen: frozenset[tuple[str, str]]) -> Stuck | None:
        if (slot.pid, slot.namespace, slot.owner) == (handles.pid, NAMESPACE, owner.number):
            return Stuck(() if len(seen) > 1 else (f"process {slot.pid} holds {file.name!r} itself",), closes=True)
        if not slot.waits or (target := self._name_of(slot.waits)) is None:
            return None
        further = self._stuck(*target, owner, seen)
        return further and further.after(f"process {slot.pid} holds {file.name!r} and waits for {target[1]!r}")

    def _name_of(self, key: int) -> tuple[str, str] | None:
        if key not in self._names:
            for kind in ("lock", "semaphore", "election"):
                self._names |= {key_of(kind, name): (kind, name) for name in self.engine.names(kind=kind)}
        return self._names.get(key)
