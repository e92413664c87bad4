"""Groups of programs for tests: all members in the process of the test, or each a process of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vez.locks.turns.client import Client, connect
from vez.testing.workers import Worker

PATIENCE = 60.0
"""Seconds after which a test gives up. A busy machine must not fail a test."""
CALM: dict[str, Any] = {"suspect_ms": 20_000, "beat_ms": 500, "time_scale": 500}
"""Options with which a loaded machine breaks no bound: a message may take a second, even in an algorithm that depends
on its timers."""


class Places:
    """Unix sockets of a group in a short directory that only we may enter."""

    def __init__(self, n: int = 3) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="vez-p-"))
        self.ids = range(1, n + 1)
        self.addresses = [f"unix:{self.folder}/{one}.sock" for one in self.ids]

    def url(self, me: int, algorithm: str, **options: object) -> str:
        more = "".join(f"&{key}={quote(str(value))}" for key, value in options.items())
        return f"peers://{','.join(self.addresses)}?algorithm={quote(algorithm)}&me={me}{more}"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def places(n: int = 3) -> Iterator[Places]:
    made = Places(n)
    try:
        yield made
    finally:
        made.remove()


@contextmanager
def group(algorithm: str, n: int = 3, **options: object) -> Iterator[list[Client]]:
    """A client for each member, all in this process."""
    with places(n) as made, contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect(made.url(one, algorithm, **options))) for one in made.ids]


class Program(Worker):
    """A worker process that is a member of a group. Its warnings go to a file."""

    def got(self, name: str = "x", *options: str) -> str:
        """Let it acquire. Returns the token as it was printed."""
        answer = self.ask("acquire", name, *options)
        assert answer.startswith("got "), answer
        return answer.removeprefix("got ")

    def hear(self, seconds: float = PATIENCE) -> str:
        return super().hear(seconds)


@contextmanager
def programs(algorithm: str, n: int = 3, **options: object) -> Iterator[list[Program]]:
    """Real processes, one for each member."""
    with places(n) as made, started(made, algorithm, **options) as found:
        yield found


@contextmanager
def started(made: Places, algorithm: str, **options: object) -> Iterator[list[Program]]:
    """Real processes, one for each member, at given places."""
    found: list[Program] = []
    try:
        found.extend(Program(made.url(one, algorithm, **options)) for one in made.ids)
        yield found
    finally:
        for program in found:
            program.close()


def key_file(folder: Path) -> Path:
    """A key that only we may read."""
    path = folder / "group.key"
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path
