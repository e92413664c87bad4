"""vez for asyncio: the same names as `vez`, with coroutines in place of blocking calls."""

from vez.locks.turns.aio import Client, Election, Grant, Leadership, Lock, connect
from vez.locks.turns.aio_default import lock

__all__ = ["Client", "Election", "Grant", "Leadership", "Lock", "connect", "lock"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
