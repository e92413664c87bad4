"""The memory engine: turns within one process. The published fake: the whole contract, nothing on disk.

`memory:` and `memory:NAME` are spaces of this process; all clients of one URL share one. Tests of programs break its
locks and depose its leaders on demand (`vez.testing.plugin`).
"""

from __future__ import annotations

from vez.engines.local_tasks import LocalAsyncEngine
from vez.engines.local_threads import LocalEngine
from vez.engines.memory.core import TRAITS, MemoryCore
from vez.engines.memory.ticket import MemoryTicket

__all__ = ["NEEDS", "TRAITS", "MemoryCore", "MemoryTicket", "open_async_engine", "open_engine"]

NEEDS = ""


def open_engine(url: str) -> LocalEngine:
    """The engine of a `memory:` URL for threads."""
    return LocalEngine(MemoryCore(url))


def open_async_engine(url: str) -> LocalAsyncEngine:
    """The engine of a `memory:` URL for tasks."""
    return LocalAsyncEngine(url, TRAITS, MemoryCore(url))
