"""A command that a keeper supervises, as `vez run` sees it: the other end of the keeper's control socket."""

from __future__ import annotations

import _socket
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping

from vez.errors import Misuse, VezError, WorkerDied
from vez.locks.engines import handles
from vez.locks.supervise import keeper

TARDY = 2.0
"""Seconds after KILL in which the keeper must report the end. A keeper that does not was suspended, and is killed."""


class NotFound(Misuse):
    """The command does not exist; the exit code is the shell's."""

    exit_code = 127


class NotExecutable(Misuse):
    """The command cannot be executed; the exit code is the shell's."""

    exit_code = 126


def _not_started(command: tuple[str, ...], error: OSError) -> NotExecutable:
    return NotExecutable(f"cannot run {command[0]!r}: {error.strerror}", hint=handles.hint_for(error))


class Kept:
    """A keeper, and the command that it starts when it is told to."""

    def __init__(self, command: tuple[str, ...], patience: float) -> None:
        self.command = command
        self.started: int | None = None  # its process group
        self.ended: int | None = None  # its exit code, as a shell reports it
        self.failure: VezError | None = None
        self.stopped: Callable[[], None] = lambda: None
        self._ordered = self._closed = False
        keeper.become_subreaper()  # if the keeper is killed, we inherit the remaining processes of the command
        try:
            self._control, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        except OSError as error:
            raise _not_started(command, error) from error
        try:
            self.keeper = keeper.fork_keeper(theirs, patience, command)
        except OSError as error:
            self._control.close()
            raise _not_started(command, error) from error
        finally:
            theirs.close()
        self._control.setblocking(False)

    def start(self, variables: Mapping[str, str], lifeline: int | None) -> None:
        """Start the command, with these variables in its environment. The keeper gets a copy of the lifeline."""
        self._ordered = True
        words = "\0".join(word for pair in variables.items() for word in pair)
        given = [] if lifeline is None else [lifeline.to_bytes(4, sys.byteorder)]
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, one) for one in given]
        try:
            self._control.sendmsg([os.fsencode(words)], rights)
        except (BrokenPipeError, ConnectionResetError):
            return  # it was killed: the next read of the socket shows it
        except OSError as error:
            raise _not_started(self.command, error) from error

    def fileno(self) -> int:
        """The control socket, to wait for messages of the keeper."""
        return self._control.fileno()

    def hear(self) -> None:
        """Read a message of the keeper."""
        try:
            word, _, rest = self._receive().decode().partition(" ")
        except BlockingIOError:
            return
        except OSError:
            word = rest = ""
        if word == "started":
            self.started = int(rest)
        elif word == "failed":
            self.failure = self._refused(int(rest))
        elif word == "stopped":
            self.stopped()
        elif word == "ended":
            self.ended = int(rest)
        else:
            self.failure = WorkerDied(
                f"the keeper of {self.command[0]!r} was killed (process {self.keeper}); "
                f"the command and what it had started were ended",
                hint="run it again",
            )

    def _receive(self) -> bytes:
        try:
            return self._control.recv(64)
        except ConnectionResetError:  # it ended before it had read a signal; what it said last comes after this
            return self._control.recv(64)

    def _refused(self, number: int) -> Misuse:
        if number == errno.ENOENT:
            return NotFound(f"there is no command {self.command[0]!r}")
        return NotExecutable(f"cannot run {self.command[0]!r}: {os.strerror(number)}")

    def signal(self, number: int) -> None:
        """Send a signal to the command's process group."""
        with contextlib.suppress(OSError):
            self._control.send(f"signal {number}".encode())

    def kill(self) -> None:
        """Kill the keeper; the kernel kills the command then."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.keeper, signal.SIGKILL)

    def close(self) -> None:
        """Wait for the keeper's end. If it was killed or is no longer needed, end the remaining processes of the
        command. Calling it twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if self.ended is None:
            self.kill()
        self._control.close()
        _, status = os.waitpid(self.keeper, 0)
        if status and self._ordered:
            keeper.end_all(0)
