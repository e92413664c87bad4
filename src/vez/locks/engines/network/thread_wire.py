"""A wire for threads: a blocking socket. `task_wire.py` has the same names for tasks.

The two are separate files, because one blocks on a socket and the other is called by an event loop.
"""

from __future__ import annotations

import contextlib
import socket
import ssl

from vez.locks.engines.network.wires import CHUNK, SOCKET_OPTIONS, Broken, NotConnected, Silence, readable

SHORTEST = 0.001
"""Shortest timeout in seconds. A timeout of 0 makes a socket non-blocking, and its error looks like a broken
connection."""


class Wire:
    """A connection, for one thread at a time. Only `interrupt` may be called by others."""

    def __init__(self, made: socket.socket) -> None:
        self._socket = made

    def write(self, data: bytes, seconds: float) -> None:
        """Send all of it."""
        try:
            self._socket.settimeout(max(seconds, SHORTEST))
            self._socket.sendall(data)
        except TimeoutError as error:
            raise Silence(str(error)) from error
        except OSError as error:
            raise Broken(str(error)) from error

    def read(self, seconds: float) -> bytes:
        """Wait for data and return it; empty if the server has closed the connection."""
        try:
            self._socket.settimeout(max(seconds, SHORTEST))
            return self._socket.recv(CHUNK)
        except TimeoutError as error:
            raise Silence(str(error)) from error
        except OSError as error:
            raise Broken(str(error)) from error

    def idle(self) -> bool:
        """False if data arrived without a request: then the server has closed the connection."""
        return not readable(self._socket.fileno())

    def interrupt(self) -> None:
        """End a `read` of another thread, at once. The wire cannot be used afterwards."""
        with contextlib.suppress(OSError):  # of the plain socket also with TLS: that of TLS would detach its layer
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def drop(self) -> None:
        """Close our descriptor. If the parent of a forked process has the connection too, it stays open there."""
        with contextlib.suppress(Exception):
            self._socket.close()

    def close(self) -> None:
        """Close the connection."""
        self.drop()

    def __del__(self) -> None:
        self.drop()  # of a client that was not closed


def open_wire(host: str, port: int, context: ssl.SSLContext | None, seconds: float) -> Wire:
    """Connect, with TLS if there is a context. Raises `NotConnected` on failure, and after `seconds`."""
    try:
        made = socket.create_connection((host, port), max(seconds, SHORTEST))
        try:
            for option in SOCKET_OPTIONS:
                made.setsockopt(*option)
            if context is not None:
                made = context.wrap_socket(made, server_hostname=host)
        except BaseException:
            made.close()
            raise
    except TimeoutError as error:
        raise NotConnected("timed out") from error
    except OSError as error:
        raise NotConnected(str(error)) from error
    return Wire(made)
