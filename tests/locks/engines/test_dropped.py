"""Clients that are closed, and clients that the program drops: no descriptor, thread, task or lease of theirs remains."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import vez
import vez.aio
from tests.locks.etcd.conftest import started
from tests.locks.peers.groups import CALM, places
from vez.errors import Deadlock
from vez.testing import eventually

MANY = 8
LONG = CALM | {"lease_ms": 1000}
"""A busy machine loses no lock."""
ENGINES = ("file", "memory", "etcd", "peers")


@pytest.fixture(scope="module")
def etcd_url() -> Iterator[str]:
    yield from (server.url for server in started("system"))


@pytest.fixture(params=ENGINES)
def where(request: pytest.FixtureRequest, home: Path) -> Iterator[str]:
    """The URL of an engine of each kind."""
    if request.param == "peers":
        with places(2) as made:
            urls = [made.url(me, "coordinator-lease", state=made.folder / f"state{me}", **LONG) for me in made.ids]
            with vez.connect(urls[0]):
                yield urls[1]
    elif request.param == "etcd":
        yield request.getfixturevalue("etcd_url")
    else:
        yield {"file": f"file://{home}", "memory": "memory:dropped"}[request.param]


def ours() -> tuple[int, int]:
    """Number of open descriptors and of threads of this process, also of those that `threading` does not know."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


@contextmanager
def expect_nothing_left(used: Callable[[], object]) -> Iterator[None]:
    """Fail if the body leaves a descriptor or a thread. `used` is called before, so that what is kept for ever is there
    already."""
    used()
    gc.collect()
    before = ours()
    yield

    def gone() -> bool:
        gc.collect()
        return all(now <= then for now, then in zip(ours(), before, strict=True))

    eventually(gone, f"descriptors and threads: {before} before")


def turn(client: vez.Client) -> None:
    with client.lock("x", timeout=30):
        client.inspect("x")


async def turn_of_a_task(client: vez.aio.Client) -> None:
    async with client.lock("x", timeout=30):
        await client.inspect("x")


def use(where: str) -> None:
    with vez.connect(where) as client:
        turn(client)

    async def run() -> None:
        async with vez.aio.connect(where) as client:
            await turn_of_a_task(client)

    asyncio.run(run())


def test_clients_of_threads_that_were_dropped(where: str) -> None:
    with expect_nothing_left(lambda: use(where)):
        for _ in range(MANY):
            turn(vez.connect(where))
    with vez.connect(where) as client:
        turn(client)


def test_clients_of_tasks_that_were_dropped(where: str) -> None:
    """They are gone while their loop still runs."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(MANY):
            await turn_of_a_task(vez.aio.connect(where))
        for _ in range(2000):
            gc.collect()
            await loop.shutdown_default_executor()
            if len(asyncio.all_tasks()) == 1 and len(os.listdir("/proc/self/fd")) <= before:
                return
            await asyncio.sleep(0.005)  # the loop closes what was dropped; nothing tells when it has
        raise AssertionError(f"{len(os.listdir('/proc/self/fd'))} descriptors, {before} before, {asyncio.all_tasks()}")

    with expect_nothing_left(lambda: use(where)):
        asyncio.run(run())


def test_a_grant_outlives_the_client_that_was_dropped(where: str) -> None:
    """The lock is held as long as the program has the grant."""
    grant = vez.connect(where).lock("x").acquire(30)
    gc.collect()
    assert not grant.lost
    with vez.connect(where) as other:
        assert other.inspect("x").holders
        grant.check()
        grant.release()
        turn(other)


@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_a_client_with_connections_that_was_dropped_is_told(etcd_url: str, tasks: bool) -> None:
    async def run() -> None:
        await turn_of_a_task(vez.aio.connect(etcd_url))
        gc.collect()

    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if tasks:
            asyncio.run(run())
        else:
            turn(vez.connect(etcd_url))
        gc.collect()
    assert [str(one.message) for one in caught if one.category is ResourceWarning] == [
        f"unclosed client of {etcd_url}: close it, or use `with`"
    ]


def test_a_search_for_cycles_leaves_no_thread(where: str) -> None:
    """Two tasks of one client wait for each other; the search of the second finds the cycle."""

    async def run() -> None:
        async with vez.aio.connect(where) as client:
            has = [asyncio.Event(), asyncio.Event()]

            async def hold_and_wait(number: int) -> bool:
                async with client.lock("ab"[number]):
                    has[number].set()
                    await has[1 - number].wait()
                    try:
                        async with client.lock("ab"[1 - number], timeout=30):
                            return False
                    except Deadlock:
                        return True

            assert sum(await asyncio.gather(hold_and_wait(0), hold_and_wait(1))) == 1

    use(where)
    with expect_nothing_left(lambda: asyncio.run(run())):
        asyncio.run(run())
