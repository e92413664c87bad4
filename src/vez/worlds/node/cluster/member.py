"""Member: one node as a child process. It can be started, commanded, read, stopped, killed and paused."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from vez.errors import WorkerDied
from vez.worlds.node.journal import now_us

PATIENCE = 30.0
"""Seconds in which a child must end after it was told to stop."""
LONGEST_LINE = 1 << 20
"""The largest number of bytes of a printed line, such as a remark of the algorithm. Longer lines are not shown; the
journal has them."""


class Member:
    """One node of a cluster. `heard` is called with every line that it prints."""

    def __init__(
        self, me: int, arguments: list[str], folder: Path, heard: Callable[[Member, dict[str, Any]], None]
    ) -> None:
        self.me = me
        self.status: dict[str, Any] = {}
        """The last status that the node printed."""
        self.is_ready = False
        self.starts = 0
        """The number of starts."""
        self.is_stopped = False
        """True while it is paused."""
        self.linked: set[int] = set()
        self.suspected: set[int] = set()
        self._arguments = arguments
        self._log = folder / f"{me}.log"
        self._heard = heard
        self._process: asyncio.subprocess.Process | None = None
        self._standby: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._asked = self._answered = 0  # how often this process was asked for its status, and answered

    @property
    def is_alive(self) -> bool:
        """True while there is a process, paused or not."""
        return self._process is not None and self._process.returncode is None

    @property
    def has_answered(self) -> bool:
        """True if it has answered every time that it was asked for its status."""
        return self._answered == self._asked

    @property
    def pid(self) -> int:
        """The process id; 0 before the first start."""
        return 0 if self._process is None else self._process.pid

    @property
    def resident_bytes(self) -> int:
        """The resident memory of the process; 0 if the system does not report it."""
        with contextlib.suppress(OSError, IndexError):
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * mmap.PAGESIZE
        return 0

    async def prepare(self) -> None:
        """Start a process that loads everything and waits, so that the next `start` takes little time."""
        self._standby = await self._spawn("--standby")
        if self._standby.stdout is not None:
            await self._standby.stdout.readline()

    async def start(self, *more: str) -> None:
        """Start the process."""
        self.is_ready = self.is_stopped = False
        self.starts += 1
        self.linked, self.suspected, self.status = set(), set(), {}
        self._begun.clear()
        self._asked = self._answered = 0
        if self._standby is not None and self._standby.stdin is not None:
            self._process, self._standby = self._standby, None
            self.do(" ".join(more))
        else:
            self._process = await self._spawn(*more)
        self._reader = asyncio.get_running_loop().create_task(self._read(self._process))

    async def _spawn(self, *more: str) -> asyncio.subprocess.Process:
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-m", "vez", "node", *self._arguments, *more,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=LONGEST_LINE,
                process_group=0,  # Ctrl-C is for the supervisor; if that is killed, the end of the input ends the node
            )  # fmt: skip

    def do(self, command: str) -> None:
        """Send a command, unless the process has ended."""
        if self.is_alive and self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(command.encode() + b"\n")
                self._asked += command == "status"

    async def begun(self) -> None:
        """Wait until the node has started or recovered, or is dead."""
        await self._begun.wait()

    async def kill(self) -> None:
        """Kill the process."""
        self._signal(signal.SIGKILL)
        await self.wait()

    async def pause(self) -> int:
        """Pause the process with SIGSTOP. Returns a time at which it has certainly stopped."""
        self._signal(signal.SIGSTOP)
        self.is_stopped = True
        for _ in range(1000):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] in "TZ":
                    break
            await asyncio.sleep(0.001)
        return now_us()

    def resume(self) -> int:
        """Let the process continue. Returns the time just before that."""
        at = now_us()
        self.is_stopped = False
        self._signal(signal.SIGCONT)
        return at

    async def stop(self) -> None:
        """Stop the process in order, or kill it if it does not end in time."""
        if self._standby is not None:
            self._kill_standby()
            await self._standby.communicate()
            self._standby = None
        if not self.is_alive:
            return
        if self.is_stopped:
            self.resume()
        self.do("stop")
        try:
            async with asyncio.timeout(PATIENCE):
                await self.wait()
        except TimeoutError:
            await self.kill()

    def abandon(self) -> None:
        """Kill the process and the prepared one, without waiting for their end."""
        self._signal(signal.SIGKILL)
        self._kill_standby()

    async def wait(self) -> int:
        """Wait for the end of the process and of its output. Returns the exit code."""
        if self._process is None or self._reader is None:
            raise WorkerDied(f"node {self.me} was never started")
        await asyncio.wait([self._reader])  # the reader is not cancelled if the caller is
        code = await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return code

    def last_words(self) -> str:
        """The last error in its log, or else the last line."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        errors = [line for line in lines if line.startswith("vez: ")]
        return (errors or lines or ["it said nothing"])[-1].removeprefix("vez: ")

    def _kill_standby(self) -> None:
        if self._standby is not None:
            with contextlib.suppress(ProcessLookupError):
                self._standby.kill()

    def _signal(self, number: int) -> None:
        if self.is_alive and self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        if process.stdout is None:
            return
        while not process.stdout.at_eof():
            with contextlib.suppress(ValueError):  # a line that is too long, or not JSON
                self._note(msgspec.json.decode(await process.stdout.readline()))
        self._begun.set()

    def _note(self, line: dict[str, Any]) -> None:
        match line:
            case {"event": "ready"}:
                self.is_ready = True
            case {"event": "started" | "recovered"}:
                self._begun.set()
            case {"event": "linked", "peer": peer}:
                self.linked.add(peer)
            case {"event": "unlinked", "peer": peer}:
                self.linked.discard(peer)
            case {"event": "suspected", "peer": peer}:
                self.suspected.add(peer)
            case {"event": "trusted", "peer": peer}:
                self.suspected.discard(peer)
            case {"status": status}:
                self.status = status
                self._answered += 1
            case _:
                pass
        self._heard(self, line)
