"""A wire for tasks: a connection over a transport of asyncio. `thread_wire.py` has the same names for threads.

The two are separate files, because one blocks on a socket and the other is called by an event loop. The streams of
asyncio (`open_connection`) are not used: they cannot tell whether there is unread data, and a read with a timeout needs
a task of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl

from vez.locks.engines.network.wires import SOCKET_OPTIONS, Broken, NotConnected, Silence, readable

_MOST_UNREAD = 1 << 20
"""Largest number of unread bytes. Above it, reading from the server pauses until they are read."""


class Wire(asyncio.Protocol):
    """A connection, for one task at a time: the data that has arrived, and whether the connection is open."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._error: Exception | None = None
        self._closed = False
        self._unread = bytearray()
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the connection is open."""
        assert isinstance(transport, asyncio.Transport), "a stream of bytes"
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Store received data, and wake the reader."""
        self._unread += data
        if len(self._unread) > _MOST_UNREAD and self._transport is not None:
            self._transport.pause_reading()
        self.interrupt()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is closed, and wake the reader."""
        self._closed, self._error = True, error
        self.interrupt()

    async def write(self, data: bytes, seconds: float) -> None:
        """Send all of `data` without waiting. asyncio buffers the part that the system does not accept at once."""
        if self._closed or self._transport is None:
            raise Broken("the connection was closed")
        self._transport.write(data)

    async def read(self, seconds: float) -> bytes:
        """Wait for data and return it; empty if the server has closed the connection. Raises `Silence` after
        `seconds`."""
        if not self._unread and not self._closed:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(max(seconds, 0), self.interrupt)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        if self._unread:
            data, self._unread = bytes(self._unread), bytearray()
            if len(data) > _MOST_UNREAD and self._transport is not None and not self._closed:
                self._transport.resume_reading()
            return data
        if self._error is not None:
            raise Broken(str(self._error)) from self._error
        if not self._closed:
            raise Silence("timed out")
        return b""

    def idle(self) -> bool:
        """False if data arrived without a request: then the server has closed the connection. The event loop may not
        have read it yet, so the socket is asked."""
        if self._closed or self._transport is None:
            return False
        return not readable(self._transport.get_extra_info("socket").fileno())

    def interrupt(self) -> None:
        """End a `read` of another task, as if its time were over."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def drop(self) -> None:
        """Close the connection, and discard unsent data."""
        if self._transport is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already, and has dropped the connection
                self._transport.abort()

    async def close(self) -> None:
        """Close the connection, and yield once: the loop closes the socket in its next step."""
        if self._transport is not None:
            self.drop()
            await asyncio.sleep(0)


async def open_wire(host: str, port: int, context: ssl.SSLContext | None, seconds: float) -> Wire:
    """Connect, with TLS if there is a context. Raises `NotConnected` on failure, and after `seconds`."""
    name = None if context is None else host
    try:
        async with asyncio.timeout(seconds):
            transport, wire = await asyncio.get_running_loop().create_connection(
                Wire, host, port, ssl=context, server_hostname=name
            )
    except TimeoutError as error:
        raise NotConnected("timed out") from error
    except OSError as error:
        raise NotConnected(str(error)) from error
    for option in SOCKET_OPTIONS:
        transport.get_extra_info("socket").setsockopt(*option)
    return wire
