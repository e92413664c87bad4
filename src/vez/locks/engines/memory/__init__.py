"""The memory engine: locks within one process. It is also a test double: it keeps the whole contract, and writes no
files.

Each URL, `memory:` or `memory:NAME`, is a separate set of names. All clients of one URL in a process share it. Tests of
programs break its locks and depose its leaders on demand (`vez.testing.plugin`).
"""

from __future__ import annotations

from vez.locks.engines.local.task_engine import LocalAsyncEngine
from vez.locks.engines.local.thread_engine import LocalEngine
from vez.locks.engines.memory.core import TRAITS, MemoryCore
from vez.locks.engines.memory.ticket import MemoryTicket

__all__ = ["NEEDS", "TRAITS", "MemoryCore", "MemoryTicket", "open_async_engine", "open_engine"]

NEEDS = ""


def open_engine(url: str) -> LocalEngine:
    """The engine of a `memory:` URL for threads."""
    return LocalEngine(MemoryCore(url))


def open_async_engine(url: str) -> LocalAsyncEngine:
    """The engine of a `memory:` URL for tasks."""
    return LocalAsyncEngine(url, TRAITS, MemoryCore(url))
