"""A command that runs while a grant is held.

Signals are forwarded to the command, and it is ended when the grant is lost. Between us and the command is a keeper
(`keeper.py`). If we are killed, the keeper ends the command and all processes that the command has started, and holds
the lock until then.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from vez.locks.engines.machine import refuse_unless_linux
from vez.locks.supervise.kept_command import TARDY, Kept
from vez.locks.supervise.nested import HELD

if TYPE_CHECKING:
    from vez.locks.turns.client import Grant

NEEDED = ("os.fork", "os.killpg", "os.pidfd_open", "os.tcsetpgrp", "os.waitid", "signal.SIGCONT", "_socket.AF_UNIX")
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH", "SIGCONT")
_LOOK = 0.1
"""Seconds between two checks for a loss that nobody reports: the files were removed, or a lease was not renewed."""
_LOSS = 0
"""The byte in the pipe that stands for a loss. The others are numbers of signals, which begin at 1."""


def refuse_elsewhere() -> None:
    """Raise `EngineUnavailable` on systems where a command cannot be bound to a grant."""
    hint = "run it on Linux; here vez takes turns within one process: vez.connect('memory:') in Python"
    refuse_unless_linux("`vez run`", NEEDED, hint=hint)


class Child:
    """A command that is started for each grant. The first keeper is forked at once, before this process loads an engine
    and asks for the lock. The others, of a leader that is elected again, are forked when they are needed."""

    def __init__(self, command: tuple[str, ...], kill_after: float) -> None:
        self.command, self.kill_after = command, kill_after
        self._next: Kept | None = Kept(command, kill_after)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self._next is not None:  # nothing was granted
            self._next.close()

    def run(self, grant: Grant, held: str) -> int | None:
        """Run the command. Returns its exit code as a shell reports it, or None if the grant was lost and the command
        was ended. `held` is for a `vez run` within the command."""
        kept, self._next = self._next or Kept(self.command, self.kill_after), None
        try:
            with _Listening(kept) as listening:
                return self._run(grant, held, kept, listening)
        finally:
            kept.close()

    def _run(self, grant: Grant, held: str, kept: Kept, listening: _Listening) -> int | None:
        self._start(grant, held, kept)
        grant._on_loss(listening.tell)
        listening.wait(lambda: kept.started is not None or grant.lost)
        if kept.started is None:  # the grant is lost and the keeper is stuck: closing kills both
            return None
        with _foreground(kept.started) as terminal:
            kept.stopped = lambda: _stop_too(kept, terminal, kept.started or 0)
            listening.begin()
            listening.wait(lambda: kept.ended is not None or grant.lost)
            if kept.ended is not None:
                return kept.ended
            kept.signal(signal.SIGTERM)
            kept.signal(signal.SIGCONT)  # a stopped process would not receive TERM
            listening.wait(lambda: kept.ended is not None, self.kill_after)
            kept.signal(signal.SIGKILL)
            if not listening.wait(lambda: kept.ended is not None, TARDY):
                kept.kill()
            return None

    def _start(self, grant: Grant, held: str, kept: Kept) -> None:
        token = "" if grant.token is None else str(grant.token)
        lifeline = grant.lifeline()
        try:
            kept.start({"VEZ_LOCK": grant.name, "VEZ_TOKEN": token, HELD: held}, lifeline)
        finally:
            if lifeline is not None:
                os.close(lifeline)


class _Listening:
    """Waits for the keeper, for signals and for a loss at once. Signals are forwarded to the command; those that arrive
    before it has started are sent when it starts. Signals that are ignored stay ignored, here and in the command:
    `nohup vez run` relies on it."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._begun = False
        self._early: list[int] = []

    def __enter__(self) -> _Listening:
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._reading, select.POLLIN)
        self._poll.register(self._kept.fileno(), select.POLLIN)
        self._before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        numbers = [getattr(signal, name) for name in _FORWARDED]
        self._handlers = {
            number: signal.signal(number, lambda *_: None)
            for number in numbers
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before)
        os.close(self._reading)
        # The other end stays open: a thread that reports a loss at this moment must not write to another file.

    def tell(self, why: str) -> None:
        """Called from any thread when the grant is lost."""
        with contextlib.suppress(OSError):  # nobody listens any more
            os.write(self._writing, bytes((_LOSS,)))

    def begin(self) -> None:
        """The command has started: forward signals from now on."""
        self._begun = True
        for number in self._early:
            self._kept.signal(number)

    def wait(self, done: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until it is done; False after `seconds`. Raises what has happened to the keeper."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not done():
            left = _LOOK if deadline is None else min(_LOOK, deadline - time.monotonic())
            if left <= 0:
                return False
            for ready, _ in self._poll.poll(left * 1000):
                if ready == self._reading:
                    self._forward(os.read(self._reading, 4096))
                else:
                    self._kept.hear()
            if self._kept.failure is not None:
                raise self._kept.failure
        return True

    def _forward(self, numbers: bytes) -> None:
        for number in numbers:
            if number == _LOSS:
                continue
            if self._begun:
                self._kept.signal(number)
            else:
                self._early.append(number)


class Terminal:
    """The terminal, if there is one: the child is its foreground group while it runs, we are afterwards."""

    def __init__(self, handle: int | None) -> None:
        self.handle, self.mine = handle, os.getpgrp()

    def give(self, group: int) -> None:
        """Make the group the foreground group, so that it reads the terminal and gets Ctrl-C, if we are the foreground
        group now."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self.handle) == self.mine:
                    os.tcsetpgrp(self.handle, group)

    def take(self, group: int) -> None:
        """Make ourselves the foreground group again, if `group` is the foreground group now."""
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
    """Stop ourselves after the command was stopped (Ctrl-Z), so that the shell shows its prompt; continue together."""
    if terminal.handle is not None:
        terminal.take(group)
        os.kill(os.getpid(), signal.SIGSTOP)
        terminal.give(group)
        kept.signal(signal.SIGCONT)
