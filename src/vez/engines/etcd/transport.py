"""The transport for threads: blocking connections of httpcore."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import time
from weakref import finalize

import httpcore

from vez.engines.etcd.address import Address, Endpoint
from vez.engines.etcd.http import CutOff, Exchange, NotHttp
from vez.engines.etcd.router import CHUNK, CONNECT_SECONDS, SOCKET_OPTIONS, Router, Watched
from vez.engines.etcd.verdicts import Stranger, TokenExpired
from vez.engines.etcd.watching import Watching, begins_now
from vez.engines.network.transport import CALL_SECONDS, Unreachable, WatchEnded
from vez.errors import EngineUnavailable
from vez.recipes import Reply, Unknown
from vez.recipes.etcd.operations import Event, Request, Watch

LOST = (httpcore.ReadError, httpcore.WriteError, httpcore.ReadTimeout, httpcore.WriteTimeout, ssl.SSLError, CutOff)
"""What may be raised after a request was sent, or a part of it."""
UNREACHED = (httpcore.ConnectError, httpcore.ConnectTimeout)
"""What is raised before anything was sent."""
CLOSED_IN_TLS = "it closed the connection in the middle of TLS"
"""In the words of neither: OpenSSL says it to threads as a violation of its protocol, and asyncio says nothing."""
SHORTEST = 0.001
"""Seconds; a timeout of 0 would mean not to wait at all, which would look like a broken connection."""


class Connection:
    """A connection to one member: httpcore makes it, and its socket is used as it is, with httpcore's errors."""

    def __init__(self, stream: httpcore.NetworkStream, endpoint: Endpoint) -> None:
        self.stream, self.endpoint = stream, endpoint
        self.socket: socket.socket = stream.get_extra_info("socket")
        self.exchange = Exchange()

    def send(self, path: str, body: bytes, token: str, seconds: float) -> None:
        """Send a request."""
        request = self.exchange.request(str(self.endpoint), path, body, token)
        try:
            self.socket.settimeout(seconds)
            self.socket.sendall(request)
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def receive(self, seconds: float) -> bool:
        """Read once; False if the other side has closed the connection."""
        try:
            self.socket.settimeout(max(seconds, SHORTEST))
            data = self.socket.recv(CHUNK)
        except TimeoutError as error:
            raise httpcore.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error
        self.exchange.feed(data)
        return bool(data)

    def call(self, path: str, body: bytes, token: str, seconds: float) -> tuple[int, bytes]:
        """Send a request and read the reply: its status and body."""
        end = time.monotonic() + seconds
        self.send(path, body, token, seconds)
        while not self.exchange.ended:
            if not self.receive(end - time.monotonic()):
                raise httpcore.ReadError("the connection was closed before the reply")
        return self.exchange.status, self.exchange.body()

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(Exception):
            self.stream.close()


class EtcdTransport:
    """Calls and watches of one cluster."""

    def __init__(self, address: Address) -> None:
        self._router: Router[Connection] = Router(address)
        self._backend = httpcore.SyncBackend()
        finalize(self, _close_idle, self._router).atexit = False

    @property
    def contacted(self) -> bool:
        """True once a server has answered."""
        return self._router.contacted

    @property
    def streams(self) -> set[Watched]:
        """The watches under way."""
        return self._router.streams

    def call(self, request: Request, seconds: float) -> Reply:
        """Ask the cluster. A member that cannot be reached is passed over; one that does not answer is not."""
        path, body = self._router.codec.encode(request)
        for _ in range(2):  # again with a new login, if the old one has expired
            reasons: list[str] = []
            for endpoint in self._router.endpoints():
                try:
                    connection = self._connected(endpoint, seconds)
                except UNREACHED as error:
                    reasons.append(why(endpoint, error))
                    self._router.failed(endpoint, seconds)
                    continue
                try:
                    return self._ask(connection, request, path, body, seconds)
                except TokenExpired:
                    break
            else:
                raise self._router.absent(reasons)
        return Unknown("the login expired twice")

    def watch(self, watch: Watch, seconds: float) -> EtcdStream:
        """Begin to watch."""
        body = self._router.codec.watch(watch, now=begins_now(watch))
        reason = ""
        for endpoint in self._router.endpoints():
            try:
                connection = self.connect(endpoint, seconds)
            except UNREACHED as error:
                reason = why(endpoint, error)
                continue
            try:
                connection.send("/v3/watch", body, self.login(connection, seconds), seconds)
                return EtcdStream(self, connection, Watching(self._router, connection.exchange, watch))
            except LOST as error:
                connection.close()
                raise WatchEnded(why(endpoint, error)) from error
            except BaseException:
                connection.close()
                raise
        raise WatchEnded(reason)

    def forget(self) -> None:
        """Drop all connections: they belong to the parent of this process, and so do its watches."""
        self._router.streams.clear()
        for connection in self._router.drop_all():
            connection.close()  # our copy of the descriptor; the connection of the parent lives on

    def close(self) -> None:
        """Close all idle connections; those in use are closed after it."""
        self._router.closed = True
        for connection in self._router.drop_all():
            connection.close()

    def _ask(self, connection: Connection, request: Request, path: str, body: bytes, seconds: float) -> Reply:
        endpoint = connection.endpoint
        seconds = self._router.share(endpoint, seconds)
        try:
            token = self.login(connection, seconds)
            status, text = connection.call(path, body, token, seconds)
            if not (connection.exchange.reusable() and self._router.keep(endpoint, connection)):
                connection.close()
        except LOST as error:
            connection.close()
            self._router.failed(endpoint, seconds)
            if not self._router.contacted and (refused := refused_by_tls(error, endpoint)) is not None:
                raise refused from error
            return self._router.unanswered(why(endpoint, error), cut_off=isinstance(error, CutOff))
        except (NotHttp, Stranger) as error:
            connection.close()
            return self._router.strange(endpoint, error)
        except BaseException:  # an interrupt: nobody knows where this connection stands
            connection.close()
            raise
        return self._router.judge(request, status, text, endpoint)

    def login(self, connection: Connection, seconds: float) -> str:
        """The token of our login; empty without a user."""
        if self._router.must_login():
            body = self._router.login()
            status, text = connection.call("/v3/auth/authenticate", body, "", seconds)
            self._router.logged_in(status, text, connection.endpoint)
            if not self._router.token or not connection.exchange.reusable():
                raise httpcore.ReadError("the login was not decided")
        return self._router.token

    def _connected(self, endpoint: Endpoint, seconds: float) -> Connection:
        while (idle := self._router.take(endpoint)) is not None:
            if not idle.stream.get_extra_info("is_readable"):
                return idle
            idle.close()  # readable although nothing was asked: the server has closed it
        return self.connect(endpoint, seconds)

    def connect(self, endpoint: Endpoint, seconds: float) -> Connection:
        """A new connection to this member."""
        patience = min(seconds, CONNECT_SECONDS)
        stream = self._backend.connect_tcp(endpoint.host, endpoint.port, patience, None, SOCKET_OPTIONS)
        if self._router.context is not None:
            stream = stream.start_tls(self._router.context, endpoint.host, patience)
        return Connection(stream, endpoint)


