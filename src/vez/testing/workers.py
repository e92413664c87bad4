"""Worker processes that a test controls by lines of text, and can kill and pause."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

PATIENCE = 60.0
"""Longest wait in seconds for a line of a worker, its start included."""


class Worker:
    """A process with its own client."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "vez.testing.worker_program", url]
        self.process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._heard = b""  # read from the pipe and not returned yet: `select` does not see it
        if (word := self.hear()) != "ready":
            raise AssertionError(f"worker {self.process.pid} said {word!r} instead of being ready")

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def tell(self, *words: object) -> None:
        """Send an order."""
        if self.process.stdin is not None:
            self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")

    def hear(self, seconds: float = PATIENCE) -> str:
        """Wait for its next line, and return it."""
        end = time.monotonic() + seconds
        while b"\n" not in self._heard:
            if self.process.stdout is None or self.silent(max(0.0, end - time.monotonic())):
                raise AssertionError(f"worker {self.process.pid} said nothing within {seconds} s")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                raise AssertionError(f"worker {self.process.pid} has ended, and said {self._heard!r}")
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode().strip()

    def silent(self, seconds: float = 0.15) -> bool:
        """True if it writes nothing for `seconds`."""
        if self._heard:
            return False
        return self.process.stdout is None or not select.select([self.process.stdout], [], [], seconds)[0]

    def ask(self, *words: object) -> str:
        """Send an order. Returns its answer."""
        self.tell(*words)
        return self.hear()

    def acquire(self, name: str = "x", *options: str) -> int:
        """Let it acquire. Returns the token."""
        answer = self.ask("acquire", name, *options)
        if not answer.startswith("got "):
            raise AssertionError(f"worker {self.process.pid} should have got {name!r}, and said {answer!r}")
        return int(answer.split()[1])

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def kill(self) -> float:
        """Kill it. Returns the monotonic time of the kill."""
        at = time.monotonic()
        self.signal(signal.SIGKILL)
        return at

    def close(self) -> None:
        """End the process, whatever its state."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
