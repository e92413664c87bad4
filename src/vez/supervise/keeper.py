"""The keeper: a process between `vez run` and its command, which ends the command when `vez run` dies.

It has a copy of the descriptor on which the lock depends, and gives it to nobody: whoever has a copy can unlock. As a
subreaper it becomes the parent of all that the command leaves behind, so it can end that too; the lock is free when
the keeper ends, and it ends when none of them is left.

It runs as a script of its own, so that killing `vez run` by name does not hit it, and imports nothing of vez. The
control socket carries one message a packet: `signal NUMBER` to it; `started PID`, `failed ERRNO`, `stopped` and
`ended CODE` from it. If the socket is closed before the command has ended, `vez run` has died.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

_SET_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
_ROUND, _LONGEST_ROUND = 0.01, 0.3
"""Seconds between two looks at what is left, at first and later."""
_GROUP = 2.0
"""Seconds that the killed rest of a process group is waited for; longer only if the kernel holds a process."""


def become_subreaper() -> None:
    """Become the parent of all orphans among our descendants."""
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> set[int]:
    """All living processes below this one."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(entry))
    found: set[int] = set()
    todo = [os.getpid()]
    for one in todo:
        found.update(children.get(one, ()))
        todo += children.get(one, ())
    return found


def end_all(patience: float) -> None:
    """Send TERM to all descendants, KILL when the patience is over, and wait until none is left. One that we may not
    signal is waited for."""
    deadline, told, pause = time.monotonic() + patience, set[int](), _ROUND
    while True:
        late = time.monotonic() >= deadline
        for process in descendants():
            if late or process not in told:
                told.add(process)
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
                    os.kill(process, signal.SIGCONT)  # a stopped process would not receive TERM
        if not _reap():
            return
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_ROUND)


def _reap() -> bool:
    """Take note of all children that have ended; False if there are no children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


class Keeper:
    """Starts a command, tells what becomes of it, and ends it when nobody listens any more."""

    def __init__(self, control: socket.socket, patience: float, command: list[str]) -> None:
        self.control, self.patience, self.command = control, patience, command
        self.group = 0

    def run(self) -> None:
        """Keep the command until it has ended, or has been ended."""
        become_subreaper()
        with _child_signals() as changes:
            if not self._start():
                return
            while True:
                ready, _, _ = select.select([self.control.fileno(), changes], [], [])
                if changes in ready:
                    os.read(changes, 4096)
                    if self._look():
                        return
                if self.control.fileno() in ready and not self._obey():
                    end_all(self.patience)
                    return

    def _start(self) -> bool:
        library, keeper = ctypes.CDLL(None, use_errno=True), os.getpid()

        def die_with_us() -> None:
            """In the child: KILL if we end. The kernel sends it only if we end after this call, so look."""
            library.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(128 + signal.SIGKILL)

        try:
            made = subprocess.Popen(self.command, process_group=0, preexec_fn=die_with_us)  # noqa: S603
        except OSError as error:
            self._tell(f"failed {error.errno}")
            return False
        except ValueError:  # a zero byte in an argument
            self._tell("failed 22")
            return False
        self.group = made.pid
        made.returncode = 0  # we reap it ourselves
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):  # whoever reads what the command writes must see its end
            os.dup2(nowhere, standard)
        self._tell(f"started {self.group}")
        return True

    def _look(self) -> bool:
        """See which children have changed; True if the command has ended."""
        flags = os.WEXITED | os.WSTOPPED | os.WNOHANG
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, flags | os.WNOWAIT)
            except ChildProcessError:
                return False
            if found is None:
                return False
            if found.si_pid == self.group and found.si_code != os.CLD_STOPPED:
                self._end_group()  # before it is reaped: its number is not another's yet
                killed = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                self._tell(f"ended {found.si_status + 128 * killed}")
                return True
            os.waitid(os.P_PID, found.si_pid, flags)
            if found.si_pid == self.group:
                self._tell("stopped")

    def _end_group(self) -> None:
        """Kill the rest of the process group, which must not outlive the grant; then the command itself is reaped."""
        self._signal(signal.SIGKILL)
        deadline = time.monotonic() + _GROUP
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                _reap()
                os.killpg(self.group, 0)
                time.sleep(_ROUND / 10)

    def _obey(self) -> bool:
        """Send a signal to the command's process group if told to; False if `vez run` has died."""
        try:
            word, _, number = self.control.recv(64).partition(b" ")
        except OSError:
            return False
        if word == b"signal":
            self._signal(int(number))
        return bool(word)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.group, number)

    def _tell(self, text: str) -> None:
        with contextlib.suppress(OSError):  # it has died: the next look at the socket says so
            self.control.send(text.encode())


@contextlib.contextmanager
def _child_signals() -> Iterator[int]:
    """A descriptor that becomes readable when a child changes. Signals that would end us are caught: they are meant for
    `vez run`, which passes them on. Those that are ignored stay so, for the command inherits that."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for name in ("CHLD", "HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "XCPU", "PWR"):
        number = getattr(signal, f"SIG{name}")
        if name == "CHLD" or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    yield reading


if __name__ == "__main__":
    Keeper(socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]), sys.argv[4:]).run()
