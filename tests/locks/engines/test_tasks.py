"""The task to which a lock belongs: the one that called `acquire`, whichever task runs the coroutine."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import pytest

from tests.expectations import eventually_queued
from vez import aio
from vez.errors import AlreadyHeld, Misuse, VezError

_spaces = count()


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/turns" if request.param == "file" else f"memory:tasks-{next(_spaces)}"


def test_the_idioms_of_asyncio_acquire_for_the_task_that_calls(url: str) -> None:
    """On Python 3.11 `wait_for` runs a coroutine in a task of its own."""

    async def run() -> list[bool]:
        async with aio.connect(url) as client:
            lock, other = client.lock("idiom"), client.election("idiom")
            grant = await asyncio.wait_for(lock.acquire(), 20)
            with pytest.raises(AlreadyHeld):
                await asyncio.wait_for(lock.acquire(), 20)
            await asyncio.wait_for(lock.release(), 20)
            tried = await asyncio.create_task(lock.try_acquire())
            assert tried is not None
            assert repr(lock).endswith(f"held by this task, token {tried.token}>")
            await lock.release()
            await asyncio.gather(lock.acquire(), other.acquire())
            await lock.release()
            await other.release()
            async with await asyncio.wait_for(other.acquire(), 20) as leadership:
                assert not leadership.lost
            return [grant.released, tried.released, leadership.released]

    assert asyncio.run(run()) == [True, True, True]


def test_a_child_task_is_an_owner_of_its_own(url: str) -> None:
    async def run() -> None:
        async with aio.connect(url) as client:
            lock = client.lock("mine")

            async def child() -> aio.Grant | None:
                with pytest.raises(Misuse):
                    await lock.release()
                return await lock.try_acquire()

            async with lock:
                assert await asyncio.create_task(child()) is None

    asyncio.run(run())


def test_a_coroutine_that_was_made_outside_of_a_task_belongs_to_the_task_that_runs_it(url: str) -> None:
    loop = asyncio.new_event_loop()
    try:
        client = aio.connect(url)
        grant = loop.run_until_complete(client.lock("outside").acquire())
        assert not grant.lost
        loop.run_until_complete(grant.release())
        assert loop.run_until_complete(client.inspect("outside")).holders == ()
        loop.run_until_complete(client.close())
    finally:
        loop.close()


def test_a_closed_client_ends_the_waits_of_tasks_at_once(url: str) -> None:
    async def run() -> None:
        async with aio.connect(url) as other:
            held = await other.lock("x").acquire()
            client = aio.connect(url)

            async def wait() -> None:
                await client.lock("x").acquire()

            waiting = asyncio.create_task(wait())
            await eventually_queued(other, "x")
            await client.close()
            with pytest.raises(VezError, match="closed"):
                await asyncio.wait_for(waiting, 0.5)
            await held.release()

    asyncio.run(run())
