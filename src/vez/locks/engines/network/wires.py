"""The common part of wires for threads and for tasks: errors and socket options.

A wire is a connection (TCP, with TLS if there is a context) that carries bytes. `thread_wire.py` blocks on a socket,
`task_wire.py` awaits a transport of asyncio; both have the same names. An exception of a socket, of TLS or of asyncio
leaves a wire only as the cause of one of these errors.
"""

from __future__ import annotations

import select
import socket


class WireError(Exception):
    """A wire failed; the cause is attached."""


class NotConnected(WireError):
    """No connection was made: nothing was sent."""


class Broken(WireError):
    """The connection broke while something was sent or received."""


class Silence(WireError):
    """Nothing was received, or could be sent, within the allowed time."""


SOCKET_OPTIONS = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
"""Without TCP_NODELAY, a request that follows another would wait for the acknowledgement of the first."""
CHUNK = 1 << 16
"""Most bytes of one read."""


def readable(descriptor: int) -> bool:
    """True if there is data to read, or the descriptor is closed."""
    if descriptor < 0:
        return True
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([descriptor], [], [], 0)[0])
