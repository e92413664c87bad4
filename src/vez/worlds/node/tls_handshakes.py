"""TLS handshakes: the accepted connections whose TLS handshake is not finished, with limits on number and time.

asyncio could do the handshake before it passes on a connection. But then the node could neither count the connections
that never finish it, nor close them when it ends.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

import msgspec

from vez.worlds.node.connection import Wire
from vez.worlds.node.log import Log


class HandshakeSettings(msgspec.Struct, frozen=True):
    """The settings of all handshakes of a listener."""

    make: Callable[[], Wire]
    """Makes the protocol that gets the connection after the handshake."""
    context: Callable[[], ssl.SSLContext | None]
    """The context for the next connection, with the certificates of that moment."""
    seconds: float
    most: int
    log: Log


class TlsHandshakes:
    """The unfinished handshakes of a listener. It is called for every accepted connection."""

    def __init__(self, settings: HandshakeSettings) -> None:
        self.settings = settings
        self.under_way: dict[_Handshake, None] = {}
        """The unfinished handshakes, the oldest first."""
        self.is_closed = False

    def __call__(self) -> asyncio.Protocol:
        return _Handshake(self)

    def close(self) -> None:
        """Close all connections without a finished handshake, and those that the event loop still passes on."""
        self.is_closed = True
        for handshake in list(self.under_way):
            handshake.close()


class _Handshake(asyncio.Protocol):
    """One connection, from its first byte to the end of the TLS handshake."""

    def __init__(self, handshakes: TlsHandshakes) -> None:
        self._handshakes = handshakes
        self._settings = handshakes.settings
        self._others = handshakes.under_way
        self._early: list[bytes] = []  # bytes that came after the handshake, in the same read
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._handshakes.is_closed:  # the connection was accepted before the listener was closed
            self._transport.abort()
            return
        if len(self._others) >= self._settings.most:  # close the oldest: the new one may be a member
            self._settings.log.line("refused a connection: too many have not finished their TLS handshake")
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
        settings, loop = self._settings, asyncio.get_running_loop()
        context = settings.context()
        assert context is not None, "a listener with TLS"
        try:
            secured = await loop.start_tls(
                self._transport, self, context, server_side=True, ssl_handshake_timeout=settings.seconds
            )
        except OSError as error:  # TLS errors are OSErrors too
            reason = getattr(error, "reason", None) or str(error) or "it was closed"
            settings.log.line(f"refused a connection: TLS: {reason}")
            self._transport.abort()
            return
        finally:
            self._others.pop(self, None)
        if secured is None or self._lost:
            return
        inside = settings.make()
        secured.set_protocol(inside)
        inside.connection_made(secured)
        for data in self._early:
            inside.feed(data)
