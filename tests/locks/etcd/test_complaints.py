"""Problems that users of other clients report: each is shown on the naive recipe first, then on ours."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import vez
from tests.expectations import eventually_in_task, eventually_queued
from tests.locks.etcd.faulty import connect, keys, leases, port_of
from tests.locks.etcd.naive import NaiveElection, NaiveLock
from tests.proxy import Proxy
from vez import aio
from vez.errors import EngineUnavailable, OwnershipLost, VezError
from vez.locks.engines.etcd.address import DEFAULT_LEASE_SECONDS, parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.thread_primitives import at_work
from vez.locks.recipes import Reply
from vez.locks.recipes.etcd.operations import KeepAlive
from vez.testing.actors import PATIENCE, eventually
from vez.testing.servers import EtcdServer


def time_to_live(etcd: EtcdServer, lease: str) -> int:
    """The whole life of a lease, in seconds."""
    return int(etcd.ctl("lease", "timetolive", lease).partition("TTL(")[2].partition("s)")[0])


def test_a_loss_is_told(own_etcd: EtcdServer) -> None:
    """kazoo#2, curator#727, etcd PR 7983: the body goes on although the lock is gone."""
    naive = NaiveLock(own_etcd.url, "naive")
    naive.acquire()
    own_etcd.ctl("lease", "revoke", f"{naive.lease:x}")
    assert keys(own_etcd) == []
    assert naive.held, "the naive recipe believes to hold it"
    naive.close()

    def body(client: vez.Client) -> None:
        with client.lock("x") as grant:
            (key,) = keys(own_etcd, "x/")
            own_etcd.ctl("lease", "revoke", key.rpartition("/")[2])
            assert grant.wait_lost(PATIENCE)

    with vez.connect(own_etcd.url) as client, pytest.raises(OwnershipLost, match=r"revoked|expired"):
        body(client)


def test_a_loss_cancels_the_body_of_a_task(own_etcd: EtcdServer) -> None:
    async def run() -> str:
        async with aio.connect(own_etcd.url) as client, client.lock("x"):
            (key,) = keys(own_etcd, "x/")
            own_etcd.ctl("lease", "revoke", key.rpartition("/")[2])
            await asyncio.sleep(PATIENCE)  # the loss cancels it
        return "the body went on"

    with pytest.raises(OwnershipLost, match=r"revoked|expired"):  # as the watch or the renewal tells it
        asyncio.run(run())


def test_a_renewer_ends_with_its_lock(own_etcd: EtcdServer) -> None:
    """redisson#7272, #5698, ShedLock#606: a renewer outlives the release."""
    naive = NaiveLock(own_etcd.url, "naive")
    naive.acquire()
    naive.release()
    assert naive.renewer.is_alive()
    assert leases(own_etcd) == 1, "the naive recipe leaves its lease and its renewer behind"
    naive.close()

    before = len(at_work)
    client = vez.connect(own_etcd.url)
    with client.lock("x"):
        assert len(at_work) == before + 1
    client.close()
    eventually(lambda: len(at_work) == before, "the end of the renewer")
    assert leases(own_etcd) == 0


def test_a_renewer_that_dies_is_told(own_etcd: EtcdServer) -> None:
    """python-redis-lock#85, #91: a renewer dies silently, and its lock with it."""

    class Dying(EtcdTransport):
        dead = False

        def call(self, request: Any, seconds: float) -> Reply:
            if self.dead and isinstance(request, KeepAlive):
                raise MemoryError
            return super().call(request, seconds)

    naive = NaiveLock(own_etcd.url, "naive", ttl=1)
    naive.acquire(renew=False)  # its renewer died at once
    eventually(lambda: not keys(own_etcd, "naive/"), "the end of the lease")
    assert naive.held, "nobody has told it"
    naive.close()

    transport = Dying(parse(own_etcd.url))
    with connect(f"{own_etcd.url}?lease=2", transport) as client:
        grant = client.lock("x").acquire()
        transport.dead = True
        assert grant.wait_lost(PATIENCE)
        with pytest.raises(OwnershipLost):
            grant.release()


