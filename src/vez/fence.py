"""vez.fence: guards that refuse stale tokens; the code is in `vez.locks.fence`."""

from vez.locks.fence import FileGuard, MemoryGuard, RedisGuard, SqlGuard, refusals

__all__ = ["FileGuard", "MemoryGuard", "RedisGuard", "SqlGuard", "refusals"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
