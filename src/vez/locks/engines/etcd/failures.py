"""Failures: error texts for a member that could not be reached or did not answer, the same for threads and tasks."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl

from vez.errors import EngineUnavailable
from vez.locks.engines.etcd.address import Endpoint, words_of_openssl
from vez.locks.engines.etcd.http import CutOff
from vez.locks.engines.network.wires import Broken, Silence

LOST = (Broken, Silence, ssl.SSLError, CutOff)
"""Exceptions that can be raised after a request, or a part of it, was sent."""
CLOSED_IN_TLS = "it closed the connection in the middle of TLS"
"""Our own text, because OpenSSL reports this to threads as a protocol violation, and asyncio reports no reason."""
NOT_TRUSTED = "the certificate of the server is refused"
REFUSED = "the server refuses our certificate, or wants one"
_ALERT = re.compile("alert .*(certificate|unknown ca|handshake failure)")
"""Texts of OpenSSL for a server that does not accept the certificate of its client, or has none from it."""


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
    elif isinstance(deepest, ssl.SSLError):
        text = _of_tls(deepest)
    elif isinstance(deepest, OSError) and deepest.errno:
        text = os.strerror(deepest.errno)
    return f"{endpoint}: {text or str(error) or type(error).__name__}"


def _of_tls(error: ssl.SSLError) -> str:
    """The reason of an error of TLS: whose certificate is refused, and the words of OpenSSL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{NOT_TRUSTED}: {error.verify_message}"
    text = words_of_openssl(str(error))
    return f"{REFUSED}: {text}" if _ALERT.search(text) else text


def advice_on_tls(text: str, *, shows: bool) -> str:
    """What to do about an error of TLS, by the text of `why`; empty if it is about no certificate. `shows`: the URL
    names a certificate of the client."""
    if REFUSED in text:
        if shows:
            return "is the certificate of cert= valid now, and does the server trust who issued it?"
        return "name a certificate that the server trusts (?cert=…&key=…)"
    if NOT_TRUSTED not in text:
        return ""
    if "has expired" in text:
        return "renew it; or is the clock of this machine wrong?"
    if "not yet valid" in text:
        return "is the clock of this machine, or of the one that issued it, wrong?"
    if "not valid for" in text:
        return "name the host as the certificate does"
    return "name whom to trust (?ca=FILE)"


def _cause(error: BaseException | None) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    return None if error is None else error.__cause__ or error.__context__


def refused_by_tls(error: BaseException, endpoint: Endpoint, *, shows: bool) -> EngineUnavailable | None:
    """The error for a server that rejects our certificate; None if TLS was not the cause. The server reports the
    rejection only after the handshake, except with TLS 1.2."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = _cause(cause)
    if cause is None:
        return None
    text = why(endpoint, cause)
    hint = advice_on_tls(text, shows=shows) or "does the server want a certificate (?cert=…&key=…)?"
    return EngineUnavailable(text, hint=hint)
