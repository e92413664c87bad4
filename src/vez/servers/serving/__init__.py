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
    http, conversation         the HTTP of one connection, without I/O; the same with a cache of results
    connection, gate, stage    sockets; the next connection with a request; a queue with its threads
    server, threaded           the common part of all models; the steps of models whose threads block
    single, thread_per_request, pool, staged, loop   the models; `models` lists them
    loop_connection, loop_gate   the same as connection and gate, on an event loop
    pages, counter, work       three services
    trial                      a server in a process of its own under load
"""

from __future__ import annotations

from vez.errors import MissingPart, how_to_install

try:
    import h11 as _h11  # noqa: F401  # first, so that the error names what to install
except ImportError as error:
    raise MissingPart("servers need h11, which is not installed", hint=how_to_install("serving")) from error

from vez.servers.serving.limits import Limits
from vez.servers.serving.models import MODELS, Settings, make_server
from vez.servers.serving.server import Server
from vez.servers.serving.service import Answer, Refusal, Request, Service

__all__ = ["MODELS", "Answer", "Limits", "Refusal", "Request", "Server", "Service", "Settings", "make_server"]
