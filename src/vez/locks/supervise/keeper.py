"""The keeper: a process between `vez run` and its command, which ends the command when `vez run` dies.

The keeper has a copy of the descriptor on which the lock depends. It does not pass the copy on, because every process
with a copy can unlock. As a subreaper, the keeper becomes the parent of all processes that the command leaves behind,
so it can end them too. The lock is free when the keeper ends, and the keeper ends when none of these processes is left.

`vez run` forks the keeper before it loads the engine and asks for the lock. So the keeper is ready when the lock is
granted, and has nothing of the engine; a second interpreter would take as long to start as all the rest of `vez run`.
The keeper gives itself another name, so that killing `vez run` by name does not kill it, and imports nothing of vez.

The control socket carries one message a packet: `start` with variables for the environment, and with the descriptor,
then `signal NUMBER` to the keeper; `started PID`, `failed ERRNO`, `stopped` and `ended CODE` from it. If the socket is
closed before the command has ended, `vez run` has died.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _socket import socket

_SET_DEATH_SIGNAL, _SET_NAME, _SET_CHILD_SUBREAPER = 1, 15, 36  # prctl(2)
_ARGUMENTS_FROM, _ARGUMENTS_TO = 45, 46  # fields of /proc/self/stat behind the name of the process, see proc(5)
_ROUND, _LONGEST_ROUND = 0.01, 0.3
"""Shortest and longest time in seconds between two looks at the remaining processes."""
_GROUP = 2.0
"""Longest wait in seconds for the killed rest of a process group. Only a process that is stuck in the kernel takes
longer."""
MOST_BYTES = 1 << 17
"""Largest size of a message to the keeper."""


def _prctl(option: int, value: int | bytes) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def become_subreaper() -> None:
    """Become the parent of all orphans among our descendants."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _rename(title: str) -> None:
    """Give this process another name and another command line, as `ps` and `pkill` see them. The new one is written
    over the old one, which is longer: it has the path of Python and `vez run NAME COMMAND`."""
    _prctl(_SET_NAME, title.partition(" ")[0].encode())
    with contextlib.suppress(OSError, IndexError, ValueError):
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, room = int(fields[_ARGUMENTS_FROM]), int(fields[_ARGUMENTS_TO]) - int(fields[_ARGUMENTS_FROM])
        if start and room > 0:
            ctypes.memmove(start, title.encode()[: room - 1].ljust(room, b"\0"), room)


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
    """Send TERM to all descendants, KILL after `patience` seconds, and wait until none is left. A process that we may
    not signal is waited for."""
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
    """Reap all children that have ended. False if there are no children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


class Keeper:
    """Starts a command, reports its state to `vez run`, and ends it when `vez run` has died."""

    def __init__(self, control: socket, patience: float, command: tuple[str, ...]) -> None:
        self.control, self.patience, self.command = control, patience, command
        self.group = 0

    def run(self) -> None:
        """Supervise the command until it has ended."""
        become_subreaper()
        with _child_signals() as changes:
            variables = self._ordered()
            if variables is None or not self._start({**os.environ, **variables}):
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

    def _ordered(self) -> dict[str, str] | None:
        """Wait for the order to start the command. Returns the variables for its environment; None if `vez run` has
        ended without a grant. The descriptor that comes with the order stays open until we end."""
        import _socket

        room = _socket.CMSG_SPACE(4)
        try:
            text, _, _, _ = self.control.recvmsg(MOST_BYTES, room, _socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return None
        if not text:
            return None
        names_and_values = os.fsdecode(text).split("\0")
        return dict(zip(names_and_values[::2], names_and_values[1::2], strict=True))

    def _start(self, environment: dict[str, str]) -> bool:
        keeper, (reading, writing) = os.getpid(), os.pipe2(os.O_CLOEXEC)
        self.group = os.fork()
        if self.group == 0:
            _become(self.command, environment, keeper, writing)
        os.close(writing)
        failed = os.read(reading, 16)  # empty when the command has taken the place of our copy
        os.close(reading)
        if failed:
            os.waitpid(self.group, 0)
            self.tell(f"failed {failed.decode()}")
            return False
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):  # a reader of the command's output must see its end
            os.dup2(nowhere, standard)
        self.tell(f"started {self.group}")
        return True

    def _look(self) -> bool:
        """Handle the children whose state has changed. True if the command has ended."""
        flags = os.WEXITED | os.WSTOPPED | os.WNOHANG
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, flags | os.WNOWAIT)
            except ChildProcessError:
                return False
            if found is None:
                return False
            if found.si_pid == self.group and found.si_code != os.CLD_STOPPED:
                self._end_group()  # before it is reaped: until then no other process can get its number
                killed = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                self.tell(f"ended {found.si_status + 128 * killed}")
                return True
            os.waitid(os.P_PID, found.si_pid, flags)
            if found.si_pid == self.group:
                self.tell("stopped")

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
        """Send a signal to the command's process group if told to. False if `vez run` has died."""
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

    def tell(self, text: str) -> None:
        """Send a message to `vez run`."""
        with contextlib.suppress(OSError):  # `vez run` has died: the next read of the socket shows it
            self.control.send(text.encode())


