"""Records: the events of one worker, one line each, written in an order that cannot show a violation that did not
happen.

A worker writes `entered` after it was granted, and `left` before it releases. The time between is within its real turn,
so two that overlap are a real violation. Each line is one write to the kernel and survives SIGKILL.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import Literal

import msgspec

from vez.testing.torture.controls import monotonic_offset

What = Literal[
    "wanted", "queued", "entered", "wrote", "left", "interrupted", "forked", "believer", "refused", "lost", "failed",
    "bare", "synced",
]  # fmt: skip
"""The kinds of events. `failed`: the engine failed because of a fault. `bare`: a turn without the engine. `synced`: all
tokens of the name below this one are on disk."""


class Line(msgspec.Struct, omit_defaults=True):
    """One event of one worker. `at` is the monotonic clock in nanoseconds, which all processes of a machine share."""

    at: int
    worker: int
    what: What
    token: int = 0
    value: int = 0
    accepted: bool = True
    name: str = ""
    """Suffix of the lock's name, if there are several locks."""
    shared: bool = False


class Recorder:
    """Writes the lines of one worker."""

    def __init__(self, path: Path, worker: int, origin: int | None = None) -> None:
        """`origin` is the offset of the clock for the recorded times, if this process may be in a time namespace."""
        self.worker = worker
        self._ahead = 0 if origin is None else monotonic_offset() - origin
        self.name = ""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def say(self, what: What, *, token: int = 0, value: int = 0, accepted: bool = True, shared: bool = False) -> None:
        """Write one line."""
        line = Line(time.monotonic_ns() - self._ahead, self.worker, what, token, value, accepted, self.name, shared)
        os.write(self._file, msgspec.json.encode(line) + b"\n")


def read_lines(path: Path, begin: int = 0) -> list[Line]:
    """All complete lines of a record after the position `begin`, which is the end of a line. A kill may have cut the
    last one."""
    if not path.exists():
        return []
    with path.open("rb") as record:
        record.seek(begin)
        return [msgspec.json.decode(raw, type=Line) for raw in record.read().split(b"\n")[:-1]]


class Register:
    """The protected resource: a number in a file that refuses writes with a stale token."""

    _cell = struct.Struct("<QQ")

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def read(self) -> int:
        """The number."""
        return self._both()[0]

    def admit(self, token: int) -> int:
        """Read the number. From now on writes with a lower token are refused."""
        self.write(None, token)
        return self.read()

    def write(self, value: int | None, token: int) -> bool:
        """Write the number, or only the token if it is None. False if the token is stale."""
        from fcntl import LOCK_EX, LOCK_UN, flock

        flock(self._file, LOCK_EX)
        try:
            before, newest = self._both()
            if token < newest:
                return False
            os.pwrite(self._file, self._cell.pack(before if value is None else value, token), 0)
            return True
        finally:
            flock(self._file, LOCK_UN)

    def _both(self) -> tuple[int, int]:
        raw = os.pread(self._file, self._cell.size, 0)
        return self._cell.unpack(raw) if len(raw) == self._cell.size else (0, 0)
