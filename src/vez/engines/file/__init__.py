"""The file engine: turns kept in a directory of this machine, by the kernel. Needs Linux; the rest of vez does not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vez.engines.base import Traits
from vez.engines.local_tasks import LocalAsyncEngine
from vez.engines.local_threads import LocalEngine
from vez.engines.machine import refuse_unless_linux

if TYPE_CHECKING:
    from vez.engines.file.core import FileCore
    from vez.engines.file.place import Place
    from vez.engines.promises import Finding

TRAITS = Traits(
    frees="kernel",
    reaches="machine",
    token="arrival",  # noqa: S106  not a password
    cycles="all",
    lifeline=True,
    notes=("It needs Linux, and a directory on a disk of this machine: network file systems are refused.",),
)
NEEDS = ""
NEEDED = (
    "fcntl.F_OFD_SETLK", "os.pidfd_open", "os.posix_fallocate", "os.register_at_fork", "resource.getrlimit",
    "select.epoll", "socket.AF_UNIX",
)  # fmt: skip
"""What no other system has together. Linux has all of it since 5.3 (pidfd_open)."""


def open_engine(url: str) -> LocalEngine:
    """The engine of a `file:` URL for threads; `EngineUnavailable` on other systems."""
    return LocalEngine(_open_core(_place(url)))


def open_async_engine(url: str) -> LocalAsyncEngine:
    """The engine of a `file:` URL for tasks. Its directory is opened at the first use."""
    place = _place(url)
    return LocalAsyncEngine(place.url, TRAITS, partial(_open_core, place))


def examine(url: str) -> list[Finding]:
    """What `vez doctor` says of the directory."""
    place = _place(url)
    from vez.engines.file.examination import examine_directory

    return examine_directory(place)


def _place(url: str) -> Place:
    refuse_unless_linux("file:", NEEDED, hint="use memory: for the threads and tasks of one process, or run on Linux")
    from vez.engines.file.place import place_of

    return place_of(url)


def _open_core(place: Place) -> FileCore:
    from vez.engines.file.core import FileCore
    from vez.engines.file.upgrade import retire_old_places

    core = FileCore(place)
    if place.is_default:
        try:
            retire_old_places(core)
        except BaseException:
            core.close()
            raise
    return core
