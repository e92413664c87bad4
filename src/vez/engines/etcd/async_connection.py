"""A connection to one member of the cluster, for tasks: asyncio's own, with the errors of httpcore.

httpcore's connections for asyncio go through anyio, which doubles the processor time of a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import ssl

import httpcore

from vez.engines.etcd.address import Endpoint
from vez.engines.etcd.http import Exchange
from vez.engines.etcd.router import CONNECT_SECONDS, SOCKET_OPTIONS

_MOST_UNREAD = 1 << 20
"""Bytes that may lie unread; then the server is not listened to until they are."""


class Wire(asyncio.Protocol):
    """What has come from the other side, and whether it is still there."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.error: Exception | None = None
        self.closed = False
        self._unread = bytearray()
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        assert isinstance(transport, asyncio.Transport), "a stream of bytes"
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep what has come, and wake who waits for it."""
        self._unread += data
        if len(self._unread) > _MOST_UNREAD and self.transport is not None:
            self.transport.pause_reading()
        self.wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Wake who waits: nothing more will come."""
        self.closed, self.error = True, error
        self.wake()

    def wake(self) -> None:
        """End the present wait."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self, seconds: float) -> bytes:
        """What has come, as soon as there is something; empty if the other side has closed. A wake-up counts as a
        timeout."""
        if not self._unread and not self.closed:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(max(seconds, 0), self.wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        if self._unread:
            data, self._unread = bytes(self._unread), bytearray()
            if len(data) > _MOST_UNREAD and self.transport is not None and not self.closed:
                self.transport.resume_reading()
            return data
        if self.error is not None:
            raise httpcore.ReadError(str(self.error)) from self.error
        if not self.closed:
            raise httpcore.ReadTimeout("timed out")
        return b""


class AsyncConnection:
    """A connection to one member."""

    def __init__(self, wire: Wire, endpoint: Endpoint) -> None:
        self._wire, self.endpoint = wire, endpoint
        self.exchange = Exchange()

    def send(self, path: str, body: bytes, token: str) -> None:
        """Send a request."""
        if self._wire.closed or self._wire.transport is None:
            raise httpcore.WriteError("the connection was closed")
        self._wire.transport.write(self.exchange.request(str(self.endpoint), path, body, token))

    async def receive(self, seconds: float) -> bool:
        """Read once; False if the other side has closed the connection."""
        data = await self._wire.read(seconds)
        self.exchange.feed(data)
        return bool(data)

    async def call(self, path: str, body: bytes, token: str, seconds: float) -> tuple[int, bytes]:
        """Send a request and read the reply: its status and body."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        self.send(path, body, token)
        while not self.exchange.ended:
            if not await self.receive(end - clock()):
                raise httpcore.ReadError("the connection was closed before the reply")
        return self.exchange.status, self.exchange.body()

    def idle(self) -> bool:
        """False if something has come although nothing was asked: the server has closed it."""
        wire = self._wire
        return not wire.closed and wire.transport is not None and not _readable(wire.transport)

    def interrupt(self) -> None:
        """End the present wait, as if its time were over."""
        self._wire.wake()

    async def close(self) -> None:
        """Close it; what was not sent yet is dropped."""
        if self._wire.transport is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already, and has dropped it
                self._wire.transport.abort()
            await asyncio.sleep(0)  # the loop closes the socket after this step


async def connect(endpoint: Endpoint, context: ssl.SSLContext | None, seconds: float) -> AsyncConnection:
    """A new connection to this member."""
    loop = asyncio.get_running_loop()
    host = None if context is None else endpoint.host
    try:
        async with asyncio.timeout(min(seconds, CONNECT_SECONDS)):
            transport, wire = await loop.create_connection(
                Wire, endpoint.host, endpoint.port, ssl=context, server_hostname=host
            )
    except TimeoutError as error:
        raise httpcore.ConnectTimeout("timed out") from error
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    for option in SOCKET_OPTIONS:
        transport.get_extra_info("socket").setsockopt(*option)
    return AsyncConnection(wire, endpoint)


def _readable(transport: asyncio.Transport) -> bool:
    """True if the system has something for us; the loop may not have read it yet."""
    handle = transport.get_extra_info("socket").fileno()
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([handle], [], [], 0)[0])
