"""Replies lost after the operation took effect, requests that arrive late or never, at each call in turn."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest

import vez
from tests.locks.etcd.faulty import Fate, FaultyAsyncTransport, FaultyTransport, at_call, connect, connect_async, keys
from vez.errors import LockTimeout
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.recipes import Reply
from vez.locks.recipes.etcd.operations import KeepAlive, Txn, Watch
from vez.locks.turns.client import Client
from vez.testing.actors import PATIENCE, eventually
from vez.testing.servers import EtcdServer

FATES: tuple[Fate, ...] = ("lose", "drop", "delay")
KINDS = ("lock", "read", "semaphore", "election")


def wanted(client: Any, kind: str) -> Any:
    return {
        "lock": lambda: client.lock("x"),
        "read": lambda: client.read_lock("x"),
        "semaphore": lambda: client.semaphore("x", 1),
        "election": lambda: client.election("x"),
    }[kind]()


def space(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2] + "/"


def turns_left(etcd: EtcdServer, url: str) -> list[str]:
    """The keys of requests. Sessions may stay: their clients are open."""
    return [key for key in keys(etcd, space(url)) if "/sessions/" not in key]


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_whatever_call_has_no_reply(etcd: EtcdServer, url: str, kind: str, fate: Fate) -> None:
    """The turn is held once and released once, and no part of it appears again later."""
    with vez.connect(url) as other:
        last = 0
        for faulty in range(8):
            transport = FaultyTransport(url, at_call(faulty, fate))
            with connect(url, transport) as client:
                grant = wanted(client, kind).acquire(PATIENCE)
                assert grant.token > last
                with pytest.raises(LockTimeout):
                    other.lock("x").acquire(0) if kind == "lock" else _try(other, kind)
                grant.release()
                assert not grant.lost
                transport.settle()
                if fate == "delay":
                    eventually(lambda: turns_left(etcd, url) == [], "what was delayed being fenced off")
                again = wanted(other, kind).acquire(PATIENCE)
                assert again.token > grant.token
                again.release()
                last = again.token
            transport.settle()
        eventually(lambda: turns_left(etcd, url) == [], "an empty queue")


def _try(other: Client, kind: str) -> None:
    if kind == "read":
        other.lock("x").acquire(0)  # readers exclude writers
    else:
        wanted(other, kind).acquire(0)


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_that_times_out_whatever_call_has_no_reply(etcd: EtcdServer, url: str, kind: str, fate: Fate) -> None:
    with vez.connect(url) as other, ThreadPoolExecutor(1) as elsewhere:
        held = elsewhere.submit(wanted(other, "lock" if kind == "read" else kind).acquire).result(60)
        for faulty in range(2, 8):
            transport = FaultyTransport(url, at_call(faulty, fate))
            with connect(url, transport) as client:
                with pytest.raises(LockTimeout):
                    wanted(client, kind).acquire(0.1)
                transport.settle()
                eventually(lambda: len(turns_left(etcd, url)) == 1, "only the holder being left")
            transport.settle()
        held.check()
        held.release()


def test_a_withdrawn_request_that_arrives_later_is_fenced_off(etcd: EtcdServer, url: str) -> None:
    """The naive recipe leaves an orphan here: it removes the key, and then the delayed request writes it."""
    late: list[Any] = []

    def plan(number: int, request: Any) -> Fate:
        mine = isinstance(request, Txn) and any(getattr(one, "key", "").startswith("x/") for one in request.then)
        if mine and not late:
            late.append(request)
            return "delay"
        return ""

    transport = FaultyTransport(url, plan)
    with connect(url, transport) as client:
        with vez.connect(url) as other, ThreadPoolExecutor(1) as elsewhere:
            held = elsewhere.submit(other.lock("x").acquire).result(60)
            with pytest.raises(LockTimeout):
                client.lock("x").acquire(0.05)
            held.release()
        assert late
        transport.settle()
        assert turns_left(etcd, url) == []


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_whatever_call_has_no_reply(etcd: EtcdServer, url: str, kind: str) -> None:
    async def run() -> None:
        for fate in FATES[:2]:
            for faulty in range(8):
                async with connect_async(url, FaultyAsyncTransport(url, at_call(faulty, fate))) as client:
                    async with wanted(client, kind) as grant:
                        grant.check()
                    assert not grant.lost

    asyncio.run(run())
    assert turns_left(etcd, url) == []


class _Compacted(EtcdTransport):
    """Watches begin at a revision that the server has forgotten, the first time."""

    watched = 0

    def watch(self, watch: Watch, seconds: float) -> Any:
        self.watched += 1
        if self.watched <= 2:
            watch = Watch(watch.key, 1, watch.end)
        return super().watch(watch, seconds)


def test_a_compacted_revision_is_looked_at_again(own_etcd: EtcdServer) -> None:
    from vez.locks.engines.etcd.address import parse
    from vez.locks.engines.network.transport import WatchEnded

    with vez.connect(own_etcd.url) as other:
        grant = other.lock("x").acquire()
        for number in range(5):
            own_etcd.ctl("put", "noise", str(number))
        own_etcd.ctl("compact", str(grant.token))
        transport = _Compacted(parse(own_etcd.url))
        stream = transport.watch(Watch("x/", 1, "x0"), 5)
        with pytest.raises(WatchEnded, match="compacted"):
            stream.next(5)
        stream.close()
        with connect(own_etcd.url, transport) as client:
            done = threading.Event()

            def want() -> None:
                with client.lock("x"):
                    done.set()

            thread = threading.Thread(target=want)
            thread.start()
            eventually(lambda: len(other.inspect("x").queue) == 1, "queueing")
            eventually(lambda: transport.watched >= 3, "another watch")
            grant.release()
            assert done.wait(PATIENCE)
            thread.join()


@pytest.mark.parametrize("fate", FATES)
def test_a_memo_whatever_call_has_no_reply(url: str, fate: Fate) -> None:
    with vez.connect(url) as other:
        for faulty in range(4):
            transport = FaultyTransport(url, at_call(faulty, fate))
            with connect(url, transport) as client:
                client.engine.write_memo("x", f"by {faulty}", 10 + faulty)
                assert other.engine.memo("x") == f"by {faulty}"
                other.engine.write_memo("x", "later", 10 + faulty)
                transport.settle()
                assert other.engine.memo("x") == "later", "what was delayed comes too late"


def test_a_renewal_waits_for_a_third_of_the_lease_only(url: str) -> None:
    """One that has no reply is repeated before the lease is over."""
    waits: SimpleQueue[float] = SimpleQueue()

    class Recording(EtcdTransport):
        def call(self, request: Any, seconds: float) -> Reply:
            if isinstance(request, KeepAlive):
                waits.put(seconds)
            return super().call(request, seconds)

    with connect(url, Recording(parse(url))) as client, client.lock("x", lease=6):
        assert 0.5 <= waits.get(timeout=PATIENCE) <= 2
