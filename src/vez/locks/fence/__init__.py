"""Guards for the protected resource, which refuse stale tokens.

A paused process cannot be told that it has lost its lock; when it resumes, it writes. Only the receiver can refuse that
write. Every guard keeps the highest token seen and raises `StaleToken` for a lower one; an equal token is the same
holder writing again.
"""

from vez.locks.fence.file import FileGuard
from vez.locks.fence.memory import MemoryGuard, refusals
from vez.locks.fence.redis import RedisGuard
from vez.locks.fence.sql import SqlGuard

__all__ = ["FileGuard", "MemoryGuard", "RedisGuard", "SqlGuard", "refusals"]
