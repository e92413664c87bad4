"""MappedFile: the file of one name, created, opened and mapped; a pool of descriptors for it."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat

from vez.errors import CorruptState, EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.file.byte_locks import alive
from vez.locks.engines.file.layout import (
    CAPACITY_AT,
    CAPACITY_HALF,
    FIRST_CAPACITY,
    MAX_CAPACITY,
    damaged,
    newborn,
    size_of,
    verify,
)
from vez.locks.engines.file.mark import make_file, reading_mark
from vez.locks.engines.file.quoting import quoted
from vez.locks.engines.local.core import Superseded

POOL = 4
"""Idle descriptors kept for a name."""
_ATTEMPTS = 5
_PROOF = 0.02
"""Seconds for which requests rely on an earlier check that the name leads to this file. Checking in every turn would
make turns without a body slower by a sixth. The grant's `lost` and `check` always check again."""


class Gone(Superseded):
    """The name no longer leads to this file; open the one to which it leads."""


MEMO = "memo."
"""The start of the names of files with memos; the rest is the file name of the name."""


def file_name(kind: str, name: str) -> str:
    """The file's name in the directory. A long one is cut and made unique by a digest; the file holds the full name."""
    text = f"{kind}.{quoted(name)}"
    if len(text) <= 200:
        return text
    from hashlib import sha256

    return f"{text[:150]}~{sha256(name.encode()).hexdigest()[:40]}"


