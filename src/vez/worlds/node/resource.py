"""Resource: a file that represents the resource that the critical section protects.

It stores the largest token that it has seen, and refuses a write with a smaller one. All nodes of a host share it, and
a kernel lock orders their writes: a stale holder is refused, as by `vez.fence`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from vez.errors import CannotWrite, EngineUnavailable
from vez.worlds.node.journal import now_us

_DIGITS = 32


class Written(NamedTuple):
    """The time of a write, and True if it was accepted."""

    at_us: int
    accepted: bool


class Resource:
    """The protected file."""

    def __init__(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError as error:
            raise EngineUnavailable("this system has no flock", hint="leave --resource out") from error
        self._lock, self._exclusive, self._free = fcntl.flock, fcntl.LOCK_EX, fcntl.LOCK_UN
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror}") from error

    def write(self, token: int) -> Written:
        """Write with a token. A token below the largest so far is refused."""
        self._lock(self._file, self._exclusive)
        try:
            text = os.pread(self._file, _DIGITS, 0)
            accepted = not text or token >= int(text)
            if accepted:
                os.pwrite(self._file, b"%-*d" % (_DIGITS, token), 0)
            return Written(now_us(), accepted)
        except (OSError, ValueError) as error:
            raise CannotWrite(f"cannot write {self._path}: {error}") from error
        finally:
            self._lock(self._file, self._free)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
