"""Servers: one service behind five models of serving it, on real sockets.

A `Service` decides; a `Server` moves bytes. The same service runs behind every model:

    single              one thread: accept, read, work, answer, next
    thread-per-request  a new thread for each request, up to a limit
    pool                one acceptor, a bounded blocking queue, n workers
    staged              a queue and a pool for each stage: receive, decide, send
    loop                asyncio, with blocking work handed to a pool

Servers speak HTTP/1.1 (`h11`, extra `vez[serving]`) and listen on loopback only.

The parts, each of which imports only those above it:

    limits, recording, log     numbers, spans of time, lines for the operator
    service                    the interface of a service, requests and answers
    http                       one connection's HTTP, without I/O
    connection, gate, stage    sockets; who may speak next; a queue with its threads
    server, threaded           what all models share; the steps of those whose threads block
    single … loop, models      the models
    pages, counter             two services
"""

from __future__ import annotations

from vez.errors import MissingPart

try:
    import h11 as _h11  # noqa: F401  # first, so that the error names what to install
except ImportError as error:
    raise MissingPart("servers need h11, which is not installed", hint="pip install 'vez[serving]'") from error

from vez.serving.limits import Limits
from vez.serving.models import MODELS, Settings, make_server
from vez.serving.server import Server
from vez.serving.service import Answer, Refusal, Request, Service

__all__ = ["MODELS", "Answer", "Limits", "Refusal", "Request", "Server", "Service", "Settings", "make_server"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
