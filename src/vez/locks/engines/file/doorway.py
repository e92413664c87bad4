"""The doorway: a short `flock` on one name's file, inside which tickets are drawn. The term is Lamport's (bakery)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

from vez.locks.engines.wording import busy_doorway

_PAUSE = 0.0002
PATIENCE = 5.0
"""Seconds to wait for the doorway in operations that have no timeout of their own and must not block for ever."""


def enter(handle: int, patience: float | None, mode: int = LOCK_EX) -> None:
    """Enter the doorway; `BlockingIOError` if it stayed busy for `patience` seconds. None waits without limit.

    Call it inside the `try` whose `finally` leaves: an interrupt can arrive when the doorway is already ours and this
    function has not returned yet. Leaving without having entered is harmless."""
    if patience is None:
        flock(handle, mode)
        return
    deadline = 0.0
    while True:
        try:
            flock(handle, mode | LOCK_NB)
            return
        except BlockingIOError:
            now = time.monotonic()
            deadline = deadline or now + patience
            if now >= deadline:
                raise
            time.sleep(_PAUSE)


@contextlib.contextmanager
def doorway(handle: int, where: str, patience: float = PATIENCE, *, mode: int = LOCK_EX) -> Iterator[None]:
    """Run the body inside the doorway; `EngineUnavailable` if it stayed busy for `patience` seconds."""
    try:
        try:
            enter(handle, patience, mode)
        except BlockingIOError:
            raise busy_doorway(where, patience) from None
        yield
    finally:
        flock(handle, LOCK_UN)
