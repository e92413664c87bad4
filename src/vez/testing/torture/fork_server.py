"""A fork server is a process that has imported everything and forks workers on demand: each starts in a millisecond.

There is one for the usual workers, and one in each kind of container. This module is the campaign's side;
`python -m vez.testing.torture` is the process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from vez.errors import EngineUnavailable

_PATIENCE = 20.0
LONGEST = 1 << 16
"""Largest size in bytes of a message between the campaign and a fork server."""


class Order(msgspec.Struct, frozen=True):
    """An order to a fork server: start a worker, or run a job in a child process."""

    what: str
    worker: int = 0
    seed: str = ""
    suffix: str = ""
    """Suffix of the name to break, or of the names to prune."""


class Answer(msgspec.Struct, frozen=True):
    """The result of a job."""

    tokens: tuple[int, ...] = ()
    """Tokens taken by a break."""
    recorded: bool = True
    """True if the engine shows a record of that break afterwards."""
    count: int = 0
    """Number of pruned files."""
    error: str = ""


class Child:
    """A worker process that is not our own child: watched through a pidfd."""

    def __init__(self, descriptor: int, container: str) -> None:
        self._descriptor, self.container = descriptor, container

    @property
    def pid(self) -> int:
        """Its process id in our namespace; 0 or less if it has ended."""
        lines = Path(f"/proc/self/fdinfo/{self._descriptor}").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))

    def signal(self, number: int) -> None:
        """Send a signal to this process, never to another one that has got its process id."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def dead(self, seconds: float = 0) -> bool:
        """True if it has ended, or ends within `seconds`."""
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def kill(self) -> None:
        """Kill it, and wait until it has ended."""
        self.signal(signal.SIGKILL)
        self.dead(_PATIENCE)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


class ForkServer:
    """The campaign's side of a fork server."""

    def __init__(self, folder: Path, url: str, name: str, seconds: float, before: Sequence[str] = (),
                 container: str = "") -> None:  # fmt: skip
        self.container = container
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.settimeout(_PATIENCE)
        command = [*before, sys.executable, "-m", "vez.testing.torture", str(folder), url, name, str(seconds)]
        with theirs:  # in its own process group: Ctrl-C is for the campaign, which then ends its workers
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, process_group=0
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def start(self, worker: int, seed: str) -> Child:
        """Start a worker process."""
        self._send(Order("work", worker, seed))
        try:
            answer, descriptors, _, _ = socket.recv_fds(self._connection, LONGEST, 1)
        except TimeoutError:
            answer, descriptors = b"", []
        if not answer or not descriptors:
            raise self._ended()
        return Child(descriptors[0], self.container)

    def job(self, what: str, suffix: str = "") -> Answer:
        """Let a child of the fork server run a job, and wait for its answer."""
        self._send(Order(what, suffix=suffix))
        try:
            answer = self._connection.recv(LONGEST)
        except TimeoutError:
            answer = b""
        if not answer:
            raise self._ended()
        return msgspec.json.decode(answer, type=Answer)

    def _send(self, order: Order) -> None:
        try:
            self._connection.send(msgspec.json.encode(order))
        except OSError as error:
            raise self._ended() from error

    def _ended(self) -> EngineUnavailable:
        code = self._process.poll()
        where = f" in a container with its own {self.container}" if self.container else ""
        what = "does not answer" if code is None else f"ended with {code}"
        return EngineUnavailable(f"the fork server of workers{where} {what}")

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
