"""A child process whose life is bound to a grant: signals go to it, loss ends it, it dies with us, and the grant
lasts as long as anything that it started, should we be killed."""

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
    """There is no such command; the code is the shell's."""

    exit_code = 127


class NotExecutable(Misuse):
    """The command cannot be executed; the code is the shell's."""

    exit_code = 126


class Child:
    """A command, started anew for each grant."""

    def __init__(self, command: tuple[str, ...], kill_after: float, held: Callable[[int, int | None], str]) -> None:
        self.command, self.kill_after = command, kill_after
        self.held = held  # what we hold with that token and lifeline, for a `vez run` within the command

    async def run(self, grant: Grant, lost: Coroutine[Any, Any, None]) -> int | None:
        """Its exit code as a shell would tell it; nothing if the grant was lost and it was ended."""
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
                    _signal(process.pid, signal.SIGKILL)  # whatever is left of its group must not outlive the grant
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
        """TERM to the group, then KILL."""
        _signal(process.pid, signal.SIGTERM)
        _signal(process.pid, signal.SIGCONT)  # one that is stopped could not hear it
        await asyncio.wait([ended], timeout=self.kill_after)
        _signal(process.pid, signal.SIGKILL)
        await ended


async def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait without a thread: a descriptor of the process becomes readable when it ends."""
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
    """Pass signals on to the group, once there is one; those that come before it wait for it."""
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
    """The terminal, if there is one: it belongs to the child while it runs, and to us afterwards."""

    def __init__(self, handle: int | None) -> None:
        self.handle, self.mine = handle, os.getpgrp()

    def give(self, group: int) -> None:
        """Let the group read it and hear Ctrl-C, if it is ours to give."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self.handle) == self.mine:
                    os.tcsetpgrp(self.handle, group)

    def take(self, group: int) -> None:
        """Have it back from the group."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self.handle) == group:
                    os.tcsetpgrp(self.handle, self.mine)


@contextlib.contextmanager
def _foreground(group: int) -> Iterator[Terminal]:
    """The child in the foreground, where we are there ourselves."""
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
    """When the child is stopped (Ctrl-Z) we stop too, so that the shell gets its prompt; and go on together."""

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
    """In the child: if `vez run` itself is killed nobody passes on signals or loss, so its command must not go on. What
    the command has started may; it has the lifeline, so the lock is free only when all of that has ended. The signal
    comes only if the parent ends after it was asked for, so look whether it was there until then."""
    library.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)
