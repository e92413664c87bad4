"""The file engine: turns kept in a directory of this machine, by the kernel. Needs Linux; the rest of vez does not."""

from __future__ import annotations

from vez.engines.base import Engine
from vez.engines.machine import refuse_unless_linux

NEEDED = (
    "fcntl.F_OFD_SETLK", "os.pidfd_open", "os.posix_fallocate", "os.register_at_fork", "resource.getrlimit",
    "select.epoll", "socket.AF_UNIX",
)  # fmt: skip
"""What no other system has together. Linux has all of it since 5.3 (pidfd_open)."""


def open_engine(url: str) -> Engine:
    """The engine of a `file:` URL; `EngineUnavailable` on other systems."""
    refuse_unless_linux("file:", NEEDED, hint="use memory: for the threads and tasks of one process, or run on Linux")
    from vez.engines.file.directory import directory_of
    from vez.engines.file.engine import FileEngine

    return FileEngine(directory_of(url))
