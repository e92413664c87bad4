"""Transports that lose replies, delay requests and miss events of the real server, and what is left on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from tests.proxy import Route
from vez.engines.etcd import _prepared
from vez.engines.etcd.address import parse
from vez.engines.etcd.async_transport import EtcdAsyncTransport
from vez.engines.etcd.transport import EtcdTransport
from vez.engines.network.async_engine import NetworkAsyncEngine
from vez.engines.network.course import Clock, now
from vez.engines.network.engine import NetworkEngine
from vez.recipes import Reply, Unknown
from vez.testing.servers import EtcdServer
from vez.turns import aio, client

Fate = Literal["", "lose", "delay", "drop"]
"""Nothing; the reply is lost; the request arrives later than what is asked after it; it never arrives."""
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
    """Loses or drops the replies that the plan says, for tasks; it does not delay."""

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
    _, book = _prepared(url)
    return client.Client(NetworkEngine(url, book, transport or EtcdTransport(parse(url)), clock))


def connect_async(url: str, transport: EtcdAsyncTransport | None = None, clock: Clock = now) -> aio.Client:
    """A client for tasks with a transport or a clock of the test."""
    _, book = _prepared(url)
    return aio.Client(NetworkAsyncEngine(url, book, transport or EtcdAsyncTransport(parse(url)), clock))


def keys(server: EtcdServer, prefix: str = "") -> list[str]:
    """The keys on the server that begin with a prefix."""
    return server.ctl("get", "--prefix", "--keys-only", prefix).split()


def leases(server: EtcdServer) -> int:
    """How many leases there are."""
    return int(server.ctl("lease", "list").split()[1])
