"""Log: one line for each event that an operator should know."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

LINES_A_SECOND = 20
"""Largest number of lines a second. Further ones are left out and counted, so that a client cannot fill the disk."""
LONGEST = 500
"""Largest number of characters of a line."""


def to_stderr(line: str) -> None:
    """Write a line to standard error."""
    print(line, file=sys.stderr, flush=True)


class Log:
    """The log of one server. Lines go to `write`; None writes nothing."""

    def __init__(self, name: str, write: Callable[[str], None] | None = None) -> None:
        self._name = name
        self._write = write
        self._lock = threading.Lock()
        self._second = 0
        self._lines = 0
        self._left_out = 0

    def line(self, text: str, *, always: bool = False) -> None:
        """Write one line. Lines that clients cannot cause, such as the end of the server, are written `always`."""
        if self._write is None:
            return
        clean = "".join(one if one.isprintable() else "?" for one in text[:LONGEST])  # parts may come from a client
        with self._lock:
            second = int(time.monotonic())
            if second != self._second:
                self._second, self._lines = second, 0
            if self._lines >= LINES_A_SECOND and not always:
                self._left_out += 1
                return
            self._lines += 1
            more = f" ({self._left_out} lines were left out before this one)" if self._left_out else ""
            self._left_out = 0
            self._write(f"{time.strftime('%H:%M:%S')} {self._name}: {clean}{more}")