def is_there(directory: int, path: str, entry: str) -> bool:
    """True if the directory has this entry. Raises `EngineUnavailable` if permission is missing: a process may have
    dropped its privileges."""
    try:
        os.stat(entry, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EngineUnavailable(
            f"cannot look for {os.path.join(path, entry)}: {error.strerror}", hint=handles.hint_for(error)
        ) from error
    return True


class MappedFile:
    """The file of one name, mapped by this process."""

    def __init__(self, directory: int, path: str, kind: str, name: str) -> None:
        self.directory, self.kind, self.name = directory, kind, name
        self.file_name = file_name(kind, name)
        self.where = os.path.join(path, self.file_name)
        self.pool: list[int] = []
        self.closed = False
        self.is_new = False
        self.proved_from = self.proved_until = 0.0  # between these times the name is assumed to lead to this file
        self.inode: tuple[int, int] | None = None  # of the mapped file; another file of the same name is not used
        self.capacity = 0
        self.size = 0
        self.map: mmap.mmap
        handle = self._create_or_open()
        try:
            verify(handle, kind, name, self.where)
            self._remap(handle)
            self._prepare(handle)
        except BaseException:
            handles.close_handle(handle)  # nobody gets this object, so nobody would close its pool
            raise
        self.give_back(handle)

    def _prepare(self, handle: int) -> None:
        """Called once, when the file was mapped for the first time by this process."""

    def _create_or_open(self) -> int:
        for _ in range(_ATTEMPTS):
            self._create_if_missing()
            with contextlib.suppress(Gone):
                return self.handle()
        raise EngineUnavailable(
            f"{self.where} was removed {_ATTEMPTS} times, each time right after it was created",
            hint="stop whatever cleans up this directory",
        )

    def _create_if_missing(self) -> None:
        if is_there(self.directory, os.path.dirname(self.where), self.file_name):
            return
        try:
            with reading_mark(self.directory, os.path.dirname(self.where)) as mark:
                self.is_new = make_file(self.directory, self.file_name, newborn(self.kind, self.name, mark))
        except OSError as error:
            raise EngineUnavailable(
                f"cannot create {self.where}: {error.strerror}", hint=handles.hint_for(error)
            ) from error

    def handle(self) -> int:
        """A descriptor with its own open file description, so that two of them exclude each other. Raises `Gone` if the
        file was removed after it was mapped."""
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
            raise EngineUnavailable(
                f"cannot open {self.where}: {error.strerror}", hint=handles.hint_for(error)
            ) from error
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or not self._is_trusted(facts):
            handles.close_handle(handle)
            raise EngineUnavailable(
                f"{self.where} is not a regular file of this user or group", hint="remove what is in its place"
            )
        if self.inode is None:
            self.inode = (facts.st_dev, facts.st_ino)
        elif self.inode != (facts.st_dev, facts.st_ino):
            handles.close_handle(handle)
            raise Gone
        return handle

    def _is_trusted(self, facts: os.stat_result) -> bool:
        if facts.st_uid == os.geteuid():
            return True
        around = os.fstat(self.directory)
        return bool(around.st_mode & stat.S_ISGID) and facts.st_gid == around.st_gid

    def give_back(self, handle: int) -> None:
        """Keep the descriptor for the next request; it must hold no lock."""
        with handles.gate:
            if len(self.pool) < POOL and not self.closed:
                self.pool.append(handle)
            else:
                handles.close_handle(handle)

    def close(self) -> None:
        """Close the idle descriptors; those in use are closed when they are given back."""
        with handles.gate:
            self.closed = True
            while self.pool:
                handles.close_handle(self.pool.pop())

    def _remap(self, handle: int) -> None:
        """Map the file with the capacity that it states. One thread at a time: a thread that saw fewer slots must not
        replace the larger map of another thread by its smaller one."""
        with handles.gate:
            self._map_all(handle)

    def _map_all(self, handle: int) -> None:
        capacity = int.from_bytes(os.pread(handle, 4, CAPACITY_AT), "little")
        if not FIRST_CAPACITY <= capacity <= MAX_CAPACITY:
            raise damaged(self.where, f"it claims {capacity} slots")
        if os.fstat(handle).st_size < size_of(capacity):
            raise damaged(self.where, f"it is shorter than its {capacity} slots")
        # Python's map keeps a copy of the descriptor it was made from. If that were the descriptor of a request, the
        # copy would keep its locks alive in a forked child. So the map gets a description that never locks anything.
        try:  # not by its name: that may be another file by now
            source = handles.open_handle(f"/proc/self/fd/{handle}", os.O_RDWR)
            try:
                made = mmap.mmap(source, size_of(capacity))
            finally:
                handles.close_handle(source)
        except OSError as error:
            raise EngineUnavailable(
                f"cannot map {self.where}: {error.strerror}", hint=handles.hint_for(error)
            ) from error
        # The map first: a thread that sees the old capacity with the new map is safe, the reverse is not.
        self.map = made
        view = memoryview(made)
        self.words, self.halves, self.reals = view.cast("Q"), view.cast("I"), view.cast("d")
        self.capacity, self.size = capacity, size_of(capacity)

    def refresh(self, handle: int) -> None:
        """Map the slots that another process has added."""
        if self.halves[CAPACITY_HALF] != self.capacity:
            self._remap(handle)

    def refresh_if_possible(self, handle: int) -> None:
        """Version of `refresh` for a release, which must not fail. Waiters that the release cannot ring poll. The next
        request reports the damage."""
        with contextlib.suppress(EngineUnavailable, CorruptState):
            self.refresh(handle)

    def refuse_truncated(self, handle: int) -> None:
        """Raise if the file is shorter than the map. Call before touching the map outside the doorway, because reading
        beyond the end of the file raises SIGBUS."""
        mapped = self.size  # first: another thread may map a file that grows meanwhile, and files only grow
        size = os.lseek(handle, 0, os.SEEK_END)
        if size < mapped:
            raise damaged(self.where, f"it was truncated to {size} bytes while in use")

    def elsewhere(self) -> str | None:
        """Reason why the name no longer leads to this file, so that other requests are granted in another file. None
        while it does, or if permission is missing: a process may drop its privileges while it holds a name."""
        try:
            facts = os.stat(self.where, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return f"{self.where} was removed"
        except OSError:
            return None
        return None if (facts.st_dev, facts.st_ino) == self.inode else f"{self.where} leads to another file by now"

    def refuse_moved(self, now: float) -> None:
        """Raise `Gone` if the name no longer leads to this file. Checked again only after some milliseconds."""
        if not self.proved_from <= now < self.proved_until:
            if self.elsewhere() is not None:
                raise Gone
            self.proved_from, self.proved_until = now, now + _PROOF

    def locked_by(self, handle: int, ticket: int) -> bool:
        """True if a descriptor of ours still has the byte of its ticket locked, as another descriptor sees it. Also
        True if no further descriptor can be opened to check."""
        try:
            witness = self.pool.pop()
        except IndexError:
            try:  # not by its name: that may be another file by now
                witness = handles.open_handle(f"/proc/self/fd/{handle}", os.O_RDWR)
            except OSError:
                return True
        try:
            return alive(witness, ticket)
        finally:
            self.give_back(witness)
