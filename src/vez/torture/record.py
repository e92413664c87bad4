"""Records: what one worker writes down, a line an event, in an order in which a lie is impossible.

A worker says `entered` after the engine has let it in, and `left` before it lets go: the time between is within its
real turn, so two that overlap are a real violation. Each line is one write to the kernel and survives SIGKILL.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import Literal

import msgspec

What = Literal["wanted", "queued", "entered", "wrote", "left", "interrupted", "forked", "believer", "refused"]


class Line(msgspec.Struct, omit_defaults=True):
    """One event of one worker. `at` is of the monotonic clock, which all processes of a machine share."""

    at: int
    worker: int
    what: What
    token: int = 0
    value: int = 0
    accepted: bool = True


class Recorder:
    """Writes lines."""

    def __init__(self, path: Path, worker: int) -> None:
        self.worker = worker
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def say(self, what: What, *, token: int = 0, value: int = 0, accepted: bool = True) -> None:
        """Write one line."""
        line = Line(time.monotonic_ns(), self.worker, what, token, value, accepted)
        os.write(self._file, msgspec.json.encode(line) + b"\n")


def read_lines(path: Path) -> list[Line]:
    """All whole lines of a record; the last may have been cut by a kill."""
    if not path.exists():
        return []
    return [msgspec.json.decode(raw, type=Line) for raw in path.read_bytes().split(b"\n")[:-1]]


class Register:
    """The protected resource: a number in a file, with a guard that refuses stale tokens."""

    _cell = struct.Struct("<QQ")

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def read(self) -> int:
        """The number."""
        return self._both()[0]

    def write(self, value: int, token: int) -> bool:
        """Write it; False if the token is stale."""
        from fcntl import LOCK_EX, LOCK_UN, flock

        flock(self._file, LOCK_EX)
        try:
            if token < self._both()[1]:
                return False
            os.pwrite(self._file, self._cell.pack(value, token), 0)
            return True
        finally:
            flock(self._file, LOCK_UN)

    def _both(self) -> tuple[int, int]:
        raw = os.pread(self._file, self._cell.size, 0)
        return self._cell.unpack(raw) if len(raw) == self._cell.size else (0, 0)
