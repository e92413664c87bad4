"""Faults inside a worker that the campaign switches on: its wall clock, fsync and msync.

A process cannot get another wall clock or a failing disk without privileges, so the calls are replaced inside the
worker, before the engine uses them. The engine sees the same results as from the kernel.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from vez.errors import CorruptState
from vez.testing.torture.controls import Controls

if TYPE_CHECKING:
    from vez.locks.engines.base import Kind
    from vez.locks.engines.file.core import FileCore
    from vez.locks.engines.seam import Engine
    from vez.testing.torture.record import Recorder


def install(controls: Controls, worker: int, recorder: Recorder) -> None:
    """Replace the calls in this process."""
    _wrong_clock(controls, worker)
    _failing_syncs(controls, worker, recorder)


def _wrong_clock(controls: Controls, worker: int) -> None:
    real = time.time

    def wrong() -> float:
        return real() + controls.clock(worker)

    _replace(real, wrong)


def _failing_syncs(controls: Controls, worker: int, recorder: Recorder) -> None:
    real, usual = os.fsync, mmap.mmap

    def fsync(descriptor: int) -> None:
        if (number := controls.sync_error(worker)) > 0:
            raise OSError(number, os.strerror(number))
        real(descriptor)
        if (reserved := _reserved_in(descriptor)) is not None:
            recorder.say("synced", token=reserved)

    class Map(usual):  # type: ignore[misc,valid-type]
        """A map whose msync fails while the campaign has switched this fault on."""

        def flush(self, *where: int) -> None:
            if (number := -controls.sync_error(worker)) > 0:
                raise OSError(number, os.strerror(number))
            super().flush(*where)

    _replace(real, fsync)
    _replace(usual, Map)


@cache
def _places() -> dict[int, list[tuple[ModuleType, str]]]:
    """The modules that refer to the calls, and the names that they use. The fork server searches once, before it forks,
    because the search takes long."""
    found: dict[int, list[tuple[ModuleType, str]]] = {id(call): [] for call in (time.time, os.fsync, mmap.mmap)}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in found:
                found[id(value)].append((module, name))
    return found


def prepare() -> None:
    """Do the search that `install` needs once, instead of in every worker."""
    from vez.locks.engines.file import core  # noqa: F401  what the workers will have loaded

    _places()


def _replace(real: object, wrong: object) -> None:
    """Replace one object by another in every module that refers to it by a name."""
    for module, name in _places()[id(real)]:
        setattr(module, name, wrong)


def files_of(engine: Engine) -> FileCore | None:
    """The core of an engine, if it is the file engine; else None."""
    from vez.locks.engines.file.core import FileCore

    core = getattr(engine, "core", None)
    return core if isinstance(core, FileCore) else None


def _reserved_in(descriptor: int) -> int | None:
    """The upper bound of the tokens in a file of the engine. None for other files."""
    from vez.locks.engines.file.layout import MAGIC, SLOTS_AT, read_durable

    with suppress(OSError, CorruptState):
        page = os.pread(descriptor, SLOTS_AT, 0)
        if page[: len(MAGIC)] == MAGIC and len(page) == SLOTS_AT:
            return read_durable(page, "the file")[0]
    return None


def skip_range(engine: Engine, kind: Kind, name: str) -> None:
    """Set the counter to the end of its range, so that the next request needs another range of tokens, and a sync.
    Ranges are long, and a campaign would not reach the end of one. Gaps between tokens are allowed."""
    from vez.locks.engines.file.doorway import doorway
    from vez.locks.engines.file.layout import ALL, COMPLEMENT, NEXT, SLOTS_AT, read_durable

    files = files_of(engine)
    if files is None:
        return
    file, handle = files.opened(kind, name)
    try:
        with doorway(handle, file.where):
            file.look(handle)
            last = read_durable(file.map[:SLOTS_AT], file.where)[0] - 1
            file.words[NEXT] = last
            file.words[COMPLEMENT] = last ^ ALL
    finally:
        file.give_back(handle)
