"""Output: lines on standard output. The node never waits for their reader.

A node must not block because its output is not read: the others would suspect it. A thread writes what a pipe does not
accept at once. If too much waits there, lines are dropped and counted.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
from collections import deque

MOST_BYTES = 4 << 20
"""The largest number of bytes that wait to be written. One line is always accepted, even a longer one."""
LAST_S = 2.0
"""Seconds at the end of the node in which waiting lines can still be read."""


class Output:
    """Lines for one file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()  # the first one is being written
        self._bytes = 0
        self._left_out = 0
        self._is_gone = False  # True if the reader has closed the pipe
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._poll = _poll(descriptor)

    def line(self, line: bytes) -> None:
        """Write a line now or later. Does nothing if the reader has closed the pipe."""
        with self._changed:
            if self._is_gone:
                return
            if not self._lines and self._takes(line):
                self._write(line)
            elif self._lines and self._bytes + len(line) > MOST_BYTES:
                self._left_out += 1
            else:
                self._lines.append(line)
                self._bytes += len(line)
                self._start()

    def close(self) -> None:
        """Wait a short time until everything is read, and report how much was not."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lines, LAST_S)
            self._left_out += len(self._lines)
            self._is_gone = True
            self._say_left_out()

    def _takes(self, line: bytes) -> bool:
        """True if the descriptor is a pipe with room for this line, so that no thread is needed."""
        return self._poll is not None and len(line) <= select.PIPE_BUF and bool(self._poll.poll(0))

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                line = self._lines[0]
            self._write(line)
            with self._changed:
                self._bytes -= len(self._lines.popleft())
                if self._is_gone:
                    self._lines.clear()
                if not self._lines:
                    self._say_left_out()
                self._changed.notify_all()

    def _write(self, data: bytes) -> None:
        """Write to the descriptor. `sys.stdout` is not used, because Python aborts if a thread writes to it at exit."""
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # the other end is closed
            self._is_gone = True

    def _say_left_out(self) -> None:
        if self._left_out:
            words = "line was" if self._left_out == 1 else "lines were"
            print(f"vez node: {self._left_out} {words} left out of the output: nobody read it", file=sys.stderr)
            self._left_out = 0


def _poll(descriptor: int) -> select.poll | None:
    """A poll object that shows if a pipe accepts `PIPE_BUF` bytes at once; None if the descriptor is not a pipe."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:  # it is closed
        return None
    if not is_pipe or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return poll
