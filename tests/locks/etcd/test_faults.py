"""Real faults on real servers. After each: exclusion by tokens, no key or lease left, waiting clients go on."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

import vez
from tests.locks.etcd.conftest import missing
from tests.locks.etcd.faulty import connect, keys, leases, port_of
from tests.proxy import Proxy, Route
from vez.errors import OwnershipLost
from vez.locks.engines.network.recipe_run import now
from vez.testing.actors import PATIENCE, AsyncActor, SyncActor, eventually
from vez.testing.process_conformance import wait_in_queue
from vez.testing.servers import EtcdServer, Missing, etcd_cluster
from vez.testing.workers import Worker

LEASE = 2


@pytest.fixture
def route(own_etcd: EtcdServer) -> Iterator[Route]:
    """A way to the server that can be cut."""
    with Proxy() as proxy:
        yield proxy.route(("127.0.0.1", own_etcd.port))


def through(route: Route) -> str:
    return f"etcd://127.0.0.1:{port_of(route)}?lease={LEASE}"


def direct(server: EtcdServer) -> str:
    return f"{server.url}?lease={LEASE}"


def nothing_left(server: EtcdServer) -> None:
    """No key and no lease is left, at the latest when the leases of disconnected clients have ended."""
    eventually(lambda: not keys(server) and not leases(server), "an empty server")


def lease_of(server: EtcdServer, token: int | None) -> str:
    """The lease of the request for x with this token."""
    wanted = f'"CreateRevision" : {token}\n'
    return next(
        key.rpartition("/")[2] for key in keys(server, "x/") if wanted in server.ctl("get", key, "-w", "fields")
    )


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_short_cut_loses_nothing(own_etcd: EtcdServer, route: Route, kind: type[Any]) -> None:
    holder, waiter = kind(through(route)), kind(through(route))
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x")
    route.cut()
    route.heal()
    renewed = route.accepted
    eventually(lambda: route.accepted > renewed, "a connection")
    grant.check()
    holder.release(grant)
    later = waiting.result(PATIENCE)
    assert later.token > grant.token
    waiter.release(later)
    holder.close()
    waiter.close()
    nothing_left(own_etcd)


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_long_cut_is_told_before_another_is_granted(own_etcd: EtcdServer, route: Route, kind: type[Any]) -> None:
    holder, waiter = kind(through(route)), kind(direct(own_etcd))
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x")
    route.cut()
    told = 0.0
    while not waiting.done():
        if not told and grant.lost:
            told = time.monotonic()
        time.sleep(0.001)  # the order of two events is looked at, often enough
    assert grant.lost
    assert told, "another was granted before the loss was told"
    later = waiting.result(PATIENCE)
    assert later.token > grant.token
    route.heal()
    with pytest.raises(OwnershipLost, match="not be renewed"):
        holder.release(grant)
    waiter.release(later)
    again = holder.acquire("lock", "x")  # the client goes on
    assert again.token > later.token
    holder.release(again)
    holder.close()
    waiter.close()
    nothing_left(own_etcd)


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_server_that_is_killed_and_restarted(own_etcd: EtcdServer, kind: type[Any]) -> None:
    holder, waiter = kind(f"{own_etcd.url}?lease=10"), kind(f"{own_etcd.url}?lease=10")
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x")
    own_etcd.kill()
    own_etcd.start()
    holder.release(grant)
    later = waiting.result(PATIENCE)
    assert later.token > grant.token
    waiter.release(later)
    holder.close()
    waiter.close()
    nothing_left(own_etcd)


def test_the_leader_of_three_is_killed() -> None:
    try:
        with etcd_cluster(3) as servers:
            url = "etcd://" + ",".join(one.endpoint for one in servers) + "?lease=15"
            holder, waiter = SyncActor(url), AsyncActor(url)
            grant = holder.acquire("lock", "x")
            waiting = waiter.queue_up("lock", "x")
            status = [one.ctl("endpoint", "status").split(", ") for one in servers]
            leader = next(place for place, words in enumerate(status) if words[4] == "true")
            servers[leader].kill()
            holder.release(grant)
            later = waiting.result(PATIENCE)
            assert later.token > grant.token
            waiter.release(later)
            again = holder.acquire("election", "y")
            holder.release(again)
            holder.close()
            waiter.close()
            nothing_left(servers[leader - 1])
    except Missing as error:
        missing(error)


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_lease_that_is_revoked_behind_our_back(own_etcd: EtcdServer, kind: type[Any]) -> None:
    """etcd PR 7983: the lock of a revoked lease went on as if it were held."""
    holder, waiter = kind(f"{own_etcd.url}?lease=60"), kind(f"{own_etcd.url}?lease=60")
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x")
    own_etcd.ctl("lease", "revoke", lease_of(own_etcd, grant.token))
    later = waiting.result(PATIENCE)
    eventually(lambda: bool(grant.lost), "the loss")
    with pytest.raises(OwnershipLost, match=r"revoked|expired"):
        holder.release(grant)
    assert later.token > grant.token
    waiter.release(later)
    holder.release(holder.acquire("lock", "x"))
    holder.close()
    waiter.close()
    nothing_left(own_etcd)


def test_closing_waits_for_the_end_of_a_session_that_was_lost(own_etcd: EtcdServer, route: Route) -> None:
    """The renewal task of the session revokes the lease. If its answer is late, the task must not be left to a loop
    that ends."""

    async def left() -> list[str]:
        client = vez.aio.connect(f"etcd://127.0.0.1:{port_of(route)}?lease=60")
        grant = await client.lock("x").acquire(PATIENCE)
        route.delay(0.3, "back")
        await asyncio.to_thread(own_etcd.ctl, "lease", "revoke", lease_of(own_etcd, grant.token))
        await grant.wait_lost(PATIENCE)
        await client.close()
        return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("vez")]

    assert asyncio.run(left()) == []


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_the_lease_of_a_waiter_is_revoked(own_etcd: EtcdServer, kind: type[Any]) -> None:
    """It loses its place and asks again, and those behind it do not wait for it (redisson#2278)."""
    holder, waiter, last = (kind(f"{own_etcd.url}?lease=60") for _ in range(3))
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x")
    (place,) = waiter.inspect("x").queue
    behind = last.queue_up("lock", "x")
    own_etcd.ctl("lease", "revoke", lease_of(own_etcd, place.token))
    eventually(lambda: len(last.inspect("x").queue) == 2, "the waiter being back, behind the other")
    holder.release(grant)
    second = behind.result(PATIENCE)
    assert not waiting.done()
    last.release(second)
    third = waiting.result(PATIENCE)
    assert third.token > second.token > grant.token
    waiter.release(third)
    for one in (holder, waiter, last):
        one.close()
    nothing_left(own_etcd)


def test_a_client_paused_past_its_lease(own_etcd: EtcdServer) -> None:
    paused, other = Worker(direct(own_etcd)), Worker(direct(own_etcd))
    try:
        token = paused.acquire()
        paused.signal(signal.SIGSTOP)
        later = other.acquire()
        assert later > token
        paused.signal(signal.SIGCONT)
        assert paused.ask("check", "x") == "lost"
        assert paused.ask("release", "x") == "error OwnershipLost"
        assert other.ask("check", "x") == "held"
    finally:
        paused.close()
        other.close()
    nothing_left(own_etcd)


def test_a_killed_waiter_does_not_block_those_behind_it(own_etcd: EtcdServer) -> None:
    """redisson#2278, python-redis-lock#104: a fair queue that wedges when a waiter dies."""
    holder, victim, last = (Worker(direct(own_etcd)) for _ in range(3))
    try:
        with vez.connect(own_etcd.url) as client:
            token = holder.acquire()
            for worker in (victim, last):
                worker.tell("acquire", "x")
                wait_in_queue(client, worker)
            victim.kill()
            assert holder.ask("release", "x") == "released"
            assert int(last.hear().split()[1]) > token
    finally:
        for worker in (holder, victim, last):
            worker.close()
    nothing_left(own_etcd)


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_lost_watch_is_replaced(own_etcd: EtcdServer, route: Route, kind: type[Any]) -> None:
    holder, waiter = kind(f"{own_etcd.url}?lease=60"), kind(through(route).replace("lease=2", "lease=60"))
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x")
    before = route.accepted
    route.sever()
    eventually(lambda: route.accepted > before, "a new watch")
    holder.release(grant)
    waiter.release(waiting.result(PATIENCE))
    holder.close()
    waiter.close()
    nothing_left(own_etcd)


def test_a_jump_of_the_wall_clock_changes_nothing(own_etcd: EtcdServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with vez.connect(direct(own_etcd)) as client, client.lock("x") as grant:
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 86400)
        grant.check()
        renewed = own_etcd.ctl("get", "", "--prefix")
        monkeypatch.setattr(time, "time", lambda: real() - 86400)
        grant.check()
        assert renewed
    nothing_left(own_etcd)


def test_a_jump_of_the_clock_of_proofs_is_a_loss_at_once(own_etcd: EtcdServer) -> None:
    """As after a suspended machine: the lease may be over, whatever the server would answer."""
    jump = [0.0]
    client = connect(f"{own_etcd.url}?lease=60", clock=lambda: now() + jump[0])
    grant = client.lock("x").acquire()
    grant.check()
    jump[0] = 3600.0
    with pytest.raises(OwnershipLost, match="not be renewed"):
        grant.check()
    jump[0] = 0.0
    assert grant.lost, "who was told of a loss must not hold again"
    with pytest.raises(OwnershipLost):
        grant.release()
    client.lock("x").acquire(PATIENCE).release()
    client.close()
    nothing_left(own_etcd)
