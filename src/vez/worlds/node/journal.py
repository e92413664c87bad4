"""Journal: the events of one incarnation of one node, written to disk as they happen.

The events of one handler are written with one `write`, before its messages leave. So a process that is killed has
recorded everything that others can know. The file is JSON lines: a head, then events of the trace format. A delivery
also names the incarnation of the sender, because every incarnation numbers its messages from 1; `vez cluster` numbers
them again when it merges. A node that stops in order writes a last line that says so. A file without that line is of a
node that was killed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vez.core.trace import AnyEvent, Delivered, Event
from vez.errors import CannotWrite

FORMAT = 3
"""The format of journals. Format 1 did not record that the node stopped in order; format 2 did not count the events."""


class Received(Delivered, tag="delivered"):
    """A delivery, with the incarnation of the sender."""

    incarnation: str = ""


class Ended(Event):
    """The node stopped in order, or because a handler raised an exception, which the previous event notes."""

    raised: bool = False
    events: int | None = None
    """The number of events before this one; None in format 2."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a journal."""

    vez_journal: int
    node: int
    incarnation: str
    algorithm: str
    group: str
    ids: tuple[int, ...]
    topology: str
    edges: tuple[tuple[int, int], ...]
    assumes: tuple[str, ...]
    time_scale: float
    clock: str
    """The name of the clock. The times of two journals with the same clock can be compared."""
    altered: tuple[str, ...] = ()
    """The promises that the conditions of the run change (see `Conditions.alters`)."""
    initial: dict[str, Any] = {}
    """The fields with which the node starts, where they differ from those of its class."""


_encoder = msgspec.json.Encoder(order="deterministic")


def now_us() -> int:
    """Microseconds of the monotonic clock."""
    return time.monotonic_ns() // 1000


def clock_name() -> str:
    """A name for this host's monotonic clock since it was started.

    A container may have a time namespace. Its clock then differs from other clocks on the same kernel.
    """
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"process {os.getpid()}"
    with contextlib.suppress(OSError):  # kernels before 5.6 have none
        name += f" {os.stat('/proc/self/ns/time').st_ino}"
    return name


class Journal:
    """The journal of this incarnation."""

    def __init__(self, path: Path, head: Head) -> None:
        self._path = path
        self._events = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror}") from error
        self._write(_encoder.encode(head) + b"\n")

    def write(self, events: Sequence[AnyEvent | Event]) -> None:
        """Write events with one call of the system."""
        self._write(_encoder.encode_lines(events))
        self._events += len(events)

    def end(self, at: int, node: int, *, raised: bool) -> None:
        """Write the last line, which says how many events there are."""
        self.write([Ended(at, node, raised, self._events)])

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        try:
            while (written := os.write(self._file, data)) < len(data):
                data = data[written:]
        except OSError as error:
            raise CannotWrite(f"cannot write {self._path}: {error.strerror}") from error
