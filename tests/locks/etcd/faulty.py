"""Transports that lose replies, delay requests and miss events of the real server; and the keys left on the server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from tests.proxy import Route
from vez.locks.engines.etcd import _prepared
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.network.recipe_run import Clock, now
from vez.locks.engines.network.task_engine import NetworkAsyncEngine
from vez.locks.engines.network.thread_engine import NetworkEngine
from vez.locks.recipes import Reply, Unknown
from vez.locks.turns import aio, client
from vez.testing.servers import EtcdServer

Fate = Literal["", "lose", "delay", "drop"]
"""Empty: nothing happens. `lose`: the reply is lost. `delay`: the request arrives after later ones. `drop`: it never
arrives."""
Plan = Callable[[int, Any], Fate]
DELAY = 0.15


def at_call(number: int, fate: Fate) -> Plan:
    """Only the call with this number meets this fate."""

    def plan(found: int, _: Any) -> Fate:
        return fate if found == number else ""

    return plan


def port_of(route: Route) -> int:
    """The port of a route."""
    assert isinstance(route.address, tuple)
    return route.address[1]


class FaultyTransport(EtcdTransport):
    """Calls of which some have no reply. They are numbered from 0."""

    def __init__(self, url: str, plan: Plan) -> None:
        super().__init__(parse(url))
        self.plan = plan
        self.calls = 0
        self.timers: list[threading.Timer] = []

    def call(self, request: Any, seconds: float) -> Reply:
        number, self.calls = self.calls, self.calls + 1
        fate = self.plan(number, request)
        if fate == "delay":
            timer = threading.Timer(DELAY, super().call, (request, seconds))
            timer.start()
            self.timers.append(timer)
        elif fate != "drop":
            reply = super().call(request, seconds)
            if fate != "lose":
                return reply
        return Unknown(f"a test: {fate}")

    def settle(self) -> None:
        """Wait until everything that was delayed has arrived."""
        for timer in self.timers:
            timer.join()


class FaultyAsyncTransport(EtcdAsyncTransport):
    """Loses or drops replies according to the plan, for tasks. It does not delay."""

    def __init__(self, url: str, plan: Plan) -> None:
        super().__init__(parse(url))
        self.plan = plan
        self.calls = 0

    async def call(self, request: Any, seconds: float) -> Reply:
        number, self.calls = self.calls, self.calls + 1
        fate = self.plan(number, request)
        if fate != "drop":
            reply = await super().call(request, seconds)
            if fate != "lose":
                return reply
        return Unknown(f"a test: {fate}")


def connect(url: str, transport: EtcdTransport | None = None, clock: Clock = now) -> client.Client:
    """A client with a transport or a clock of the test."""
    _, recipes = _prepared(url)
    return client.Client(NetworkEngine(url, recipes, transport or EtcdTransport(parse(url)), clock))


def connect_async(url: str, transport: EtcdAsyncTransport | None = None, clock: Clock = now) -> aio.Client:
    """A client for tasks with a transport or a clock of the test."""
    _, recipes = _prepared(url)
    return aio.Client(NetworkAsyncEngine(url, recipes, transport or EtcdAsyncTransport(parse(url)), clock))


def keys(server: EtcdServer, prefix: str = "") -> list[str]:
    """The keys on the server that begin with a prefix."""
    return server.ctl("get", "--prefix", "--keys-only", prefix).split()


def leases(server: EtcdServer) -> int:
    """Number of leases on the server."""
    return int(server.ctl("lease", "list").split()[1])
