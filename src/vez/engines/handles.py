"""Handles: every descriptor that the file engine has open, and what a fork does to them.

An open-file-description lock lives until the last copy of its descriptor is closed, and a forked child has copies. If
they stayed open, a crash of the parent would not free its locks while the child lives. So a child closes all of them
before its own code runs, and everything that it inherited counts as not held. `exec` closes them by O_CLOEXEC, which
Python sets on everything that it opens.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import socket
import threading
from pathlib import Path
from weakref import WeakSet

from vez.engines.machine import at_fork

gate = threading.RLock()
"""Held while a descriptor is opened and recorded, while a holding is released, and while the process forks. So a child
knows every descriptor, and two threads do not release the same holding. It is one lock for all three, and reentrant,
since the garbage collector may finalise a holding anywhere inside."""
_open: set[int] = set()
_sockets: WeakSet[socket.socket] = WeakSet()
_sleeps: set[select.epoll] = set()
"""Objects that close their descriptor when they are collected must be closed as objects: the number may be reused."""

generation = 0
"""Number of forks between the process that imported the module and this one. An object of another generation belongs to
a parent process."""
pid = os.getpid()
_forking = False
"""True while the process forks, and in a child until it has closed what it inherited."""


def open_handle(path: Path | str, flags: int, *, mode: int = 0o600, directory: int | None = None) -> int:
    """Open a file, and record the descriptor for the next fork."""
    with gate:
        descriptor = os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=directory)
        _open.add(descriptor)
    return descriptor


def close_handle(descriptor: int) -> None:
    """Close a descriptor; harmless if it was closed already."""
    with gate:
        if descriptor in _open:
            _open.discard(descriptor)
            os.close(descriptor)


def open_pidfd(process: int) -> int:
    """A descriptor that becomes readable when the process ends."""
    with gate:
        descriptor = os.pidfd_open(process)
        _open.add(descriptor)
    return descriptor


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


def open_socket() -> socket.socket:
    """A Unix datagram socket, recorded for the next fork."""
    with gate:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.setblocking(False)
        _sockets.add(made)
    return made


def close_socket(made: socket.socket) -> None:
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
