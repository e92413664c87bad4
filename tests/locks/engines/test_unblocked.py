"""Nothing of an engine for tasks blocks the event loop: a doorway that stays shut, files, directories, closing."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import vez
import vez.aio
from tests.expectations import eventually_in_task, eventually_queued
from vez.locks.engines import cycles, owners
from vez.locks.engines.file import breaking, core, directory, inspection, pruning
from vez.locks.engines.file.ticket_file import TicketFile
from vez.locks.engines.memory.core import MemoryCore
from vez.testing import eventually

Shut = Callable[[str], Callable[[], None]]


@pytest.fixture
def shut(home: Path) -> Iterator[Shut]:
    """Keep the doorway of a name's file locked, as a process that was stopped in it does. Returns a function that opens
    it."""
    handles: list[int] = []

    def close(name: str) -> Callable[[], None]:
        handles.append(handle := os.open(home / name, os.O_RDWR))
        fcntl.flock(handle, fcntl.LOCK_EX)
        return lambda: fcntl.flock(handle, fcntl.LOCK_UN)

    yield close
    for handle in handles:
        os.close(handle)


async def turns_meanwhile(work: Awaitable[Any], then: Callable[[], None]) -> Any:
    """Await the work, which waits until `then` is called. The loop makes ten turns before."""
    task, end = asyncio.ensure_future(work), time.monotonic() + 20
    for _ in range(10):
        assert not task.done(), "it did not wait"
        assert time.monotonic() < end
        await asyncio.sleep(0.005)  # it waits, and the loop runs meanwhile
    then()
    return await task


async def first(leaders: Any) -> Any:
    try:
        return await anext(leaders)
    finally:
        await leaders.aclose()


def test_a_task_waits_for_the_doorway_and_its_loop_does_not(home: Path, shut: Shut) -> None:
    async def run() -> None:
        async with vez.aio.connect(f"file://{home}") as client, vez.aio.connect(f"file://{home}") as other:
            async with client.election("e", label="one") as leadership:

                async def stand() -> int:
                    async with other.election("e", label="two", timeout=20) as later:
                        return int(later.term)

                candidate = asyncio.create_task(stand())
                await eventually_queued(client, "e", kind="election")
                term = await turns_meanwhile(leadership.transfer("two"), shut("election.e"))
                assert await candidate == term
            assert await turns_meanwhile(first(client.election("e").observe(20)), shut("election.e")) is None
            async with client.lock("x"):
                pass
            grant = await turns_meanwhile(client.lock("x", grace=0).acquire(20), shut("lock.x"))
            broken = await turns_meanwhile(client.break_lock("x", "a test"), shut("lock.x"))
            assert broken.tokens == (grant.token,)
            with pytest.raises(vez.OwnershipLost):
                await grant.release()

    asyncio.run(run())


def test_what_may_block_runs_in_another_thread(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: dict[str, set[int]] = {}

    def note(where: Any, name: str, label: str) -> None:
        real = getattr(where, name)

        def call(*arguments: Any, **options: Any) -> Any:
            called.setdefault(label, set()).add(threading.get_ident())
            return real(*arguments, **options)

        monkeypatch.setattr(where, name, call)

    note(core, "open_directory", "opening the directory")
    note(TicketFile, "_create_or_open", "opening a file")
    note(inspection, "inspect", "inspecting")
    note(inspection, "names", "listing")
    note(pruning, "prune", "pruning")
    note(breaking, "break_lock", "breaking")
    note(TicketFile, "close", "closing")

    async def run() -> None:
        client = vez.aio.connect(f"file://{home}")
        async with client.lock("x"), client.election("e"), client.semaphore("s", 2):
            await client.inspect("x")
            assert await client.lock("x").locked()
        assert await client.locks() == ["x"]
        await client.break_lock("x", "nobody holds it")
        assert await first(client.election("other").observe()) is None
        await client.prune()
        await client.close()

    asyncio.run(run())
    assert len(called) == 7
    assert not [label for label, threads in called.items() if threading.get_ident() in threads]


def test_tasks_that_come_first_together_open_it_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    real = directory.open_directory

    def noted(place: Any) -> int:
        opened.append(place)
        return real(place)

    monkeypatch.setattr(core, "open_directory", noted)

    async def run() -> None:
        async with vez.aio.connect(f"file://{home}") as client:

            async def work(number: int) -> None:
                async with client.lock(f"n{number}"):
                    pass

            tasks = [asyncio.create_task(work(number)) for number in range(10)]
            await asyncio.sleep(0)
            tasks[0].cancel()  # the one that began to open it
            await asyncio.wait(tasks)
            assert [task.cancelled() for task in tasks] == [True] + [False] * 9

    asyncio.run(run())
    assert len(opened) == 1


def test_a_client_that_was_never_used_is_closed(home: Path) -> None:
    async def run() -> None:
        client = vez.aio.connect(f"file://{home}")
        await client.close()
        await client.close()
        assert "closed" in repr(client)
        with pytest.raises(vez.EngineUnavailable, match="is closed"):
            await client.lock("x").acquire()
        with pytest.raises(vez.EngineUnavailable, match="is closed"):
            await client.inspect("x")

    asyncio.run(run())
    assert not home.exists()


def test_a_directory_that_cannot_be_used_is_told_at_the_first_use(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def run() -> None:
        async with vez.aio.connect(f"file://{tmp_path}/file/turns") as client:
            for _ in range(2):
                with pytest.raises(vez.EngineUnavailable, match="file"):
                    await client.lock("x").acquire()

    asyncio.run(run())


def test_closing_while_it_is_opened_leaves_nothing_open(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    real = directory.open_directory

    def slowly(place: Any) -> int:
        began.set()
        go_on.wait(60)
        return real(place)

    monkeypatch.setattr(core, "open_directory", slowly)
    before = len(os.listdir("/proc/self/fd"))

    async def run() -> None:
        client = vez.aio.connect(f"file://{home}")
        task = asyncio.create_task(client.lock("x").acquire())
        await eventually_in_task(began.is_set)
        closing = asyncio.create_task(client.close())
        await asyncio.sleep(0)
        go_on.set()
        await closing
        with pytest.raises(vez.EngineUnavailable, match="closed"):
            await task

    asyncio.run(run())
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before, "closing")


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_search_for_cycles_is_beside_the_loop_and_meets_only_names_on_its_way(
    home: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """Many tasks hold a lock each and wait for one more: the search of each asks for the holders of that one only."""
    many, threads, met, asked = 60, set[int](), list[str](), list[int]()
    real, real_holdings = cycles._search, owners.Owner.holdings

    def search(target: cycles.Target, mine: set[int]) -> tuple[str, ...] | None:
        threads.add(threading.get_ident())
        return real(target, mine)

    def holders(self: Any, target: cycles.Target, *rest: Any) -> Any:
        met.append(target.name)
        return real_holders(self, target, *rest)

    def holdings(self: owners.Owner, **options: Any) -> Any:
        asked.append(self.number)
        return real_holdings(self, **options)

    monkeypatch.setattr(owners.Owner, "holdings", holdings)
    kind = core.FileCore if scheme == "file" else MemoryCore
    real_holders = kind.holders
    monkeypatch.setattr(cycles, "_search", search)
    monkeypatch.setattr(kind, "holders", holders)
    monkeypatch.setattr(cycles, "LOOK_AGAIN", 3600.0)

    async def run() -> None:
        url = f"file://{home}" if scheme == "file" else "memory:searches"
        async with vez.aio.connect(url) as client:
            held = asyncio.Semaphore(0)

            async def hold_and_wait(number: int) -> None:
                async with client.lock(f"own-{number}"):
                    held.release()
                    async with client.lock("common"):
                        pass

            async with client.lock("common"):
                tasks = [asyncio.create_task(hold_and_wait(number)) for number in range(many)]
                for _ in tasks:
                    await held.acquire()
                await eventually_queued(client, "common", count=many)
                await eventually_in_task(lambda: len(met) >= many)
                tasks[0].cancel()
                await asyncio.wait([tasks[0]])
            await asyncio.gather(*tasks[1:])

    asyncio.run(run())
    assert threading.get_ident() not in threads
    assert met == ["common"] * many
    assert len(asked) < 10 * many, "what one owner holds is not asked for by all others"
    assert not [claims for claims in cycles._waiting.values() if claims], "every wait was taken back"


def test_a_search_needs_no_thread_of_the_loops_executor(home: Path) -> None:
    """All threads of the executor wait for a lock that a task holds. The task waits for another lock, and must get
    it."""

    async def run() -> None:
        url = f"file://{home}"
        async with vez.aio.connect(url) as client:
            loop = asyncio.get_running_loop()
            loop.set_default_executor(pool := ThreadPoolExecutor(2))
            async with client.lock("b"), client.lock("a"):  # both files are open from here on
                pass
            with vez.connect(url) as threads:

                def wait_for_a() -> None:
                    with threads.lock("a", timeout=30):
                        pass

                async def hold_b_until_wanted() -> None:
                    async with client.lock("b"):
                        has_b.set()
                        await wanted.wait()
                        await asyncio.sleep(0.05)  # a stay, in which b is waited for

                has_b, wanted = asyncio.Event(), asyncio.Event()
                holder = asyncio.create_task(hold_b_until_wanted())
                await has_b.wait()
                async with client.lock("a"):
                    waits = [loop.run_in_executor(pool, wait_for_a) for _ in range(3)]
                    wanted.set()
                    async with client.lock("b", timeout=20):
                        assert not any(wait.done() for wait in waits)
                await asyncio.gather(holder, *waits)

    asyncio.run(run())
