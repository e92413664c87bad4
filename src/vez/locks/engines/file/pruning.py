"""Pruning: the files of names that nobody uses are removed, and their tokens are never issued again.

A name is idle if no byte of its file is locked: nobody holds it, waits for it or watches it. That is checked inside its
doorway, and the file is removed before the doorway is left. A later request finds no file, and creates a new one.
Before a file is removed, the mark of the directory is raised, durably, above all tickets that the file reserved. A new
file starts at the mark or at the clock, whichever is higher. So the tokens of a name increase even if the clock was set
back.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterator
from fcntl import F_WRLCK, LOCK_EX, LOCK_NB, flock
from typing import TYPE_CHECKING, get_args

from vez.errors import CorruptState, EngineUnavailable, VezError
from vez.locks.engines import handles
from vez.locks.engines.base import Kind
from vez.locks.engines.file.byte_locks import HIGHEST, conflict
from vez.locks.engines.file.layout import SLOTS_AT, identity_in, in_order, read_durable, verify
from vez.locks.engines.file.mapped_file import file_name
from vez.locks.engines.file.mark import TEMPORARY, raising_mark, remove_leftover

if TYPE_CHECKING:
    from vez.locks.engines.file.core import FileCore

FILES_KEPT = 1000
"""Number of files of idle names that a directory keeps. Each has 8 KiB, so any number of idle names takes less than 10
MB."""
SWEEP_EVERY = 32
"""Number of files that a process creates between two looks at the whole directory."""
_BATCH = 64
"""Largest number of files removed with one fsync of the mark. Their doorways stay closed until then."""
_TRIED = 16 * SWEEP_EVERY
"""Largest number of files that one sweep looks at, because a request waits for the sweep to end."""


def files_mapped() -> int:
    """Largest number of files that stay mapped while this process does not use them. Each needs two descriptors, so
    this is a quarter of the limit of open files. It is at most the number of files that a directory keeps, because a
    pruned file takes space on disk as long as it is mapped."""
    return max(4, min(FILES_KEPT, handles.allowed() // 8))


def prune(engine: FileCore, prefix: str = "") -> int:
    """Remove the files of all idle names that begin with the prefix. Returns their number."""
    with _errors(engine):
        _remove_leftovers(engine)
        return _remove(engine, [entry.name for entry in _entries(engine)], prefix)


def sweep(engine: FileCore) -> None:
    """Remove files of idle names, the longest unused first, if the directory has too many. It never raises: a request
    that has created a file must not fail because of the clean-up."""
    with contextlib.suppress(OSError, VezError):
        _remove_leftovers(engine)
        entries = list(_entries(engine))
        if len(entries) > FILES_KEPT:
            found = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name) for entry in entries)
            too_many = len(entries) - FILES_KEPT + SWEEP_EVERY  # so that the next sweep finds few
            _remove(engine, [name for _, name in found[: min(too_many, _TRIED)]])


def _entries(engine: FileCore) -> Iterator[os.DirEntry[str]]:
    with os.scandir(engine.directory) as found:
        yield from (entry for entry in found if entry.name.partition(".")[0] in get_args(Kind))


def _remove_leftovers(engine: FileCore) -> None:
    for entry in os.listdir(engine.directory):
        if entry.startswith(TEMPORARY):
            remove_leftover(engine.directory, entry)


def _remove(engine: FileCore, entries: list[str], prefix: str = "") -> int:
    removed = 0
    for first in range(0, len(entries), _BATCH):
        with contextlib.ExitStack() as stack:
            idle: list[str] = []
            highest = 0
            for entry in entries[first : first + _BATCH]:
                reserved = _closed(engine, entry, prefix, stack)
                if reserved is not None:
                    idle.append(entry)
                    highest = max(highest, reserved)
            if idle:
                stack.enter_context(raising_mark(engine.directory, engine.path, highest))
            for entry in idle:
                os.unlink(entry, dir_fd=engine.directory)
            removed += len(idle)
    return removed


def _closed(engine: FileCore, entry: str, prefix: str, stack: contextlib.ExitStack) -> int | None:
    """Close the doorway of an idle name until the stack unwinds. Returns the end of its reserved tickets. None if the
    name is in use, or if its file must not be removed: `vez prune` and `vez status` show damaged files."""
    try:
        handle = handles.open_handle(entry, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, directory=engine.directory)
    except OSError:
        return None
    stack.callback(handles.close_handle, handle)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        flock(handle, LOCK_EX | LOCK_NB)
        if conflict(handle, 0, HIGHEST, F_WRLCK) is not None or not _leads_here(engine, entry, handle):
            return None
        name, kind = identity_in(os.pread(handle, SLOTS_AT, 0)), entry.partition(".")[0]
        page = verify(handle, kind, name, entry)
        # A copy under another name would raise the mark, and be gone before anybody has seen it.
        if not name.startswith(prefix) or entry != file_name(kind, name) or not in_order(page, entry):
            return None
        return read_durable(page, entry)[0]
    except (OSError, CorruptState, struct.error):
        return None


def _leads_here(engine: FileCore, entry: str, handle: int) -> bool:
    """True if the name still leads to this file. Another process may have pruned it, and a third created a new one."""
    try:
        return os.path.samestat(os.stat(entry, dir_fd=engine.directory, follow_symlinks=False), os.fstat(handle))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _errors(engine: FileCore) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineUnavailable(f"cannot prune {engine.path}: {error.strerror}") from error
