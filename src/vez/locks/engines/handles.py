"""Handles: every descriptor that the file engine has open, and what a fork does to them.

An open-file-description lock lives until the last copy of its descriptor is closed, and a forked child has copies. If
they stayed open, a crash of the parent would not free its locks while the child lives. So a child closes all of them
before its own code runs, and everything that it inherited counts as not held. `exec` closes them by O_CLOEXEC, which
Python sets on everything that it opens.
"""

from __future__ import annotations

import _socket
import atexit
import contextlib
import errno
import os
import select
import threading
from _thread import start_new_thread
from collections.abc import Callable
from functools import partial
from weakref import WeakSet

from vez.locks.engines.machine import at_fork

gate = threading.RLock()
"""Held while a descriptor is opened and recorded, while a holding is released, and while the process forks. So a child
knows every descriptor, and two threads do not release the same holding. It is one lock for all three, and reentrant,
since the garbage collector may finalise a holding anywhere inside."""
_open: set[int] = set()
_sockets: WeakSet[Socket] = WeakSet()
_sleeps: set[select.epoll] = set()
"""Objects that close their descriptor when they are collected must be closed as objects: the number may be reused."""

generation = 0
"""Number of forks between the process that imported the module and this one. An object of another generation belongs to
a parent process."""
pid = os.getpid()
_forking = False
"""True while the process forks, and in a child until it has closed what it inherited."""


class Socket(_socket.socket):
    """A socket as the system has it. The module `socket` adds selectors and a hundred constants as enumerations, and
    takes longer to load than all of this engine."""

    __slots__ = ("__weakref__",)


class Handle(int):
    """The number of a descriptor, which is closed when nobody has it any more. An interrupt can strike between any call
    and the storing of its result; what it drops in that way must not stay open, and even locked."""

    closed = False
    generation: int | None = None  # None: it was dropped before it was recorded

    def __del__(self) -> None:
        try:
            if not self.closed and self.generation in (None, generation):
                _close(self)
        except Exception:  # noqa: S110  at the interpreter's end the kernel does it
            pass
        except BaseException:  # an interrupt, and a finaliser is not called again
            start_new_thread(_close_quietly, (self,))  # with no call before it, where a second interrupt could strike
            raise


def _close(handle: Handle) -> None:
    with gate:
        if not handle.closed:
            _open.discard(handle)
            handle.closed = True  # with no call before the next one: either both happen, or neither
            os.close(handle)


def _close_quietly(handle: Handle) -> None:
    with contextlib.suppress(Exception):
        _close(handle)


def _recorded(made: Handle) -> Handle:
    made.generation = generation
    _open.add(int(made))
    return made


def allowed() -> int:
    """Number of descriptors that this process may have open."""
    import resource  # not on every system

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def quietly(complete: Callable[[], object]) -> None:
    """Complete what interrupts have cut short, in a thread: only the main thread is interrupted."""
    with contextlib.suppress(Exception):
        complete()


def hint_for(error: OSError) -> str:
    """Hint for an error of opening a file; empty if the error needs none."""
    return "raise the limit of open files (ulimit -n)" if error.errno in (errno.EMFILE, errno.ENFILE) else ""


def open_handle(path: str | os.PathLike[str], flags: int, *, mode: int = 0o600, directory: int | None = None) -> Handle:
    """Open a file, and record the descriptor for the next fork."""
    opener = partial(os.open, dir_fd=directory)
    with gate:  # all in one call, so that there is no number without an object
        return _recorded(next(map(Handle, map(opener, (path,), (flags | os.O_CLOEXEC,), (mode,)))))


def close_handle(descriptor: int) -> None:
    """Close a descriptor; harmless if it was closed already."""
    if isinstance(descriptor, Handle) and descriptor.generation == generation:
        _close(descriptor)


def open_pidfd(process: int) -> Handle:
    """A descriptor that becomes readable when the process ends; `OSError` if there is no such process."""
    with gate:
        try:
            return _recorded(next(map(Handle, map(os.pidfd_open, (process,)))))
        except OverflowError:  # a number that no process can have, as a damaged slot may say
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from None


def open_epoll() -> select.epoll:
    """An epoll object, recorded for the next fork."""
    with gate:
        made = select.epoll()
        _sleeps.add(made)
    return made


def close_epoll(made: select.epoll) -> None:
    """Close an epoll object."""
    with gate:
        _sleeps.discard(made)
        made.close()


def open_socket() -> Socket:
    """A Unix datagram socket, recorded for the next fork."""
    with gate:
        made = Socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
        made.setblocking(False)
        _sockets.add(made)
    return made


def close_socket(made: Socket) -> None:
    """Close a socket."""
    with gate:
        _sockets.discard(made)
        made.close()


def _close_sockets() -> None:
    """At exit: the sockets of the main thread outlive the objects that would close them."""
    for made in list(_sockets):
        made.close()


def _before_fork() -> None:
    global _forking
    gate.acquire()
    _forking = True


def _after_in_parent() -> None:
    global _forking
    _forking = False
    gate.release()


def _after_in_child() -> None:
    global generation, pid, _forking
    if not _forking:
        return
    generation += 1  # first: nothing inherited may count as held
    try:
        while _open:
            with contextlib.suppress(OSError):
                os.close(_open.pop())
        for made in list(_sockets):
            made.close()
        for sleep in list(_sleeps):
            sleep.close()
        _sockets.clear()
        _sleeps.clear()
        pid = os.getpid()
        _forking = False
    finally:
        with contextlib.suppress(RuntimeError):  # the hook runs twice, and the second time the gate is not ours
            gate.release()


atexit.register(_close_sockets)
at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
# Registered twice: an interrupt inside a hook is swallowed by the interpreter, and ends that hook.
at_fork(after_in_child=_after_in_child)
