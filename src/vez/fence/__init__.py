"""vez.fence: guards for the protected side, which accept a token and refuse a stale one.

A process that is paused cannot be told that it has lost its lock; when it goes on, it writes. The only one who can
stop that write is whoever receives it. Every guard keeps the highest token seen, and raises `StaleToken` for a lower
one; an equal one is the same holder writing again.
"""

from vez.fence.file import FileGuard
from vez.fence.memory import MemoryGuard
from vez.fence.redis import RedisGuard
from vez.fence.sql import SqlGuard

__all__ = ["FileGuard", "MemoryGuard", "RedisGuard", "SqlGuard"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