def _close_idle(router: Router[Connection]) -> None:
    """Close what a client that nobody closed has left open."""
    for connection in router.drop_all():
        connection.close()


class EtcdStream:
    """The events of one watch."""

    def __init__(self, transport: EtcdTransport, connection: Connection, watching: Watching) -> None:
        self._transport, self._connection, self._watching = transport, connection, watching
        self.endpoint = connection.endpoint
        self._interrupted = False
        transport.streams.add(self)

    def next(self, seconds: float | None) -> tuple[Event, ...] | None:
        """The next events; None if there were none for so long."""
        end = None if seconds is None else time.monotonic() + seconds
        exchange = self._connection.exchange
        while True:
            at, watching = time.monotonic(), self._watching
            if events := watching.read(at):
                return events
            if watching.must_look(at):
                if events := self._look(CALL_SECONDS if end is None else end - at):
                    return events
                continue
            if self._interrupted or exchange.ended:
                raise WatchEnded("interrupted" if self._interrupted else "the server ended it")
            if end is not None and at >= end:
                return None
            try:
                if not self._connection.receive(watching.left(at, end)):
                    raise WatchEnded("the connection was closed")
            except httpcore.ReadTimeout:
                continue
            except (httpcore.ReadError, NotHttp) as error:
                raise WatchEnded(str(error)) from error

    def serves(self, watch: Watch) -> bool:
        """True if this stream goes on with what the watch asks for."""
        return self._watching.serves(watch, time.monotonic())

    def _look(self, seconds: float) -> tuple[Event, ...]:
        try:
            patience = min(CALL_SECONDS, max(seconds, SHORTEST))
            return self._watching.looked(self._transport.call(self._watching.look, patience))
        except Unreachable as error:
            raise WatchEnded(str(error)) from error

    def interrupt(self) -> None:
        """End a `next` of another thread."""
        self._interrupted = True
        with contextlib.suppress(OSError):  # of the plain socket also with TLS, whose own shutdown would take it apart
            socket.socket.shutdown(self._connection.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection of the watch."""
        self._transport.streams.discard(self)
        self._connection.close()


def why(endpoint: Endpoint, error: BaseException) -> str:
    """Where and why a connection failed, as the operating system says it."""
    deepest: BaseException | None = error
    while not isinstance(deepest, CutOff) and (deeper := _cause(deepest)) is not None:
        deepest = deeper
    if isinstance(deepest, asyncio.CancelledError | TimeoutError):  # it says how the client was stopped, not why
        return f"{endpoint}: timed out"
    text = str(deepest)
    if isinstance(deepest, socket.gaierror):  # its numbers are not those of the system
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
    """The error for a server that does not accept our certificate, which it says after the handshake; else None."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = _cause(cause)
    if cause is None:
        return None
    return EngineUnavailable(why(endpoint, cause), hint="does the server want a certificate (?cert=…&key=…)?")
