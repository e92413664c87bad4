"""Transfers of a leadership that meet a lost reply, a silent server, or a key that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import vez
from tests.locks.etcd.faulty import Fate, FaultyAsyncTransport, FaultyTransport, connect, connect_async
from tests.locks.etcd.test_lost_replies import turns_left
from vez.errors import EngineUnavailable, Misuse, OwnershipLost
from vez.locks.engines.network import task_engine, thread_engine
from vez.locks.recipes.etcd.operations import Put, Txn
from vez.testing.actors import PATIENCE, eventually
from vez.testing.servers import EtcdServer


def hands_over(request: Any) -> bool:
    """True for the transaction of a transfer: it writes a key that the last of its conditions compares."""
    if not isinstance(request, Txn) or len(request.conditions) < 2:
        return False
    last = request.conditions[-1].key
    return any(isinstance(one, Put) and one.key == last for one in request.then)


class Plan:
    """The next requests of one sort meet a fate."""

    def __init__(self, fate: Fate, times: int = 1) -> None:
        self.fate, self.left = fate, times

    def __call__(self, number: int, request: Any) -> Fate:
        if not self.left or not hands_over(request):
            return ""
        self.left -= 1
        return self.fate


@contextmanager
def candidate(url: str, etcd: EtcdServer) -> Iterator[Any]:
    """Another client that stands. Yields the leadership that it will have."""
    with vez.connect(url) as other, ThreadPoolExecutor(1) as elsewhere:
        standing = elsewhere.submit(other.election("x", label="other").acquire, PATIENCE)
        eventually(lambda: len(turns_left(etcd, url)) == 2, "a candidate")
        yield standing
        standing.result().release()


@pytest.mark.parametrize("fate", ["lose", "drop", "delay"])
def test_a_transfer_whose_reply_is_lost_is_resolved(etcd: EtcdServer, url: str, fate: Fate) -> None:
    plan = Plan(fate)
    with connect(url, FaultyTransport(url, plan)) as client:
        leading = client.election("x", label="first").acquire()
        with candidate(url, etcd) as standing:
            term = leading.transfer("other")
            assert not plan.left
            assert standing.result(PATIENCE).term == term
            assert not leading.lost
            leading.release()
            assert len(turns_left(etcd, url)) == 1


async def stand(client: Any) -> Any:
    """A candidate that is a task of its own."""
    return await client.election("x", label="other").acquire(PATIENCE)


def test_a_transfer_of_tasks_whose_reply_is_lost_is_resolved(etcd: EtcdServer, url: str) -> None:
    async def run() -> None:
        plan = Plan("lose")
        async with connect_async(url, FaultyAsyncTransport(url, plan)) as client:
            leading = await client.election("x", label="first").acquire()
            standing = asyncio.create_task(stand(client))
            await asyncio.to_thread(eventually, lambda: len(turns_left(etcd, url)) == 2, "a candidate")
            assert await leading.transfer("other") == (await standing).term
            assert not plan.left
            (await standing).check()

    asyncio.run(run())


def test_a_leader_that_never_learns_what_came_of_its_transfer_has_lost(
    etcd: EtcdServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transfer may take effect later, so the leader must not continue to lead; its key is removed."""
    monkeypatch.setattr(thread_engine, "ANSWER_SECONDS", 0.2)
    with connect(url, FaultyTransport(url, Plan("drop", 1000))) as client:
        leading = client.election("x", label="first").acquire()
        with candidate(url, etcd) as standing:
            with pytest.raises(EngineUnavailable) as raised:
                leading.transfer("other")
            assert not raised.value.definite
            assert leading.lost
            assert standing.result(PATIENCE).term > leading.term
            with pytest.raises(vez.OwnershipLost):
                leading.release()


def test_tasks_that_never_learn_what_came_of_a_transfer_have_lost(
    etcd: EtcdServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_engine, "ANSWER_SECONDS", 0.2)

    async def run() -> None:
        async with connect_async(url, FaultyAsyncTransport(url, Plan("drop", 1000))) as client:
            leading = await client.election("x", label="first").acquire()
            standing = asyncio.create_task(stand(client))
            await asyncio.to_thread(eventually, lambda: len(turns_left(etcd, url)) == 2, "a candidate")
            with pytest.raises(EngineUnavailable):
                await leading.transfer("other")
            assert leading.lost
            (await standing).check()

    asyncio.run(run())


def test_a_transfer_by_one_whose_key_is_gone_says_so(etcd: EtcdServer, url: str) -> None:
    with vez.connect(url) as client:
        leading = client.election("x", label="first").acquire()
        (key,) = turns_left(etcd, url)
        with candidate(url, etcd):
            etcd.ctl("del", key)
            with pytest.raises(OwnershipLost, match="somebody has removed it"):
                leading.transfer("other")
            assert leading.lost


def test_a_transfer_to_nobody_changes_nothing(etcd: EtcdServer, url: str) -> None:
    with vez.connect(url) as client:
        leading = client.election("x", label="first").acquire()
        with pytest.raises(Misuse):
            leading.transfer("other")
        assert not leading.lost
        leading.check()
        leading.release()