def test_no_two_leaders_after_a_reconnect(own_etcd: EtcdServer) -> None:
    """curator#1137, #1169, #1211, kubernetes#23731."""
    naive, other = NaiveLock(own_etcd.url, "naive", ttl=1), NaiveLock(own_etcd.url, "naive")
    naive.acquire(renew=False)  # its connection is down for longer than its lease
    eventually(lambda: not keys(own_etcd, "naive/"), "the end of the lease")
    other.acquire()
    assert naive.first(), "the naive recipe looks who is before it, and not at its own key"
    assert naive.held
    assert other.held, "two leaders"
    naive.close()
    other.close()

    with Proxy() as proxy, ThreadPoolExecutor(1) as pool:
        route = proxy.route(("127.0.0.1", own_etcd.port))
        cut, whole = vez.connect(f"etcd://127.0.0.1:{port_of(route)}?lease=1"), vez.connect(own_etcd.url)
        leadership = cut.election("chief").acquire()
        waiting = pool.submit(whole.election("chief").acquire, PATIENCE)
        eventually(lambda: len(whole.inspect("chief", "election").queue) == 1, "a candidate")
        route.cut()
        later = waiting.result(PATIENCE)
        assert leadership.lost
        route.heal()
        again = cut.election("chief").try_acquire()
        assert again is None
        assert leadership.lost
        later.check()
        assert later.term > leadership.term
        later.release()
        cut.close()
        whole.close()


async def _slow_end(inside: asyncio.Event, ended: asyncio.Event) -> None:
    """Work whose end takes a while, as a transaction that must be completed."""
    inside.set()
    try:
        await asyncio.sleep(PATIENCE)  # work, until it is cancelled
    finally:
        await asyncio.sleep(2.0)  # far longer than a look at the server takes on a busy machine
        ended.set()


def test_leadership_ends_after_the_work_of_the_leader(own_etcd: EtcdServer) -> None:
    """kubernetes PR 139991, client-go#728: the lease is released first, and another leads while the old one works."""

    async def naive() -> bool:
        inside, ended = asyncio.Event(), asyncio.Event()
        election = NaiveElection(own_etcd.url, "naive")
        work = asyncio.create_task(_slow_end(inside, ended))
        leading = asyncio.create_task(election.lead(work))
        await inside.wait()
        await election.leads.wait()
        leading.cancel()
        await eventually_in_task(lambda: not keys(own_etcd, "naive/"), "its key is gone")
        early = not ended.is_set()
        await asyncio.wait([leading])
        return early

    assert asyncio.run(naive()), "with the naive recipe another could lead while the work went on"

    async def ours() -> bool:
        inside, ended = asyncio.Event(), asyncio.Event()
        async with aio.connect(own_etcd.url) as client, aio.connect(own_etcd.url) as other:

            async def lead() -> None:
                async with client.election("chief"):
                    await _slow_end(inside, ended)

            leading = asyncio.create_task(lead())
            await inside.wait()
            next_one = asyncio.create_task(_campaign(other, ended))
            await eventually_queued(other, "chief", kind="election")
            leading.cancel()
            await asyncio.wait([leading])
            return await next_one

    assert asyncio.run(ours()), "the work had ended when the next one led"


async def _campaign(client: aio.Client, ended: asyncio.Event) -> bool:
    async with client.election("chief"):
        return ended.is_set()


def test_nothing_stays_after_a_cancellation(own_etcd: EtcdServer) -> None:
    """redis-py#3847: orphans after a cancellation."""

    class Cancelling(EtcdAsyncTransport):
        async def call(self, request: Any, seconds: float) -> Reply:
            reply = await super().call(request, seconds)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
            return reply

    async def naive() -> None:
        election = NaiveElection(own_etcd.url, "naive")
        election.transport = Cancelling(parse(own_etcd.url))
        work = asyncio.create_task(asyncio.sleep(0))
        await asyncio.wait([asyncio.create_task(election.lead(work)), work])
        await election.transport.close()

    asyncio.run(naive())
    assert leases(own_etcd) == 1, "the naive recipe leaves a lease of a minute"
    own_etcd.ctl("lease", "revoke", own_etcd.ctl("lease", "list").split()[-1])

    async def ours() -> None:
        async with aio.connect(own_etcd.url) as client, aio.connect(own_etcd.url) as other, other.lock("x"):

            async def want() -> None:
                await client.lock("x").acquire()

            for steps in range(0, 60, 3):
                task = asyncio.create_task(want())
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
                assert (await other.inspect("x")).queue == ()

    asyncio.run(ours())
    assert keys(own_etcd) == []
    eventually(lambda: leases(own_etcd) == 0, "the end of a lease that was granted after it was revoked")


