"""Hosts as network namespaces: each has its own address on a switch, and its cable can be pulled or made slow.

Each host also has a time namespace. Its monotonic clock differs by a day from that of the next host, as if the two had
been started a day apart.

The network of the machine itself does not change: the namespaces have no names, and they vanish with the processes that
hold them. Not every machine allows this; `hosts` then skips with the reason.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class Refused(Exception):
    """The machine does not allow it."""


APART_S = 86_400
"""Seconds between the clocks of two hosts."""


class Hosts:
    """A switch and some hosts, numbered from 1."""

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[str]] = []
        self._days = itertools.count()
        self._switch = 0
        self._hosts: list[int] = []

    def start(self, count: int) -> None:
        """Make the namespaces and connect them. Raises `Refused`."""
        self._switch = self._namespace()
        self._hosts = [self._namespace() for _ in range(count)]
        self._run(self._switch, "ip", "link", "add", "bridge0", "type", "bridge")
        self._run(self._switch, "ip", "link", "set", "bridge0", "up")
        for number, host in enumerate(self._hosts, 1):
            peer = ("peer", "name", "eth0", "netns", str(host))
            self._run(self._switch, "ip", "link", "add", f"port{number}", "type", "veth", *peer)
            self._run(self._switch, "ip", "link", "set", f"port{number}", "master", "bridge0", "up")
            self._run(host, "ip", "address", "add", f"{self.address(number)}/24", "dev", "eth0")
            self._run(host, "ip", "link", "set", "eth0", "up")
            self._run(host, "ip", "link", "set", "lo", "up")

    def address(self, number: int) -> str:
        """The address of a host."""
        return f"10.213.7.{number}"

    def on(self, number: int) -> list[str]:
        """The prefix for a command that runs on a host."""
        return _inside(self._hosts[number - 1])

    def unplug(self, number: int) -> None:
        """Pull the cable of a host. No program is told."""
        self._run(self._switch, "ip", "link", "set", f"port{number}", "down")

    def plug(self, number: int) -> None:
        """Plug the cable in again."""
        self._run(self._switch, "ip", "link", "set", f"port{number}", "up")

    def slow(self, number: int, milliseconds: int) -> None:
        """Delay everything that a host sends."""
        host = self._hosts[number - 1]
        self._run(host, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", f"{milliseconds}ms")

    def close(self) -> None:
        """End the processes that hold the namespaces."""
        for holder in self._holders:
            holder.communicate(timeout=60)

    def _namespace(self) -> int:
        """A process in new namespaces."""
        clock = ["--time", "--monotonic", str(next(self._days) * APART_S), "--fork"]
        holder = subprocess.Popen(
            ["unshare", "--net", *clock, sys.executable, "-c", "import os; print(os.getpid(), flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._holders.append(holder)
        assert holder.stdout is not None
        line = holder.stdout.readline()
        if not line:
            raise Refused(holder.communicate(timeout=60)[1].strip())
        return int(line)

    @staticmethod
    def _run(namespace: int, *command: str) -> None:
        found = subprocess.run([*_inside(namespace), *command], capture_output=True, text=True, timeout=30)
        if found.returncode:
            raise Refused(f"{' '.join(command)}: {found.stderr.strip()}")


def _inside(namespace: int) -> list[str]:
    return ["nsenter", "--target", str(namespace), "--net", "--time", "--"]


@contextmanager
def hosts(count: int) -> Iterator[Hosts]:
    """Some hosts, or a skip with the reason."""
    for tool in ("ip", "unshare", "nsenter"):
        if shutil.which(tool) is None:
            pytest.skip(f"hosts as network namespaces need {tool}")
    made = Hosts()
    try:
        try:
            made.start(count)
        except Refused as error:
            pytest.skip(f"this machine allows no network namespaces: {error}")
        yield made
    finally:
        made.close()
