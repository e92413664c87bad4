# Generated from task_connection.py by python -m tools.unasync: change that file, not this one.
"""A connection to one member of the cluster, for threads: HTTP over a wire."""

from __future__ import annotations

import ssl
import time

from vez.locks.engines.etcd.address import Endpoint
from vez.locks.engines.etcd.http import Exchange
from vez.locks.engines.etcd.router import CONNECT_SECONDS
from vez.locks.engines.network.thread_wire import Wire, open_wire
from vez.locks.engines.network.wires import Broken


class Connection:
    """A connection to one member."""

    def __init__(self, wire: Wire, endpoint: Endpoint) -> None:
        self._wire, self.endpoint = wire, endpoint
        self.exchange = Exchange()
        self.idle, self.interrupt, self.drop, self.close = wire.idle, wire.interrupt, wire.drop, wire.close

    def send(self, path: str, body: bytes, token: str, seconds: float, method: str = "POST") -> None:
        """Send a request."""
        self._wire.write(self.exchange.request(str(self.endpoint), path, body, token, method), seconds)

    def receive(self, seconds: float) -> bool:
        """Read once; False if the other side has closed the connection."""
        data = self._wire.read(seconds)
        self.exchange.feed(data)
        return bool(data)

    def call(self, path: str, body: bytes, token: str, seconds: float) -> tuple[int, bytes]:
        """Send a request and read the reply: its status and body."""
        end = time.monotonic() + seconds
        self.send(path, body, token, seconds)
        while not self.exchange.ended:
            if not self.receive(end - time.monotonic()):
                raise Broken("the connection was closed before the reply")
        return self.exchange.status, self.exchange.body()


def connect(endpoint: Endpoint, context: ssl.SSLContext | None, seconds: float) -> Connection:
    """A new connection to this member."""
    wire = open_wire(endpoint.host, endpoint.port, context, min(seconds, CONNECT_SECONDS))
    return Connection(wire, endpoint)
