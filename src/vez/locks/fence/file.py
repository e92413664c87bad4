"""A guarded file: replaced as a whole or not at all, and only by a holder whose token is not stale.

The token is kept in a second file beside it, `NAME.fence`, which writers also lock. The token is made durable before
the content is replaced: a crash between the two can lose the write, but never accepts a stale one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from vez.errors import BadData, CannotWrite, EngineUnavailable, Misuse
from vez.locks.fence.memory import check_token, stale


class FileGuard:
    """The guard of one file on this machine."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if "\0" in str(path):
            raise Misuse(f"a path must not contain a zero byte, found {str(path)!r}")
        self.fence = self.path.with_name(self.path.name + ".fence")

    def write(self, content: bytes, token: int | None) -> None:
        """Replace the content, or raise `StaleToken`."""
        number = check_token(token)
        with self._locked() as handle:
            newest = self._read(handle)
            if number < newest:
                raise stale(str(self.path), number, newest)
            if number > newest:
                self._write_token(handle, number)
            self._replace(content)

    def newest(self) -> int:
        """The highest token seen; 0 before the first."""
        with self._locked() as handle:
            return self._read(handle)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            import fcntl
        except ImportError as error:
            raise EngineUnavailable(
                f"a guarded file needs flock(2); this is {sys.platform}",
                hint="use vez.locks.fence.SqlGuard, with SQLite for example",
            ) from error
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(self.fence, flags, 0o600)
        except OSError as error:
            raise CannotWrite(f"cannot open {self.fence}: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise CannotWrite(f"{self.fence} is not a regular file", hint="remove what is in its place")
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)

    def _read(self, handle: int) -> int:
        raw = os.pread(handle, 64, 0)
        if not raw:
            return 0
        body, checksum = raw[:24].strip(), raw[24:32]
        if not body.isdigit() or checksum != b"%08x" % zlib.crc32(body):
            raise BadData(f"{self.fence} is damaged", hint="restore it, or remove it when no old holder can be left")
        return int(body)

    def _write_token(self, handle: int, number: int) -> None:
        body = str(number).encode()
        line = b"%-24s%08x\n" % (body, zlib.crc32(body))
        try:
            if os.pwrite(handle, line, 0) < len(line):
                raise OSError(errno.EIO, "it was written in part only")
            os.fsync(handle)
        except OSError as error:
            raise CannotWrite(f"cannot write {self.fence}: {error.strerror}; the content was not replaced") from error

    def _replace(self, content: bytes) -> None:
        try:
            handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    with contextlib.suppress(FileNotFoundError):
                        os.fchmod(handle, stat.S_IMODE(os.stat(self.path).st_mode))
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, self.path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise CannotWrite(f"cannot write {self.path}: {error.strerror}") from error