def _become(command: tuple[str, ...], environment: dict[str, str], keeper: int, failure: int) -> NoReturn:
    """In a child of the keeper: become the command, in a process group of its own. Writes the number of the error if
    that fails. First ask for KILL when the keeper ends: the kernel sends it only if the keeper ends after this call, so
    check whether it has ended already. Signals that Python itself ignores are reset, as `subprocess` does it."""
    number = 0
    try:
        _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(128 + signal.SIGKILL)
        os.setpgid(0, 0)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execvpe(command[0], command, environment)  # noqa: S606
    except OSError as error:
        number = error.errno or 0
    except ValueError:  # a zero byte in an argument
        number = 22
    finally:
        os.write(failure, str(number).encode())
        os._exit(127)


@contextlib.contextmanager
def _child_signals() -> Iterator[int]:
    """A descriptor that becomes readable when a child changes. Signals that would end us are caught: they are meant for
    `vez run`, which passes them on. Signals that are ignored stay ignored, because the command inherits that."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for name in ("CHLD", "HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "XCPU", "PWR"):
        number = getattr(signal, f"SIG{name}")
        if name == "CHLD" or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, _before_fork)
    yield reading


_before_fork: set[int] = set()
"""The signals that `vez run` blocked before it forked us."""


def fork_keeper(control: socket, patience: float, command: tuple[str, ...]) -> int:
    """Fork a keeper with this end of the control socket. Returns its process number. Signals are blocked until it
    handles them itself: the handlers of `vez run` would raise exceptions in it."""
    global _before_fork
    _before_fork = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        process = os.fork()
        if process == 0:
            _keep(control, patience, command)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before_fork)
    return process


def _keep(control: socket, patience: float, command: tuple[str, ...]) -> NoReturn:
    """In the forked process: be the keeper. Whatever happens, nothing of `vez run` is continued here. Objects of `vez
    run` are never collected, since their descriptors are closed and the numbers are used again."""
    code = 1
    try:
        import gc

        gc.disable()
        os.setpgid(0, 0)  # Ctrl-C is for the command
        _rename(f"keeper of process {os.getppid()}")
        kept = Keeper(control, patience, command)
        try:
            for entry in os.listdir("/proc/self/fd"):
                if int(entry) > 2 and int(entry) != control.fileno():
                    with contextlib.suppress(OSError):
                        os.close(int(entry))
            kept.run()
            code = 0
        except OSError as error:
            if kept.group:
                raise
            kept.tell(f"failed {error.errno or 0}")  # no descriptors are left, for example; `vez run` reports it
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)
