"""Wrongs: what goes wrong inside a worker, because the campaign says so: its wall clock, fsync and msync.

There is no way to give one process another wall clock or a failing disk without privileges, so the calls are replaced
inside the worker, before the engine makes one. What the engine sees is what it would see of the kernel.
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
from vez.torture.controls import Controls

if TYPE_CHECKING:
    from vez.engines.base import Kind
    from vez.engines.file.core import FileCore
    from vez.engines.seam import Engine
    from vez.torture.record import Recorder


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
        """A map whose msync fails when the campaign says so."""

        def flush(self, *where: int) -> None:
            if (number := -controls.sync_error(worker)) > 0:
                raise OSError(number, os.strerror(number))
            super().flush(*where)

    _replace(real, fsync)
    _replace(usual, Map)


@cache
def _places() -> dict[int, list[tuple[ModuleType, str]]]:
    """Which modules know the calls, and by what names. The nursery looks once, before it forks: it takes long."""
    found: dict[int, list[tuple[ModuleType, str]]] = {id(call): [] for call in (time.time, os.fsync, mmap.mmap)}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in found:
                found[id(value)].append((module, name))
    return found


def prepare() -> None:
    """Do once what `install` would do in every worker."""
    from vez.engines.file import core  # noqa: F401  what the workers will have loaded

    _places()


def _replace(real: object, wrong: object) -> None:
    """Put one object in the place of another in every module that knows it by a name."""
    for module, name in _places()[id(real)]:
        setattr(module, name, wrong)


def files_of(engine: Engine) -> FileCore | None:
    """The directory behind an engine, if it is the engine of files."""
    from vez.engines.file.core import FileCore

    core = getattr(engine, "core", None)
    return core if isinstance(core, FileCore) else None


def _reserved_in(descriptor: int) -> int | None:
    """The bound of the tokens in a file of the engine: all of them are below. None for other files."""
    from vez.engines.file.layout import MAGIC, SLOTS_AT, read_durable

    with suppress(OSError, CorruptState):
        page = os.pread(descriptor, SLOTS_AT, 0)
        if page[: len(MAGIC)] == MAGIC and len(page) == SLOTS_AT:
            return read_durable(page, "the file")[0]
    return None


def skip_range(engine: Engine, kind: Kind, name: str) -> None:
    """Let the next request need another range of tokens, and a sync: the counter goes to the end of its range. Ranges
    are long, and a campaign would not see the end of one. Gaps between tokens are allowed."""
    from vez.engines.file.doorway import doorway
    from vez.engines.file.layout import ALL, COMPLEMENT, NEXT, SLOTS_AT, read_durable

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
