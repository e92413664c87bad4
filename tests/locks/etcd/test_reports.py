"""A waiter with position reports continues to wait while the server cannot report the position."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.locks.etcd.faulty import keys, leases, port_of
from tests.proxy import Proxy
from vez.errors import EngineUnavailable
from vez.locks.engines.base import Place
from vez.testing.actors import PATIENCE, AsyncActor, SyncActor, eventually
from vez.testing.servers import EtcdServer

OUTAGE_SECONDS = 1.5


def check_waiting_goes_on(server: EtcdServer, url: str, kind: type[Any], fault: Callable[[], None]) -> None:
    """A waiter with `on_wait` is granted after a fault, and got its position before and after it."""
    told: list[Place] = []
    holder, waiter = SyncActor(f"{server.url}?lease=20"), kind(url)
    grant = holder.acquire("lock", "x")
    waiting = waiter.queue_up("lock", "x", on_wait=told.append)
    eventually(lambda: bool(told), "a first report")
    fault()
    assert not waiting.done(), waiting.exception()
    holder.release(grant)
    later = waiting.result(PATIENCE)
    assert later.token > grant.token
    assert {place.position for place in told} == {1}
    waiter.release(later)
    holder.close()
    waiter.close()
    eventually(lambda: not keys(server) and not leases(server), "an empty server")


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_restart_of_the_server(own_etcd: EtcdServer, kind: type[Any]) -> None:
    def restart() -> None:
        own_etcd.kill()
        time.sleep(OUTAGE_SECONDS)  # the outage
        own_etcd.start()

    check_waiting_goes_on(own_etcd, f"{own_etcd.url}?lease=20", kind, restart)


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
@pytest.mark.parametrize("fault", ["cut", "hold", "sever"])
def test_a_cut_of_the_connections(own_etcd: EtcdServer, kind: type[Any], fault: str) -> None:
    with Proxy() as proxy:
        route = proxy.route(("127.0.0.1", own_etcd.port))

        def cut() -> None:
            getattr(route, fault)()
            time.sleep(OUTAGE_SECONDS)  # the outage
            route.heal()

        check_waiting_goes_on(own_etcd, f"etcd://127.0.0.1:{port_of(route)}?lease=20", kind, cut)


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_silent_server_does_not_prolong_a_timeout(own_etcd: EtcdServer, kind: type[Any]) -> None:
    with Proxy() as proxy:
        route = proxy.route(("127.0.0.1", own_etcd.port))
        told: list[Place] = []
        holder, waiter = SyncActor(f"{own_etcd.url}?lease=20"), kind(f"etcd://127.0.0.1:{port_of(route)}?lease=20")
        grant = holder.acquire("lock", "x")
        began = time.monotonic()
        waiting = waiter.queue_up("lock", "x", 1.5, on_wait=told.append)
        eventually(lambda: bool(told), "a first report")
        route.hold()
        assert isinstance(waiting.exception(PATIENCE), EngineUnavailable), "nobody knows whether it was free"
        assert time.monotonic() - began < 5
        route.heal()
        holder.release(grant)
        waiter.close()
        holder.close()
