"""A counter whose update is a critical section: read the number, write the number plus one.

The number is in a file. Between reading and writing, another thread may read the same number; then one of the two
updates is lost. A lock around both steps prevents it, and so does a server with one thread.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext

from vez.servers.serving.service import Answer, Refusal, Request, Service

DIGITS = 20


class Counter(Service[str, int]):
    """`POST /counter` adds one and returns the number; `GET /counter` returns it."""

    name = "counter"

    def __init__(self, *, locked: bool, pause_ms: float = 0.0, between: Callable[[], None] | None = None) -> None:
        """`pause_ms` is a blocking pause between reading and writing; `between` is called there, for tests."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._write(0)
        self._section = threading.Lock() if locked else nullcontext()
        self._pause_s = pause_ms / 1000
        self._between = between

    @property
    def number(self) -> int:
        """The number in the file."""
        return int(os.pread(self._file.fileno(), DIGITS, 0))

    def decode(self, request: Request) -> str:
        """The method."""
        if request.target != "/counter":
            raise Refusal(404)
        if request.method not in ("GET", "HEAD", "POST"):
            raise Refusal(405, headers=(("Allow", "GET, HEAD, POST"),))
        if request.method == "POST" and request.header(b"origin") is not None:
            raise Refusal(403, "updates from pages of a browser are refused")
        return request.method

    def decide(self, question: str) -> int:
        """The number, after the update if one was asked for."""
        return self._update() if question == "POST" else self.number

    def answer(self, result: int) -> Answer:
        """The number as text."""
        return Answer(body=b"%d\n" % result)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _update(self) -> int:
        with self._section:
            number = self.number
            if self._pause_s:
                time.sleep(self._pause_s)
            if self._between is not None:
                self._between()
            self._write(number + 1)
            return number + 1

    def _write(self, number: int) -> None:
        os.pwrite(self._file.fileno(), b"%0*d" % (DIGITS, number), 0)
