"""Whatever ends a request, nothing of it stays: a cancelled task, Ctrl-C, a closed client, a fork, a dropped grant."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from statistics import median
from typing import Any

import pytest

import vez
from tests.expectations import eventually_queued
from tests.locks.etcd.faulty import FaultyAsyncTransport, connect_async, keys, leases
from vez import aio
from vez.errors import EngineUnavailable, LockTimeout, OwnershipLost
from vez.locks.engines.etcd.task_transport import EtcdAsyncStream
from vez.locks.engines.thread_primitives import at_work
from vez.testing.actors import PATIENCE, eventually
from vez.testing.interrupts import interrupted_at
from vez.testing.servers import EtcdServer
from vez.testing.workers import Worker

ROUNDS = 11
"""Number of rounds of a measurement whose median counts."""


def space(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2] + "/"


def empty(etcd: EtcdServer, url: str) -> bool:
    return keys(etcd, space(url)) == []


def wanted(client: aio.Client, kind: str, **options: Any) -> Any:
    if kind == "semaphore":
        return client.semaphore("x", 1, **options)
    return (client.lock if kind == "lock" else client.election)("x", **options)


def renewers() -> int:
    return sum(one.what == "renewal" for one in at_work)


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_task_cancelled_at_every_call(etcd: EtcdServer, url: str, kind: str) -> None:
    """At each call of a turn and of a wait: before it is sent, and after the server has executed it."""

    async def once(cancel_at: int, after: bool, held: bool) -> bool:
        task: asyncio.Task[Any]

        class Transport(FaultyAsyncTransport):
            async def call(self, request: Any, seconds: float) -> Any:
                number = self.calls
                reply = await super().call(request, seconds) if after or number != cancel_at else None
                if number == cancel_at:
                    task.cancel()
                    await asyncio.sleep(0)
                return reply if reply is not None else await super().call(request, seconds)

        transport = Transport(url, lambda number, request: "")
        async with aio.connect(url) as other, connect_async(url, transport) as client:
            holder = await other.lock("x").acquire() if held and kind == "lock" else None

            async def turn() -> None:
                async with wanted(client, kind, timeout=0.1):
                    pass

            task = asyncio.create_task(turn())
            await asyncio.wait([task])
            if not task.cancelled() and not isinstance(task.exception(), LockTimeout):
                await task
            if holder is not None:
                await holder.release()
            await asyncio.wait_for(other.lock("y").acquire(), PATIENCE)
            async with asyncio.timeout(PATIENCE), wanted(client, kind):
                pass
            return transport.calls > cancel_at

    for held in (False, True) if kind == "lock" else (False,):
        for after in (False, True):
            assert sum(asyncio.run(once(at, after, held)) for at in range(6)) >= 5
    eventually(lambda: empty(etcd, url), "an empty server")


def test_a_release_that_is_cancelled_is_completed_first(etcd: EtcdServer, url: str) -> None:
    """After one cancellation the release still ends in the foreground: when the task has ended, the lock is free."""

    async def once(after: bool) -> None:
        releasing, delay = False, 0.0
        task: asyncio.Task[None]

        class Transport(FaultyAsyncTransport):
            async def call(self, request: Any, seconds: float) -> Any:
                nonlocal releasing, delay
                if not releasing:
                    await asyncio.sleep(delay)  # a slow server
                    return await super().call(request, seconds)
                releasing, delay = False, 0.2  # what follows takes longer than it takes to look
                if after:
                    await super().call(request, seconds)
                task.cancel()
                await asyncio.sleep(0)
                raise AssertionError("it was cancelled")

        async with aio.connect(url) as other, connect_async(url, Transport(url, lambda number, request: "")) as client:

            async def turn() -> None:
                nonlocal releasing
                async with client.lock("x"):
                    releasing = True

            task = asyncio.create_task(turn())
            await asyncio.wait([task])
            assert task.cancelled()
            assert (await other.inspect("x")).holders == ()

    for after in (False, True):
        asyncio.run(once(after))


def test_a_second_cancellation_hands_the_clean_up_to_the_background(etcd: EtcdServer, url: str) -> None:
    async def run() -> None:
        slow = asyncio.Event()

        class Transport(FaultyAsyncTransport):
            async def call(self, request: Any, seconds: float) -> Any:
                if slow.is_set():
                    await asyncio.sleep(0.3)  # a slow server
                return await super().call(request, seconds)

        transport = Transport(url, lambda number, request: "")
        async with aio.connect(url) as other, connect_async(url, transport) as client, other.lock("x"):

            async def want() -> None:
                await client.lock("x").acquire()

            task = asyncio.create_task(want())
            await eventually_queued(other, "x")
            slow.set()
            for _ in range(2):
                task.cancel()
                await asyncio.sleep(0.05)  # the second cancellation comes while the first cleans up
            assert task.cancelled()
            assert len((await other.inspect("x")).queue) == 1
            while (await other.inspect("x")).queue:
                await asyncio.sleep(0.01)  # no engine notifies observers of a release

    asyncio.run(asyncio.wait_for(run(), PATIENCE))
    assert empty(etcd, url)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_many_points_of_a_turn(etcd: EtcdServer, url: str) -> None:
    """Ctrl-C at every 17th point at which the interpreter can notice it, with and without a wait."""

    def free() -> bool:
        with vez.connect(url) as other, other.lock("x", timeout=PATIENCE):
            return len(other.inspect("x").queue) == 0

    with vez.connect(url) as client, ThreadPoolExecutor(1) as elsewhere:

        def turn() -> None:
            with client.lock("x", timeout=PATIENCE):
                pass

        point = 0
        while interrupted_at(point, turn):
            gc.collect(0)
            assert elsewhere.submit(free).result(60), f"interrupted at point {point}, it left the lock held"
            point += 17
        assert point > 200
        turn()
    gc.collect()  # an interrupt inside the socket module leaves sockets to the collector, which warns
    eventually(lambda: empty(etcd, url), "an empty server")


def test_ctrl_c_while_waiting(etcd: EtcdServer, url: str) -> None:
    holder, waiter = Worker(url), Worker(url)
    try:
        with vez.connect(url) as client:
            holder.acquire()
            waiter.tell("acquire", "x")
            eventually(lambda: len(client.inspect("x").queue) == 1, "queueing")
            waiter.signal(signal.SIGINT)
            assert waiter.hear() == "interrupted"
            assert client.inspect("x").queue == ()
            assert holder.ask("release", "x") == "released"
            assert waiter.ask("acquire", "x", "timeout=0").startswith("got")
    finally:
        holder.close()
        waiter.close()


def test_a_forked_child_holds_nothing_and_can_ask_for_itself(etcd: EtcdServer, url: str) -> None:
    parent = Worker(url)
    try:
        parent.acquire()
        parent.tell("fork", "x")
        answers = dict(parent.hear().split(maxsplit=1) for _ in range(2))
        child = int(answers["forked"])
        try:
            assert answers["child"] == f"{child} believes=False free=False"
            assert parent.ask("check", "x") == "held"
            assert parent.ask("release", "x") == "released"
            assert parent.acquire() > 0
        finally:
            os.kill(child, signal.SIGKILL)
    finally:
        parent.close()


def queued_or_ended(viewer: vez.Client, thread: threading.Thread) -> bool:
    return bool(viewer.inspect("x").queue) or not thread.is_alive()


@pytest.mark.parametrize("ending", ["close", "timeout", "release"])
def test_a_blocked_watch_ends_at_once(etcd: EtcdServer, url: str, ending: str) -> None:
    """The bound is 100 ms, for the median: a loaded machine may slow down single rounds, and a wait that ends late
    slows down most of them. The time of a turn in the same rounds, 3 ms on a calm machine, is added to the bound."""
    delays, turns = [], []
    for _ in range(ROUNDS):
        holder, client = vez.connect(url), vez.connect(url)
        grant = holder.lock("x").acquire()
        times: list[float] = []  # when its timeout ends, and when it ended

        def wait(client: vez.Client = client, times: list[float] = times) -> None:
            times.append(time.monotonic() + 0.5)
            with suppress(EngineUnavailable, LockTimeout):
                client.lock("x").acquire(0.5 if ending == "timeout" else None)
            times.append(time.monotonic())

        thread = threading.Thread(target=wait)
        thread.start()
        eventually(partial(queued_or_ended, holder, thread))  # a timeout may end it before it is seen
        at = times[0] if ending == "timeout" else time.monotonic()
        if ending == "close":
            client.close()
        elif ending == "release":
            grant.release()
        thread.join(PATIENCE)
        delays.append(times[1] - at)
        client.close()
        begun = time.monotonic()
        with holder.lock("y"):
            pass
        turns.append(time.monotonic() - begun)
        holder.close()
    assert median(delays) < 0.1 + median(turns), (delays, turns)


def test_closing_ends_everything(own_etcd: EtcdServer) -> None:
    before = renewers()
    client = vez.connect(own_etcd.url)
    grants = [client.lock(f"x{number}").acquire() for number in range(3)]
    others = [client.lock("x0", label=str(number)) for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(other.acquire) for other in others]
        with vez.connect(own_etcd.url) as viewer:
            eventually(lambda: len(viewer.inspect("x0").queue) == 3, "queueing")
        assert leases(own_etcd) == 4  # one for the three locks, one for each further request for the same name
        client.close()
        for future in waiting:
            assert isinstance(future.exception(PATIENCE), EngineUnavailable)
    assert not any(grant.lost for grant in grants)
    with pytest.raises(OwnershipLost, match="released"):
        grants[0].check()
    eventually(lambda: renewers() == before, "the end of the renewers")
    assert (keys(own_etcd), leases(own_etcd)) == ([], 0)
    with pytest.raises(EngineUnavailable, match="closed"):
        client.lock("x").acquire()


def test_a_dropped_grant_is_released(etcd: EtcdServer, url: str) -> None:
    with vez.connect(url) as client, vez.connect(url) as other:
        token = client.lock("x").acquire().token
        gc.collect()
        with other.lock("x", timeout=PATIENCE) as grant:
            assert grant.token > token

    async def run() -> None:
        async with aio.connect(url) as one, aio.connect(url) as two:
            token = (await one.lock("x").acquire()).token
            gc.collect()
            async with asyncio.timeout(PATIENCE), two.lock("x") as grant:
                assert grant.token > token

    asyncio.run(run())


def test_an_event_loop_that_ends_without_close_leaves_no_lease(own_etcd: EtcdServer) -> None:
    async def run() -> None:
        client = aio.connect(own_etcd.url)
        await client.lock("x").acquire()

    asyncio.run(run())
    gc.collect()
    eventually(lambda: not leases(own_etcd), "the lease being revoked")


def test_a_program_that_ends_without_close_leaves_no_lease(own_etcd: EtcdServer) -> None:
    program = f"import vez; lock = vez.connect({own_etcd.url!r}).lock('x'); grant = lock.acquire(); print(grant.token)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert int(done.stdout) > 0
    assert (keys(own_etcd), leases(own_etcd)) == ([], 0)


def test_an_idle_session_is_revoked(own_etcd: EtcdServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.locks.engines.network.session.IDLE_SECONDS", 0.1)
    before = renewers()
    with vez.connect(f"{own_etcd.url}?lease=1") as client:
        with client.lock("x"):
            assert leases(own_etcd) == 1
        eventually(lambda: not leases(own_etcd) and renewers() == before, "the end of the session")
        with client.lock("x"):
            assert leases(own_etcd) == 1
    assert not leases(own_etcd)


def test_one_lease_for_many_turns(own_etcd: EtcdServer) -> None:
    """Other clients leave one for each attempt behind."""
    with vez.connect(own_etcd.url) as client, ThreadPoolExecutor(1) as elsewhere:
        for number in range(10):
            client.lock(f"x{number}").acquire().release()
            held = elsewhere.submit(client.lock("y").acquire).result(60)
            with pytest.raises(LockTimeout):
                client.lock("y").acquire(0.01)
            held.release()
        assert leases(own_etcd) <= 2
    assert (keys(own_etcd), leases(own_etcd)) == ([], 0)


def test_a_cancellation_after_the_grant_leaves_no_key(
    etcd: EtcdServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is granted, and the task is cancelled while the connection of its watch is being closed."""
    closing, real = asyncio.Event(), EtcdAsyncStream.close

    async def close(stream: EtcdAsyncStream) -> None:
        closing.set()
        try:
            await asyncio.sleep(0.01)  # long enough for the cancellation to come in it
        finally:
            await real(stream)

    async def acquire(client: aio.Client) -> None:  # called by its own task, which is the owner then
        await client.lock("x").acquire()

    async def run() -> None:
        async with aio.connect(url) as client:
            async with client.lock("x"):
                waiting = asyncio.create_task(acquire(client))
                await eventually_queued(client, "x")
                monkeypatch.setattr(EtcdAsyncStream, "close", close)
                closing.clear()
            async with asyncio.timeout(PATIENCE):
                await closing.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            async with client.lock("x", timeout=PATIENCE):
                pass
            async with aio.connect(url) as other, other.lock("x", timeout=2):
                pass

    asyncio.run(run())
    assert empty(etcd, url)
