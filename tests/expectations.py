"""Expectations of tests that have no value to compare."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vez import aio
from vez.locks.engines.base import Kind
from vez.testing.actors import PATIENCE


@contextmanager
def expect_no_error(otherwise: str) -> Iterator[None]:
    """Fail with this text if the body raises. For code that can only go wrong with an error."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{otherwise}: {error!r}") from error


async def eventually_in_task(condition: Callable[[], object], what: str = "the condition") -> None:
    """Poll until a condition is true, while the other tasks of the loop run; `AssertionError` after a minute."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {PATIENCE} s")
        await asyncio.sleep(0.002)  # the one poll of all tests that run in a loop


async def eventually_queued(client: aio.Client, *names: str, kind: Kind = "lock", count: int = 1) -> None:
    """Wait until `count` requests are queued for each name."""
    end = time.monotonic() + PATIENCE
    while not all([len((await client.inspect(name, kind)).queue) >= count for name in names]):
        assert time.monotonic() < end, f"nobody queues for one of {names}"
        await asyncio.sleep(0.002)  # no engine notifies observers of a new waiter
