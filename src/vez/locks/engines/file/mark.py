"""The mark of a directory: a number above all tickets of pruned names, so new files start at the mark or above.

The file of the mark has two durable records, written in turn, at the same place as in the file of a name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from fcntl import F_OFD_SETLK, F_WRLCK, LOCK_EX, LOCK_SH, fcntl

from vez.locks.engines import handles
from vez.locks.engines.file.byte_locks import alive, pack_flock
from vez.locks.engines.file.doorway import doorway
from vez.locks.engines.file.layout import DURABLE, DURABLE_AT, SLOTS_AT, durable, read_durable

MARK = "pruned.tokens"
TEMPORARY = ".new-"
"""Prefix of a file's name while it is being created. Its first byte, which belongs to no ticket, is locked
meanwhile."""
_ATTEMPTS = 5


def file_mode(directory: int) -> int:
    """The mode of a file in the directory: for the user alone, or for the group that shares it."""
    return os.fstat(directory).st_mode & 0o660


def make_file(directory: int, name: str, content: bytes, *, replace: bool = False) -> bool:
    """Create a file atomically: it exists with its whole content, on disk, or not at all. False if it already existed;
    with `replace`, it then gets the new content."""
    for _ in range(_ATTEMPTS):
        # Until its byte is locked, another process may take this file for the leftover of a killed process and remove
        # it.
        with contextlib.suppress(FileNotFoundError):
            return _make_file(directory, name, content, replace)
    raise OSError(errno.EBUSY, f"what it was made from was removed {_ATTEMPTS} times")


def _make_file(directory: int, name: str, content: bytes, replace: bool) -> bool:
    temporary = f"{TEMPORARY}{os.urandom(8).hex()}"
    handle = handles.open_handle(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, directory=directory)
    try:
        fcntl(handle, F_OFD_SETLK, pack_flock(F_WRLCK, os.SEEK_SET, 0, 1, 0))
        os.fchmod(handle, file_mode(directory))  # whatever the umask says
        os.posix_fallocate(handle, 0, len(content))  # a full disk must fail here, not kill a writer later
        if os.pwrite(handle, content, 0) < len(content):
            raise OSError(errno.EIO, "it was written in part only")
        os.fsync(handle)
        try:
            (os.rename if replace else os.link)(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except FileExistsError:  # another process was faster: its file is used
            return False
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        handles.close_handle(handle)
    os.fsync(directory)
    return True


def remove_leftover(directory: int, entry: str) -> None:
    """Remove a file that a process began to make, if that process was killed: then its byte is not locked."""
    try:
        handle = handles.open_handle(entry, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, directory=directory)
    except OSError:
        return  # it is complete by now, or belongs to another user of the group
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and not alive(handle, 0):
            with contextlib.suppress(OSError):
                os.unlink(entry, dir_fd=directory)
    finally:
        handles.close_handle(handle)


@contextlib.contextmanager
def reading_mark(directory: int, path: str) -> Iterator[int]:
    """The mark, which does not rise inside the body. A new file must get its name inside the body: if the mark rose
    meanwhile, another file of that name, made at the same mark, may have been used and pruned."""
    with _open(directory, path, LOCK_SH) as handle:
        yield _read(handle, path)[0]


@contextlib.contextmanager
def raising_mark(directory: int, path: str, reserved: int) -> Iterator[None]:
    """Raise the mark to this ticket, durably. Files whose tickets are all below it may be removed inside the body."""
    with _open(directory, path, LOCK_EX) as handle:
        before, sequence = _read(handle, path)
        # Written even if it is high enough: an earlier fsync may have failed, and the kernel takes its page for clean.
        record = durable(max(before, reserved), sequence + 1)
        if os.pwrite(handle, record, DURABLE_AT[sequence % 2]) < len(record):  # replaces the older of the two
            raise OSError(errno.EIO, "it was written in part only")
        os.fsync(handle)
        yield


@contextlib.contextmanager
def _open(directory: int, path: str, mode: int) -> Iterator[int]:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = handles.open_handle(MARK, flags, directory=directory)
    except FileNotFoundError:
        make_file(directory, MARK, _first())
        handle = handles.open_handle(MARK, flags, directory=directory)
    try:
        with doorway(handle, os.path.join(path, MARK), mode=mode):
            yield handle
    finally:
        handles.close_handle(handle)


def _first() -> bytes:
    content = bytearray(DURABLE_AT[-1] + DURABLE.size)
    for place, sequence in zip(DURABLE_AT, (1, 0), strict=True):
        content[place : place + DURABLE.size] = durable(0, sequence)
    return bytes(content)


def _read(handle: int, path: str) -> tuple[int, int]:
    return read_durable(os.pread(handle, SLOTS_AT, 0).ljust(SLOTS_AT, b"\0"), os.path.join(path, MARK))
