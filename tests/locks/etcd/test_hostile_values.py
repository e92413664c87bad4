"""Servers whose replies have the right shape and senseless values: every use of a client ends, or fails in our words."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

import vez
from tests.locks.etcd.faulty import connect, keys
from vez.errors import EngineUnavailable, VezError
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes import Answer, Refused, Reply, Unknown
from vez.locks.recipes.etcd.operations import (
    Delete,
    Entry,
    Event,
    Found,
    Get,
    KeepAlive,
    LeaseFor,
    LeaseGrant,
    Put,
    Revoke,
    Txn,
    TxnDone,
    Written,
)
from vez.testing import SyncActor, eventually
from vez.testing.servers import EtcdServer

WORDS = [
    "",
    "/",
    "x",
    "x/",
    "x/7",
    "x/zz",
    "x/7/8",
    "vez/",
    "vez/sessions/7",
    "vez/sessions/7/broken/1",
    "\x00",
    "\ufffd",
]
VALUES = ["", "{}", "null", "[]", '{"pid":1}', "1", "5 text", "nan", "x 5 why", f"x {'9' * 30} why"]
NUMBERS = [1, 2, 5, 1 << 62]


class Senseless(EtcdTransport):
    """Answers every request by chance, also with keys and values that the client has sent before."""

    def __init__(self, url: str, chance: Random) -> None:
        super().__init__(parse(url))
        self.chance, self.keys, self.values = chance, list(WORDS), list(VALUES)

    @property
    def contacted(self) -> bool:
        return True

    def call(self, request: Any, seconds: float) -> Reply:
        one = self.chance.choice
        match self.chance.randrange(20):
            case 0:
                return Unknown("no reply")
            case 1:
                return Refused("refused")
        match request:
            case LeaseGrant():
                return Answer(LeaseFor(one([1, 10, 1 << 62])))
            case KeepAlive():
                return Answer(LeaseFor(one([0, 10, 1 << 62])))
            case Revoke():
                return Answer(None)
        assert isinstance(request, Txn)
        self.keys += [step.key for step in (*request.then, *request.otherwise)]
        self.values += [step.value for step in request.then if isinstance(step, Put)]
        succeeded = not request.conditions or one([True, False])
        steps = request.then if succeeded else request.otherwise
        results = tuple(self.found() if isinstance(step, Get) else Written(one([0, 1])) for step in steps)
        return Answer(TxnDone(succeeded, results, one(NUMBERS)))

    def found(self) -> Found:
        return Found(tuple(self.entry() for _ in range(self.chance.choice([0, 0, 1, 1, 2, 3]))))

    def entry(self) -> Entry:
        one = self.chance.choice
        return Entry(one(self.keys), one(self.values), one(NUMBERS), one(NUMBERS), one([0, 7, -3, 1 << 62]))

    def watch(self, watch: Any, seconds: float) -> Any:
        if self.chance.random() < 0.3:
            raise WatchEnded("refused")
        return Noise(self)


class Noise:
    """A watch that reports senseless events."""

    def __init__(self, server: Senseless) -> None:
        self.server = server

    def next(self, seconds: float | None) -> tuple[Event, ...] | None:
        match self.server.chance.randrange(4):
            case 0:
                raise WatchEnded("ended")
            case 1:
                time.sleep(min(0.01 if seconds is None else seconds, 0.01))  # it is quiet
                return None
        entry = self.server.entry()
        return (Event(entry.key, entry.mod, self.server.chance.choice([None, entry])),)

    def interrupt(self) -> None:
        pass

    def close(self) -> None:
        pass

    def serves(self, watch: Any) -> bool:
        return self.server.chance.random() < 0.5


def uses(client: vez.Client) -> list[Callable[[], object]]:
    """Uses of a client, each by itself."""
    wait = 0.03

    def lead() -> None:
        with client.election("e", label="one", timeout=wait) as leadership:
            leadership.transfer("two")

    return [
        lead,
        lambda: client.lock("x").acquire(wait).release(),
        lambda: client.lock("x", shared=True).acquire(wait).release(),
        lambda: client.lock("x", on_wait=lambda _: None).acquire(wait).release(),
        lambda: client.lock("x").acquire(0).release(),
        lambda: client.semaphore("s", 2).acquire(wait).release(),
        lambda: client.lock("x", timeout=wait).every("1d")(lambda: None)(),
        lambda: next(iter(client.election("e").observe(wait))),
        lambda: [client.inspect("x"), client.inspect("s", "semaphore"), client.inspect("e", "election")],
        lambda: [client.locks(""), client.locks("x", "semaphore"), client.locks("", "election")],
        client.prune,
        lambda: client.break_lock("x", "a test"),
        lambda: client.engine.memo("x"),
        lambda: client.engine.write_memo("x", "text", 5),
    ]


@pytest.mark.parametrize("clients", [12, pytest.param(800, marks=[pytest.mark.long, pytest.mark.limit(900)])])
def test_a_client_bears_senseless_values(clients: int) -> None:
    seed = Random().randrange(1 << 30)
    print(f"seed {seed}")
    url, chance = "etcd://127.0.0.1:1?lease=10", Random(seed)
    kinds = set[type[VezError]]()
    for _ in range(clients):
        with suppress(VezError), connect(url, Senseless(url, chance)) as client:
            for use in uses(client):
                try:
                    use()
                except VezError as error:
                    kinds.add(type(error))
    assert vez.EngineUnavailable in kinds


def test_a_request_that_is_refused_in_the_middle_leaves_nothing(etcd: EtcdServer, url: str) -> None:
    """The server takes the key of a reader, and then refuses to show the queue."""

    class Refusing(EtcdTransport):
        def call(self, request: Any, seconds: float) -> Reply:
            read = isinstance(request, Txn) and not request.conditions and isinstance(request.then[0], Get)
            return Refused("not for you") if read else super().call(request, seconds)

    space = url.rpartition("/")[2].partition("?")[0]
    with vez.connect(url) as holder, connect(url, Refusing(parse(url))) as client, holder.lock("x"):
        with pytest.raises(EngineUnavailable, match="the server refuses it: not for you"):
            client.lock("x", shared=True).acquire(20)
        eventually(lambda: len(keys(etcd, f"{space}/x/")) == 1, "the key of the reader is removed")


def test_a_waiter_whose_removal_is_refused_leaves_nothing(etcd: EtcdServer, url: str) -> None:
    """The server takes the key of a waiter, and refuses to remove it. The session ends, and the key with it."""

    class Refusing(EtcdTransport):
        def call(self, request: Any, seconds: float) -> Reply:
            removes = isinstance(request, Txn) and any(isinstance(step, Delete) for step in request.then)
            return Refused("it is read-only") if removes else super().call(request, seconds)

    space = url.rpartition("/")[2].partition("?")[0]
    holder = SyncActor(url)
    grant = holder.acquire("lock", "x")
    with connect(url, Refusing(parse(url))) as client:
        with pytest.raises(EngineUnavailable, match="could not be removed: the server refuses it: it is") as caught:
            client.lock("x").acquire(0.2)
        assert not caught.value.definite
        eventually(lambda: len(keys(etcd, f"{space}/x/")) == 1, "the key of the waiter is removed")
        assert not client.lock("y").acquire(20).lost, "it has a new session"
    holder.release(grant)
    holder.close()


def test_a_session_that_the_server_ends_at_once(url: str) -> None:
    """Its lease is gone before it is used, as after a suspension of the machine."""

    class Ending(EtcdTransport):
        def call(self, request: Any, seconds: float) -> Reply:
            if isinstance(request, Txn) and any(isinstance(step, Put) for step in request.then):
                return Refused("requested lease not found")
            return super().call(request, seconds)

    with (
        connect(url, Ending(parse(url))) as client,
        pytest.raises(EngineUnavailable, match="the server ended the session that was being opened: requested lease"),
    ):
        client.lock("x").acquire(20)
