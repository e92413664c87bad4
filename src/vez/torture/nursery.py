"""Nursery: a process that has everything imported and forks workers on demand, so that each starts in a millisecond.

`python -m vez.torture FOLDER URL NAME SECONDS` is the other side: it reads lines of WORKER SEED and answers each with
the number of the process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from vez.engines import open_engine
from vez.errors import EngineUnavailable

_PATIENCE = 20.0


class Child:
    """A worker process that is not our own child: watched through a pidfd."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def signal(self, number: int) -> None:
        """Send a signal to this process, never to another that got its number."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def dead(self, seconds: float = 0) -> bool:
        """True if it has ended, or ends within so many seconds."""
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def kill(self) -> None:
        """Kill it, and wait until it has ended."""
        self.signal(signal.SIGKILL)
        self.dead(_PATIENCE)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


class Nursery:
    """The nursery process, seen from the campaign."""

    def __init__(self, folder: Path, url: str, name: str, seconds: float) -> None:
        open_engine(url).close()  # a wrong URL should fail here, not in many workers
        command = [sys.executable, "-m", "vez.torture", str(folder), url, name, str(seconds)]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def start(self, worker: int, seed: str) -> Child:
        """Start a worker process."""
        if self._process.stdin is None or self._process.stdout is None:
            raise EngineUnavailable("the nursery has no pipes")
        self._process.stdin.write(f"{worker} {seed}\n")
        answer = self._process.stdout.readline().strip()
        if not answer.isdigit():
            raise EngineUnavailable(f"the nursery of workers ended with {self._process.wait(_PATIENCE)}")
        return Child(int(answer))

    def close(self) -> None:
        """End the nursery process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait(_PATIENCE)
