"""A kept command, as `vez run` sees it: the other end of the keeper's control socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping

from vez.engines import handles
from vez.errors import Misuse, WorkerDied
from vez.supervise import keeper

TARDY = 2.0
"""Seconds after KILL in which the keeper must report the end; one that does not was stopped, and is killed."""


class NotFound(Misuse):
    """The command does not exist; the exit code is the shell's."""

    exit_code = 127


class NotExecutable(Misuse):
    """The command cannot be executed; the exit code is the shell's."""

    exit_code = 126


def _not_started(command: tuple[str, ...], error: OSError) -> NotExecutable:
    return NotExecutable(f"cannot run {command[0]!r}: {error.strerror}", hint=handles.hint_for(error))


class Kept:
    """A command that a keeper has started."""

    def __init__(
        self, command: tuple[str, ...], environment: Mapping[str, str], lifeline: int | None, patience: float
    ) -> None:
        loop = asyncio.get_running_loop()
        self.command = command
        self.started: asyncio.Future[int] = loop.create_future()  # its process group
        self.ended: asyncio.Future[int] = loop.create_future()  # its exit code, as a shell reports it
        self.stopped: Callable[[], None] = lambda: None
        keeper.become_subreaper()  # if the keeper is killed, what is left of the command is ours
        try:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise _not_started(command, error) from error
        passed = [theirs.fileno()] + ([] if lifeline is None else [lifeline])
        script = [sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno()), str(patience)]
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [*script, str(lifeline), *command], env=dict(environment), process_group=0, pass_fds=passed
            )
        except OSError as error:  # the arguments may be too long
            self._control.close()
            raise _not_started(command, error) from error
        finally:
            theirs.close()
        self._control.setblocking(False)
        loop.add_reader(self._control, self._hear, loop)

    def _hear(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            word, _, rest = self._control.recv(64).decode().partition(" ")
        except BlockingIOError:
            return
        except OSError:
            word = rest = ""
        if word == "started":
            self.started.set_result(int(rest))
        elif word == "failed":
            self._fail(self._refused(int(rest)))
        elif word == "stopped":
            self.stopped()
        elif word == "ended":
            self.ended.set_result(int(rest))
        else:
            loop.remove_reader(self._control)
            self._fail(
                WorkerDied(
                    f"the keeper of {self.command[0]!r} was killed (process {self._process.pid}); "
                    f"the command and what it had started were ended",
                    hint="run it again",
                )
            )

    def _fail(self, error: Exception) -> None:
        for outcome in (self.started, self.ended):
            if not outcome.done():
                outcome.set_exception(error)
                outcome.exception()  # whoever waits for the other one is told

    def _refused(self, number: int) -> Misuse:
        if number == errno.ENOENT:
            return NotFound(f"there is no command {self.command[0]!r}")
        return NotExecutable(f"cannot run {self.command[0]!r}: {os.strerror(number)}")

    def signal(self, number: int) -> None:
        """Send a signal to the command's process group."""
        with contextlib.suppress(OSError):
            self._control.send(f"signal {number}".encode())

    async def end(self, kill_after: float) -> None:
        """Send TERM to the process group, then KILL; return when it has ended."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # a stopped process would not receive TERM
        await asyncio.wait([self.ended], timeout=kill_after)
        self.signal(signal.SIGKILL)
        done, _ = await asyncio.wait([self.ended], timeout=TARDY)
        if not done:
            self._process.kill()

    def close(self) -> None:
        """Wait for the keeper's end; if it was killed or is not needed any more, end what is left of the command."""
        asyncio.get_running_loop().remove_reader(self._control)
        if not self.ended.done() or self.ended.exception() is not None:
            self._process.kill()
        self._control.close()
        self._process.wait()
        if self._process.returncode:
            keeper.end_all(0)
