"""The memory engine: turns within one process. The published fake: the whole contract, nothing on disk.

`memory:` and `memory:NAME` are spaces of this process; all clients of one URL share one. Tests of programs break its
locks and depose its leaders on demand (`vez.testing.plugin`).
"""

from __future__ import annotations

from vez.engines.memory.engine import MemoryEngine
from vez.engines.memory.ticket import MemoryTicket

__all__ = ["MemoryEngine", "MemoryTicket", "open_engine"]


def open_engine(url: str) -> MemoryEngine:
    """The engine of a `memory:` URL."""
    return MemoryEngine(url)
