"""Handles: every descriptor that the file engine has open, and what a fork does to them.

An open-file-description lock lives until the last copy of its descriptor is closed, and a forked child has copies.
Were they left open, the parent's crash would not free its locks while the child lives. So a child closes them all
before its own code runs, and whatever it inherited from its parent counts as not held. `exec` closes them by
O_CLOEXEC, which Python sets on everything that it opens.
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
"""Held while a descriptor is opened and written down, while a holding is let go, and while the process forks: a child
knows all of them, and two threads do not let go of the same thing. It is one for all of that, and reentrant, since the
collector may finalise a holding at any point within."""
_open: set[int] = set()
_sockets: WeakSet[socket.socket] = WeakSet()
_sleeps: set[select.epoll] = set()
"""Objects that close their number when they are collected must be closed as objects: by then it may be another's."""

generation = 0
"""How many forks lie between this process and the one that imported the module. What was made in another
generation was the parent's."""
pid = os.getpid()
_forking = False
"""Set while the process forks, and in a child until it has closed what it inherited."""


def open_handle(path: Path | str, flags: int, *, mode: int = 0o600, directory: int | None = None) -> int:
    """Open, and remember it for the next fork."""
    with gate:
        descriptor = os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=directory)
        _open.add(descriptor)
    return descriptor


def close_handle(descriptor: int) -> None:
    """Close, and forget it."""
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
    """A set of descriptors to sleep on."""
    with gate:
        made = select.epoll()
        _sleeps.add(made)
    return made


def close_epoll(made: select.epoll) -> None:
    """Close, and forget it."""
    with gate:
        _sleeps.discard(made)
        made.close()


def open_socket() -> socket.socket:
    """A datagram socket of this machine."""
    with gate:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.setblocking(False)
        _sockets.add(made)
    return made


def close_socket(made: socket.socket) -> None:
    """Close, and forget it."""
    with gate:
        _sockets.discard(made)
        made.close()


def _close_sockets() -> None:
    """At the interpreter's end: those of the main thread outlive what would close them."""
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
    generation += 1  # first of all: what is inherited must not count
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
        with contextlib.suppress(RuntimeError):  # the second time it is not ours any more
            gate.release()


atexit.register(_close_sockets)
at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
# Once more: an interrupt that strikes within a hook is seen by nobody, and ends it.
at_fork(after_in_child=_after_in_child)
