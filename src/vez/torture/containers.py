"""Containers for workers: namespaces of their own, made by `unshare`, which a plain user may do on most machines.

Nothing of the machine changes: a mount, a network or a clock of a namespace is gone with the processes in it. The
directory of the engine is shared by all of them, for some of them at another path.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

_PATIENCE = 20.0
_USER = ("unshare", "--user", "--map-root-user")
"""A user namespace first: the others need no privileges in there."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_BIND = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"'
"""Binds each pair of paths, then runs what follows `--`."""
# It has room for the two megabytes that records of breaks may take.
_SMALL_DISK = 'mount -t tmpfs -o size=4m,mode=0700 torture "$1" || exit; shift; exec "$@"'


class Container(NamedTuple):
    """Which namespaces a worker has for its own."""

    name: str
    boot: bool = False
    processes: bool = False
    network: bool = False
    mounts: bool = False
    """The directory of the engine is at another path."""
    ahead: int = 0
    """Seconds by which its monotonic clock and its time since boot are ahead."""


OUTSIDE = Container("outside")
CONTAINERS = (
    Container("boot id", boot=True),
    Container("process numbers", processes=True),
    Container("network", network=True),
    Container("mounts", mounts=True),
    Container("all", boot=True, processes=True, network=True, mounts=True),
)


class Shared(NamedTuple):
    """What containers share, and where they put what is their own."""

    folder: Path
    directory: Path
    """Of the engine."""
    query: str = ""
    """Of the URL."""
    enter: tuple[str, ...] = ()
    """How to enter the namespaces that all of them are in."""

    def elsewhere(self, container: Container) -> Path:
        """Where a container sees the directory of the engine."""
        return self.folder / "elsewhere" if container.mounts else self.directory

    def url(self, container: Container) -> str:
        """The URL of the engine, as a container sees it."""
        return f"file://{quote(str(self.elsewhere(container)))}{self.query}"

    def command(self, container: Container) -> list[str]:
        """What to put before a command that runs in the container."""
        if container == OUTSIDE:
            return list(self.enter)
        words = [*self.enter, *_USER]
        binds: list[str] = []
        if container.boot:
            identifier = self.folder / f"boot_id-{container.name.replace(' ', '-')}"
            if not identifier.exists():
                identifier.write_text(f"{uuid.uuid4()}\n")
            binds += [str(identifier), _BOOT_ID]
        if container.mounts:
            self.elsewhere(container).mkdir(exist_ok=True)
            binds += [str(self.directory), str(self.elsewhere(container))]
        if binds:
            words.append("--mount")
        if container.network:
            words.append("--net")
        if container.processes:
            words += ["--pid", "--kill-child", "--mount-proc"]
        if container.ahead:
            ahead = str(container.ahead)
            words += ["--time", "--kill-child", "--monotonic", ahead, "--boottime", ahead]
        return [*words, "sh", "-c", _BIND, "sh", *binds, "--"]


def small_disk(directory: Path) -> list[str]:
    """What to put before a command that sees a small disk in memory in the place of the directory."""
    return [*_USER, "--mount", "sh", "-c", _SMALL_DISK, "sh", str(directory)]


def entering(process: int) -> tuple[str, ...]:
    """What to put before a command that runs in the user and mount namespaces of a process."""
    return ("nsenter", "--target", str(process), "--user", "--mount", "--preserve-credentials", "--")


def refusal(command: Sequence[str]) -> str | None:
    """Why a command like this cannot run here; None if it can."""
    for tool in ("unshare", "nsenter", "mount"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    try:
        done = subprocess.run(  # noqa: S603
            [*command, sys.executable, "-c", ""], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
