"""A client of tasks and its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from vez import aio
from vez.errors import Misuse


@pytest.fixture
def loops() -> Iterator[list[asyncio.AbstractEventLoop]]:
    """Two event loops, of which neither is closed."""
    with asyncio.Runner() as first, asyncio.Runner() as second:
        yield [first.get_loop(), second.get_loop()]


@pytest.mark.parametrize(
    "what", ["acquire", "release", "transfer", "inspect", "locks", "prune", "break_lock", "observe", "close"]
)
def test_a_second_loop_is_refused(url: str, loops: list[asyncio.AbstractEventLoop], what: str) -> None:
    first, second = loops
    client = aio.connect(url)

    async def begin() -> Any:
        return await client.election("x").acquire(60)

    async def ask(leadership: Any) -> None:
        calls = {
            "acquire": lambda: client.lock("y").acquire(0),
            "release": leadership.release,
            "transfer": lambda: leadership.transfer("nobody"),
            "inspect": lambda: client.inspect("x"),
            "locks": client.locks,
            "prune": client.prune,
            "break_lock": lambda: client.break_lock("x", "a test", "election"),
            "observe": lambda: anext(client.election("x").observe()),
            "close": client.close,
        }
        await calls[what]()

    leadership = first.run_until_complete(begin())
    with pytest.raises(Misuse, match="belongs to one event loop") as caught:
        second.run_until_complete(ask(leadership))
    assert caught.value.hint == "connect in each"
    leadership.check()
    first.run_until_complete(client.close())


def test_a_second_loop_after_the_first_was_closed(url: str) -> None:
    client = aio.connect(url)
    tokens: list[int] = []

    async def use(*, crowd: int) -> None:
        async def turn() -> None:
            async with client.lock("x", timeout=60) as grant:
                tokens.append(grant.token)

        await asyncio.gather(*(turn() for _ in range(crowd)))

    for _ in range(3):
        asyncio.run(use(crowd=5))  # they meet at the opening of a session
    assert len(tokens) == 15
    assert tokens == sorted(set(tokens))
    asyncio.run(client.close())
