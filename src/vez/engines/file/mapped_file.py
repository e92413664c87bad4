"""MappedFile: the file of one name, created, opened and mapped; a pool of descriptors for it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import stat
from urllib.parse import quote

from vez.engines import handles
from vez.engines.file.layout import (
    CAPACITY_AT,
    CAPACITY_HALF,
    FIRST_CAPACITY,
    MAX_CAPACITY,
    damaged,
    newborn,
    size_of,
    verify,
)
from vez.errors import EngineUnavailable

POOL = 4
"""Idle descriptors kept for a name."""
_ATTEMPTS = 5


class Gone(Exception):
    """The file was removed from the directory while it was in use; open the new one."""


def file_name(kind: str, name: str) -> str:
    """The file's name in the directory. A long one is cut and made unique by a digest; the file holds the full name."""
    text = f"{kind}.{quote(name, safe='')}"
    if len(text) <= 200:
        return text
    return f"{text[:150]}~{hashlib.sha256(name.encode()).hexdigest()[:40]}"


class MappedFile:
    """The file of one name, mapped by this process."""

    def __init__(self, directory: int, path: str, kind: str, name: str) -> None:
        self.directory, self.kind, self.name = directory, kind, name
        self.file_name = file_name(kind, name)
        self.where = os.path.join(path, self.file_name)
        self.pool: list[int] = []
        self.closed = False
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
        if self._exists():
            return
        temporary = f".new-{os.urandom(8).hex()}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            handle = handles.open_handle(temporary, flags, directory=self.directory)
            try:
                content = newborn(self.kind, self.name)
                os.posix_fallocate(handle, 0, len(content))  # a full disk must fail here, not kill a writer later
                os.pwrite(handle, content, 0)
                os.fsync(handle)
                with contextlib.suppress(FileExistsError):  # another process was faster: its file is used
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
        """A descriptor with its own open file description, so that two of them exclude each other. `Gone` if the file
        was removed after it was mapped."""
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
            raise EngineUnavailable(
                f"{self.where} is not a regular file of this user", hint="remove what is in its place"
            )
        if self.inode is None:
            self.inode = (facts.st_dev, facts.st_ino)
        elif self.inode != (facts.st_dev, facts.st_ino):
            handles.close_handle(handle)
            raise Gone
        return handle

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

    def refresh_if_possible(self, handle: int) -> None:
        """`refresh` for a release, which must not fail: waiters that it cannot ring poll."""
        with contextlib.suppress(EngineUnavailable):
            self.refresh(handle)

    def refuse_truncated(self, handle: int) -> None:
        """Call before touching the map outside the doorway: reading behind the file's end is SIGBUS."""
        size = os.lseek(handle, 0, os.SEEK_END)
        if size < self.size:
            raise damaged(self.where, f"it was truncated to {size} bytes while in use")

    def removed(self, handle: int) -> bool:
        """True if the file was removed from its directory."""
        return os.fstat(handle).st_nlink == 0
