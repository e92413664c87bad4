"""A child process that runs while a grant is held.

Signals are forwarded to it, it is ended when the grant is lost, and it is killed when we are. If we are killed, the
lock stays held until everything that the child has started has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from vez.aio import Grant
from vez.engines.machine import refuse_unless_linux
from vez.errors import Misuse
from vez.supervise.nested import HELD, lifelines

NEEDED = ("os.killpg", "os.pidfd_open", "os.tcsetpgrp", "os.waitid", "signal.SIGCONT")
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH")
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def refuse_elsewhere() -> None:
    """Raise `EngineUnavailable` on systems where a command cannot be bound to a grant."""
    hint = "run it on Linux; here vez takes turns within one process: vez.connect('memory:') in Python"
    refuse_unless_linux("`vez run`", NEEDED, hint=hint)


class NotFound(Misuse):
    """The command does not exist; the exit code is the shell's."""

    exit_code = 127


class NotExecutable(Misuse):
    """The command cannot be executed; the exit code is the shell's."""

    exit_code = 126


class Child:
    """A command that is started for each grant."""

    def __init__(self, command: tuple[str, ...], kill_after: float, held: Callable[[int, int | None], str]) -> None:
        self.command, self.kill_after = command, kill_after
        self.held = held  # (token, lifeline) -> the environment variable for a `vez run` within the command

    async def run(self, grant: Grant, lost: Coroutine[Any, Any, None]) -> int | None:
        """Run the command; its exit code as a shell reports it, or None if the grant was lost and the command was
        ended."""
        loop = asyncio.get_running_loop()
        loss = loop.create_task(lost)
        with _forwarding(loop) as target:
            process = self._start(grant)
            with _foreground(process.pid) as terminal, _stopping(loop, process.pid, terminal):
                target.append(process.pid)
                try:
                    ended = loop.create_task(_ended(process))
                    await asyncio.wait([loss, ended], return_when=asyncio.FIRST_COMPLETED)
                    if ended.done():
                        return ended.result()
                    await self._end(process, ended)
                    return None
                finally:
                    loss.cancel()
                    _signal(process.pid, signal.SIGKILL)  # the rest of its process group must not outlive the grant
                    process.wait()

    def _start(self, grant: Grant) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "VEZ_LOCK": grant.name, "VEZ_TOKEN": str(grant.token)}
        parent, lifeline = os.getpid(), grant.lifeline()
        library = ctypes.CDLL(None, use_errno=True)  # before the fork: in the child nothing should be loaded
        environment[HELD] = self.held(grant.token, lifeline)
        try:
            return subprocess.Popen(  # noqa: S603
                self.command, env=environment, process_group=0, preexec_fn=lambda: _die_with(library, parent),
                pass_fds=lifelines() if lifeline is None else (lifeline, *lifelines()),
            )  # fmt: skip
        except FileNotFoundError as error:
            raise NotFound(f"there is no command {self.command[0]!r}") from error
        except OSError as error:
            raise NotExecutable(f"cannot run {self.command[0]!r}: {error.strerror}") from error
        finally:
            if lifeline is not None:
                os.close(lifeline)

    async def _end(self, process: subprocess.Popen[bytes], ended: asyncio.Task[int]) -> None:
        """Send TERM to the process group, then KILL."""
        _signal(process.pid, signal.SIGTERM)
        _signal(process.pid, signal.SIGCONT)  # a stopped process would not receive TERM
        await asyncio.wait([ended], timeout=self.kill_after)
        _signal(process.pid, signal.SIGKILL)
        await ended


async def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end, without a thread: a pidfd becomes readable when the process ends. The exit code."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    try:
        loop.add_reader(descriptor, over.set)
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    code = process.wait()
    return code if code >= 0 else 128 - code


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@contextlib.contextmanager
def _forwarding(loop: asyncio.AbstractEventLoop) -> Iterator[list[int]]:
    """Forward signals to the process group; those that arrive before it exists are sent when it does."""
    group: list[int] = []
    early: list[int] = []

    class Target(list[int]):
        def append(self, pid: int) -> None:
            super().append(pid)
            group.append(pid)
            for number in early:
                _signal(pid, number)

    def forward(number: int) -> None:
        if group:
            _signal(group[0], number)
        else:
            early.append(number)

    forwarded = [getattr(signal, name) for name in _FORWARDED]
    for number in forwarded:
        loop.add_signal_handler(number, forward, number)
    try:
        yield Target()
    finally:
        for number in forwarded:
            loop.remove_signal_handler(number)


class Terminal:
    """The terminal, if there is one: the child is its foreground group while it runs, we are afterwards."""

    def __init__(self, handle: int | None) -> None:
        self.handle, self.mine = handle, os.getpgrp()

    def give(self, group: int) -> None:
        """Make the group the foreground, so that it reads the terminal and gets Ctrl-C, if we are the foreground
        now."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self.handle) == self.mine:
                    os.tcsetpgrp(self.handle, group)

    def take(self, group: int) -> None:
        """Make ourselves the foreground again, if the group is now."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self.handle) == group:
                    os.tcsetpgrp(self.handle, self.mine)


@contextlib.contextmanager
def _foreground(group: int) -> Iterator[Terminal]:
    """Run the body with the child in the foreground, if we are in the foreground."""
    try:
        terminal = Terminal(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        terminal = Terminal(None)
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        terminal.give(group)
        yield terminal
    finally:
        terminal.take(group)
        signal.signal(signal.SIGTTOU, before)
        if terminal.handle is not None:
            os.close(terminal.handle)


@contextlib.contextmanager
def _stopping(loop: asyncio.AbstractEventLoop, pid: int, terminal: Terminal) -> Iterator[None]:
    """When the child is stopped (Ctrl-Z), stop too, so that the shell shows its prompt; continue together."""

    def look() -> None:
        try:
            stopped = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG)
        except ChildProcessError:
            return
        if stopped is not None and terminal.handle is not None:
            terminal.take(pid)
            os.kill(os.getpid(), signal.SIGSTOP)
            terminal.give(pid)
            _signal(pid, signal.SIGCONT)

    loop.add_signal_handler(signal.SIGCHLD, look)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGCHLD)


def _die_with(library: ctypes.CDLL, parent: int) -> None:
    """In the child, before exec: ask the kernel for KILL when `vez run` ends, since nobody would forward signals or end
    the command on a loss then. Processes that the command has started may go on; they have the lifeline, so the lock is
    free only when all of them have ended. The kernel sends the signal only if the parent ends after this call, so check
    that it is still there."""
    library.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)
