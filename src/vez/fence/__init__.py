"""vez.fence: guards for the protected resource, which refuse stale tokens.

A paused process cannot be told that it has lost its lock; when it resumes, it writes. Only the receiver can refuse that
write. Every guard keeps the highest token seen and raises `StaleToken` for a lower one; an equal token is the same
holder writing again.
"""

from vez.fence.file import FileGuard
from vez.fence.memory import MemoryGuard, refusals
from vez.fence.redis import RedisGuard
from vez.fence.sql import SqlGuard

__all__ = ["FileGuard", "MemoryGuard", "RedisGuard", "SqlGuard", "refusals"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