def test_nothing_stays_after_a_suspended_session(own_etcd: EtcdServer) -> None:
    """kazoo PR 760: a client that gives up while its connection is down leaves its request behind, and blocks all
    others."""
    with Proxy() as proxy, vez.connect(own_etcd.url) as other:
        route = proxy.route(("127.0.0.1", own_etcd.port))
        through = f"etcd://127.0.0.1:{port_of(route)}?lease=30"
        naive = NaiveLock(through, "naive")
        naive.enlist()
        route.cut()
        with contextlib.suppress(EngineUnavailable):
            naive.release()
        route.heal()
        assert keys(own_etcd, "naive/"), "the naive recipe has given up, and its request stands"
        naive.close()

        client = vez.connect(through)
        with other.lock("x"), ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.lock("x", timeout=2).acquire)
            eventually(lambda: len(other.inspect("x").queue) == 1, "a waiter")
            route.cut()
            with pytest.raises(VezError):
                waiting.result(PATIENCE)
            route.heal()
            eventually(lambda: other.inspect("x").queue == (), "the end of its request, long before its lease")
        client.close()


def test_no_lease_that_nobody_asked_for(own_etcd: EtcdServer) -> None:
    """etcd#9921, dotnet-etcd PR 321: an implicit lease of 60 s. Ours is stated, and the client chooses it."""
    naive = NaiveLock(own_etcd.url, "naive")
    naive.acquire()
    assert time_to_live(own_etcd, f"{naive.lease:x}") == 60
    naive.close()

    with vez.connect(own_etcd.url) as client:
        assert client.engine.traits.lease_seconds == DEFAULT_LEASE_SECONDS == 10
        assert client.inspect("x").lease_seconds == DEFAULT_LEASE_SECONDS
        with client.lock("x"):
            (key,) = keys(own_etcd, "x/")
            assert time_to_live(own_etcd, key.rpartition("/")[2]) == DEFAULT_LEASE_SECONDS
        with client.lock("y", lease=3):
            (key,) = keys(own_etcd, "y/")
            assert time_to_live(own_etcd, key.rpartition("/")[2]) == 3
    with vez.connect(f"{own_etcd.url}?lease=4") as client, client.lock("z"):
        (key,) = keys(own_etcd, "z/")
        assert time_to_live(own_etcd, key.rpartition("/")[2]) == 4
        assert client.engine.traits.lease_seconds == 4


def test_a_waiter_that_dies_does_not_wedge_the_queue(own_etcd: EtcdServer) -> None:
    """redisson#2278, python-redis-lock#104. Real processes are killed in `test_faults.py`."""
    holder, dead, last = (NaiveLock(own_etcd.url, "naive", lease=False) for _ in range(3))
    holder.acquire(renew=False)
    dead.enlist()  # and sends nothing any more
    last.enlist()
    holder.release()
    own_etcd.ctl("lease", "revoke", f"{dead.lease:x}")
    assert not last.first(), "the place of a dead waiter that is no part of a lease stays for ever"
    for one in (holder, dead, last):
        one.close()

    with vez.connect(own_etcd.url) as client, vez.connect(own_etcd.url) as behind, ThreadPoolExecutor(1) as pool:
        grant = client.lock("x").acquire()
        doomed = vez.connect(own_etcd.url)
        thread = threading.Thread(target=_wait_in_vain, args=(doomed,))
        thread.start()
        eventually(lambda: len(client.inspect("x").queue) == 1, "the waiter")
        waiting = pool.submit(behind.lock("x").acquire, PATIENCE)
        eventually(lambda: len(client.inspect("x").queue) == 2, "the one behind")
        doomed.close()
        thread.join(PATIENCE)
        begun = time.monotonic()
        grant.release()
        waiting.result(PATIENCE).release()
        assert time.monotonic() - begun < PATIENCE


def _wait_in_vain(client: vez.Client) -> None:
    with pytest.raises(vez.VezError, match="closed"):
        client.lock("x").acquire()
