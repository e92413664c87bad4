"""A command that runs while a grant is held.

Signals are forwarded to it, and it is ended when the grant is lost. Between us and the command is a keeper
(`keeper.py`): if we are killed, it ends the command and all that this has started, and holds the lock until then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from vez.aio import Grant
from vez.engines.machine import refuse_unless_linux
from vez.supervise.kept import Kept
from vez.supervise.nested import HELD

NEEDED = ("os.killpg", "os.pidfd_open", "os.tcsetpgrp", "os.waitid", "signal.SIGCONT", "socket.AF_UNIX")
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH", "SIGCONT")


def refuse_elsewhere() -> None:
    """Raise `EngineUnavailable` on systems where a command cannot be bound to a grant."""
    hint = "run it on Linux; here vez takes turns within one process: vez.connect('memory:') in Python"
    refuse_unless_linux("`vez run`", NEEDED, hint=hint)


class Child:
    """A command that is started for each grant."""

    def __init__(self, command: tuple[str, ...], kill_after: float, held: Callable[[int | None], str]) -> None:
        self.command, self.kill_after = command, kill_after
        self.held = held  # token -> the environment variable for a `vez run` within the command

    async def run(self, grant: Grant, lost: Coroutine[Any, Any, object]) -> int | None:
        """Run the command; its exit code as a shell reports it, or None if the grant was lost and the command was
        ended."""
        loop = asyncio.get_running_loop()
        loss: asyncio.Future[Any] = loop.create_task(lost)
        with _forwarding(loop) as begin:
            kept = self._start(grant)
            try:
                await asyncio.wait([loss, kept.started], return_when=asyncio.FIRST_COMPLETED)
                if not kept.started.done():  # the grant is lost and the keeper is stuck: closing kills both
                    return None
                group = kept.started.result()
                with _foreground(group) as terminal:
                    kept.stopped = lambda: _stop_too(kept, terminal, group)
                    begin(kept)
                    await asyncio.wait([loss, kept.ended], return_when=asyncio.FIRST_COMPLETED)
                    if kept.ended.done():
                        return kept.ended.result()
                    await kept.end(self.kill_after)
                    return None
            finally:
                loss.cancel()
                kept.close()

    def _start(self, grant: Grant) -> Kept:
        token = "" if grant.token is None else str(grant.token)
        environment = {**os.environ, "VEZ_LOCK": grant.name, "VEZ_TOKEN": token}
        environment[HELD] = self.held(grant.token)
        lifeline = grant.lifeline()
        try:
            return Kept(self.command, environment, lifeline, self.kill_after)
        finally:
            if lifeline is not None:
                os.close(lifeline)


@contextlib.contextmanager
def _forwarding(loop: asyncio.AbstractEventLoop) -> Iterator[Callable[[Kept], None]]:
    """Forward signals to the command; those that arrive before it has started are sent then. What is ignored stays
    ignored, here and in the command: `nohup vez run` relies on it."""
    target: list[Kept] = []
    early: list[int] = []

    def begin(kept: Kept) -> None:
        target.append(kept)
        for number in early:
            kept.signal(number)

    def forward(number: int) -> None:
        if target:
            target[0].signal(number)
        else:
            early.append(number)

    numbers = [getattr(signal, name) for name in _FORWARDED]
    forwarded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    for number in forwarded:
        loop.add_signal_handler(number, forward, number)
    try:
        yield begin
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


def _stop_too(kept: Kept, terminal: Terminal, group: int) -> None:
    """The command was stopped (Ctrl-Z): stop too, so that the shell shows its prompt; continue together."""
    if terminal.handle is not None:
        terminal.take(group)
        os.kill(os.getpid(), signal.SIGSTOP)
        terminal.give(group)
        kept.signal(signal.SIGCONT)
