"""Doors: connections whose TLS handshake is under way, bounded in number and in time, and closed with the node.

asyncio could do the handshake before it shows a connection, but then nobody could count those that never finish theirs,
nor close them when the node ends.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

import msgspec

from vez.node.connection import Wire
from vez.node.log import Log


class Hinges(msgspec.Struct, frozen=True):
    """What every door needs."""

    make: Callable[[], Wire]
    """Makes the protocol that is told of the connection after the handshake."""
    context: ssl.SSLContext
    seconds: float
    most: int
    log: Log


class Doors:
    """The open handshakes of a listener; called for every connection that it accepts."""

    def __init__(self, hinges: Hinges) -> None:
        self.hinges = hinges
        self.under_way: dict[_Door, None] = {}
        """The oldest first."""
        self.is_closed = False

    def __call__(self) -> asyncio.Protocol:
        return _Door(self)

    def close(self) -> None:
        """Close all connections that have not finished their handshake, and those that the loop still shows."""
        self.is_closed = True
        for door in list(self.under_way):
            door.close()


class _Door(asyncio.Protocol):
    """One connection, from its first byte to the end of the TLS handshake."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self._hinges = doors.hinges
        self._others = doors.under_way
        self._early: list[bytes] = []  # what came with the last bytes of the handshake
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._doors.is_closed:  # it was accepted before the listener was closed
            self._transport.abort()
            return
        if len(self._others) >= self._hinges.most:  # the new one may be a member
            self._hinges.log.line("refused a connection: too many have not finished their TLS handshake")
            next(iter(self._others)).close()
        self._transport.pause_reading()  # until the handshake reads
        self._others[self] = None
        self._task = asyncio.get_running_loop().create_task(self._pass())

    def data_received(self, data: bytes) -> None:
        self._early.append(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True

    def close(self) -> None:
        """Give up the handshake."""
        self._others.pop(self, None)
        self._task.cancel()
        self._transport.abort()

    async def _pass(self) -> None:
        hinges, loop = self._hinges, asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(
                self._transport, self, hinges.context, server_side=True, ssl_handshake_timeout=hinges.seconds
            )
        except OSError as error:  # errors of TLS too
            reason = getattr(error, "reason", None) or str(error) or "it was closed"
            hinges.log.line(f"refused a connection: TLS: {reason}")
            self._transport.abort()
            return
        finally:
            self._others.pop(self, None)
        if secured is None or self._lost:
            return
        inside = hinges.make()
        secured.set_protocol(inside)
        inside.connection_made(secured)
        for data in self._early:
            inside.feed(data)
