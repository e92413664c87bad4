"""Load the parts of an engine that are otherwise loaded when they are first used.

A program that only takes a turn starts quickly because it loads little: no msgspec, no search for cycles, no forced
releases. A program that lives longer may change its root directory, give up its rights or use up its descriptors, and
then nothing can be loaded any more. So `vez.connect` and `vez.aio.connect` load everything at once, and `vez.lock` does
so before its first wait.
"""

from __future__ import annotations

import sys

from vez.errors import EngineUnavailable
from vez.locks.engines import base

_PARTS = {
    "vez.locks.engines": ("shlex", "urllib.parse", "vez.locks.engines.cycles", "vez.locks.table.refusals"),
    "vez.locks.engines.file.core": (
        "grp", *(f"vez.locks.engines.file.{part}" for part in (
            "breaking", "candidates", "graph", "inspection", "listener", "memos", "observers",
            "permits",
        )),
    ),
    "vez.locks.turns.client": ("vez.locks.turns.thread_periodic",),
    "vez.locks.turns.aio": ("vez.locks.turns.task_periodic",),
}  # fmt: skip
"""Modules, with the modules that they load late."""


def load() -> None:
    """Load all parts of the engines that are in use. Raises `EngineUnavailable` if that is impossible by now."""
    late = [part for module, parts in _PARTS.items() if module in sys.modules for part in parts]
    try:
        base.Place  # noqa: B018  loads `views.py`
        for part in late:
            if part not in sys.modules:
                __import__(part)
    except (ImportError, OSError) as error:
        raise EngineUnavailable(
            f"cannot load a part of vez: {error}",
            hint="call vez.connect() before the program changes its root or its rights, or runs out of open files",
        ) from error
