"""The file engine: turns kept in a directory of this machine, by the kernel. Needs Linux; the rest of vez does not.

    core                              the engine of one directory
    place, path_checks, directory, upgrade   the directory: which one, its path, its checks, that of version 0.1
    layout, slots, mapped_file        the bytes of a name's file, the slots in it, the mapped file
    quoting                           names and paths as in URLs
    ticket_file, doorway, byte_locks  the counter, the short `flock` around it, the locks that mark living tickets
    ticket, waiter, holding           a request: its ticket, its wait, its holding
    locks, permits, candidates        the rules by which locks, permits and leaderships are granted
    leadership, observers             the leader of an election, and observers
    bell, ears                        waking waiters: in threads, and in event loops
    listener                          telling a thread of a loss
    breaking, graph                   forced releases; deadlock detection across processes
    memos                             the memos of names
    mark, pruning                     removal of idle files, whose tokens are never issued again
    inspection, examination           `vez status` and `vez doctor`

docs/decisions/file-engine.md has the reasons, and every point at which a process can die.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vez.locks.engines import late_parts
from vez.locks.engines.base import Traits
from vez.locks.engines.local.thread_engine import LocalEngine
from vez.locks.engines.machine import refuse_unless_linux

if TYPE_CHECKING:
    from vez.locks.engines.file.core import FileCore
    from vez.locks.engines.file.place import Place
    from vez.locks.engines.local.task_engine import LocalAsyncEngine
    from vez.locks.engines.promises import Finding

TRAITS = Traits(
    frees="kernel",
    reaches="machine",
    token="arrival",  # noqa: S106  not a password
    cycles="all",
    lifeline=True,
    memos=True,
    notes=("It needs Linux, and a directory on a disk of this machine: network file systems are refused.",),
)
NEEDS = ""
NEEDED = (
    "fcntl.F_OFD_SETLK", "os.pidfd_open", "os.posix_fallocate", "os.register_at_fork", "resource.getrlimit",
    "select.epoll", "_socket.AF_UNIX",
)  # fmt: skip
"""The features of the system that this engine needs. Linux has all of them since 5.3 (pidfd_open); no other system
has."""


def open_engine(url: str) -> LocalEngine:
    """The engine of a `file:` URL for threads; `EngineUnavailable` on other systems."""
    return LocalEngine(_open_core(_place(url)))


def open_async_engine(url: str) -> LocalAsyncEngine:
    """The engine of a `file:` URL for tasks. Its directory is opened at the first use."""
    from vez.locks.engines.local.task_engine import LocalAsyncEngine  # here: only tasks need asyncio

    place = _place(url)
    return LocalAsyncEngine(place.url, TRAITS, partial(_open_whole_core, place))


def examine(url: str) -> list[Finding]:
    """The findings of `vez doctor` about the directory."""
    place = _place(url)
    from vez.locks.engines.file.examination import examine_directory

    return examine_directory(place)


def _place(url: str) -> Place:
    refuse_unless_linux("file:", NEEDED, hint="use memory: for the threads and tasks of one process, or run on Linux")
    from vez.locks.engines.file.place import place_of

    return place_of(url)


def _open_whole_core(place: Place) -> FileCore:
    """Open the core and load all its parts: an event loop must not wait for that later."""
    core = _open_core(place)
    try:
        from vez.locks.engines.file import ears  # noqa: F401

        late_parts.load()
    except BaseException:
        core.close()
        raise
    return core


def _open_core(place: Place) -> FileCore:
    from vez.locks.engines.file.core import FileCore
    from vez.locks.engines.file.upgrade import retire_old_places

    core = FileCore(place)
    if place.is_default:
        try:
            retire_old_places(core)
        except BaseException:
            core.close()
            raise
    return core
