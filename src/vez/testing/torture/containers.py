"""Containers for workers: separate namespaces, made by `unshare`, which a plain user may do on most machines.

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
"""The command that makes a user namespace. It comes first, because the others need no privileges inside it."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_BIND = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"'
"""A script that binds each pair of paths, then runs the command after `--`."""
# It has room for the two megabytes that records of breaks may take.
_SMALL_DISK = 'mount -t tmpfs -o size=4m,mode=0700 torture "$1" || exit; shift; exec "$@"'


class Container(NamedTuple):
    """The namespaces that a worker does not share with the campaign."""

    name: str
    boot: bool = False
    processes: bool = False
    network: bool = False
    mounts: bool = False
    """True if the directory of the engine is at another path."""
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
    """The things that containers share, and the folder for their own."""

    folder: Path
    directory: Path
    """The directory of the engine."""
    query: str = ""
    """The query of the engine's URL."""
    enter: tuple[str, ...] = ()
    """The command prefix that enters the namespaces which all containers share."""

    def elsewhere(self, container: Container) -> Path:
        """The path at which a container sees the directory of the engine."""
        return self.folder / "elsewhere" if container.mounts else self.directory

    def url(self, container: Container) -> str:
        """The URL of the engine, as a container sees it."""
        return f"file://{quote(str(self.elsewhere(container)))}{self.query}"

    def command(self, container: Container) -> list[str]:
        """The prefix for a command that runs in the container."""
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
    """The prefix for a command that sees a small disk in memory in place of the directory."""
    return [*_USER, "--mount", "sh", "-c", _SMALL_DISK, "sh", str(directory)]


def entering(process: int) -> tuple[str, ...]:
    """The prefix for a command that runs in the user and mount namespaces of a process."""
    return ("nsenter", "--target", str(process), "--user", "--mount", "--preserve-credentials", "--")


def refusal(command: Sequence[str]) -> str | None:
    """Reason why such a command cannot run here; None if it can."""
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
