"""Failures: error texts for a member that could not be reached or did not answer, the same for threads and tasks."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl

from vez.errors import EngineUnavailable
from vez.locks.engines.etcd.address import Endpoint
from vez.locks.engines.etcd.http import CutOff
from vez.locks.engines.network.wires import Broken, Silence

LOST = (Broken, Silence, ssl.SSLError, CutOff)
"""Exceptions that can be raised after a request, or a part of it, was sent."""
CLOSED_IN_TLS = "it closed the connection in the middle of TLS"
"""Our own text, because OpenSSL reports this to threads as a protocol violation, and asyncio reports no reason."""


def why(endpoint: Endpoint, error: BaseException) -> str:
    """The endpoint and the reason of a failed connection, in the words of the operating system."""
    deepest: BaseException | None = error
    while not isinstance(deepest, CutOff) and (deeper := _cause(deepest)) is not None:
        deepest = deeper
    if isinstance(deepest, asyncio.CancelledError | TimeoutError):  # it says how the client was stopped, not why
        return f"{endpoint}: timed out"
    text = str(deepest)
    if isinstance(deepest, socket.gaierror):  # its error numbers are not those of `os.strerror`
        text = deepest.strerror or text
    elif isinstance(deepest, ssl.SSLEOFError) or (isinstance(deepest, ConnectionResetError) and not deepest.args):
        text = CLOSED_IN_TLS
    elif isinstance(deepest, OSError) and deepest.errno and not isinstance(deepest, ssl.SSLError):
        text = os.strerror(deepest.errno)
    return f"{endpoint}: {text or str(error) or type(error).__name__}"


def _cause(error: BaseException | None) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    return None if error is None else error.__cause__ or error.__context__


def refused_by_tls(error: BaseException, endpoint: Endpoint) -> EngineUnavailable | None:
    """The error for a server that rejects our certificate; None if TLS was not the cause. The server reports the
    rejection only after the handshake."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = _cause(cause)
    if cause is None:
        return None
    return EngineUnavailable(why(endpoint, cause), hint="does the server want a certificate (?cert=…&key=…)?")
