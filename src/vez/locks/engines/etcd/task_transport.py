"""Transport of etcd for tasks: calls and watches, over connections to the members of the cluster."""

from __future__ import annotations

import time

from vez.locks.engines.etcd.address import Address, Endpoint
from vez.locks.engines.etcd.error_replies import Stranger, TokenExpired
from vez.locks.engines.etcd.failures import LOST, refused_by_tls, why
from vez.locks.engines.etcd.http import CutOff, NotHttp
from vez.locks.engines.etcd.router import SHORTEST, UNREAD, Router, Watched, until
from vez.locks.engines.etcd.task_connection import AsyncConnection, connect
from vez.locks.engines.etcd.watching import Watching, begins_now
from vez.locks.engines.network.transport import CALL_SECONDS, Unreachable, WatchEnded
from vez.locks.engines.network.wires import Broken, NotConnected, Silence
from vez.locks.engines.task_primitives import Once, apart
from vez.locks.recipes import Reply, Unknown
from vez.locks.recipes.etcd.operations import Event, Request, Watch


class EtcdAsyncTransport:
    """Calls and watches of one cluster, for tasks."""

    def __init__(self, address: Address) -> None:
        self._router: Router[AsyncConnection] = Router(address)
        self._files = Once(self._router.read_files)

    @property
    def contacted(self) -> bool:
        """True once any server has answered."""
        return self._router.contacted

    @property
    def streams(self) -> set[Watched]:
        """The open watches."""
        return self._router.streams

    async def call(self, request: Request, seconds: float) -> Reply:
        """Send a request to the cluster and return the reply. If a member cannot be reached, the next one is tried. If
        a member does not answer, the reply is `Unknown`: the request may have taken effect."""
        path, body = self._router.codec.encode(request)
        end = time.monotonic() + seconds
        for _ in range(2):  # a second time after a new login, if the token has expired
            reasons: list[str] = []
            for endpoint, left in self._router.within(end):
                try:
                    connection = await self._connected(endpoint, left)
                except NotConnected as error:
                    reasons.append(why(endpoint, error))
                    self._router.failed(endpoint, left)
                    continue
                try:
                    return await self._ask(connection, request, path, body, end)
                except TokenExpired:
                    break
            else:
                raise self._router.absent(reasons)
        return Unknown("the login expired twice")

    async def watch(self, watch: Watch, seconds: float) -> EtcdAsyncStream:
        """Start a watch on the first member that can be reached. Raises `WatchEnded` if none can, or the connection
        breaks."""
        body = self._router.codec.watch(watch, now=begins_now(watch))
        reason, end = "", time.monotonic() + seconds
        for endpoint, left in self._router.within(end):
            try:
                connection = await self.connect(endpoint, left)
            except NotConnected as error:
                reason = why(endpoint, error)
                continue
            try:
                token = await self.login(connection, until(end))
                await connection.send("/v3/watch", body, token, until(end))
                return EtcdAsyncStream(self, connection, Watching(self._router, connection.exchange, watch))
            except LOST as error:
                await connection.close()
                raise WatchEnded(why(endpoint, error)) from error
            except BaseException:
                await connection.close()
                raise
        raise WatchEnded(reason)

    def forget(self) -> None:
        """Drop all connections and watches without telling the server. They belong to the parent of this forked
        process, or to an event loop that was closed."""
        self._router.streams.clear()
        for connection in self._router.drop_all():
            connection.drop()

    def drop(self) -> None:
        """Close all idle connections without waiting. A connection in use is closed when its call has ended."""
        self._router.closed = True
        for connection in self._router.drop_all():
            connection.drop()

    async def close(self) -> None:
        """Close all idle connections. A connection in use is closed when its call has ended."""
        self._router.closed = True
        for connection in self._router.drop_all():
            await connection.close()

    async def _ask(self, connection: AsyncConnection, request: Request, path: str, body: bytes, end: float) -> Reply:
        endpoint = connection.endpoint
        seconds = self._router.share(endpoint, until(end))
        end = time.monotonic() + seconds
        try:
            token = await self.login(connection, seconds)
            status, text = await connection.call(path, body, token, until(end))
            if not (connection.exchange.reusable() and self._router.keep(endpoint, connection)):
                await connection.close()
        except LOST as error:
            await connection.close()
            self._router.failed(endpoint, seconds)
            if not self._router.contacted:
                refused = refused_by_tls(error, endpoint, shows=bool(self._router.address.cert))
                if refused is not None:
                    raise refused from error
            return self._router.unanswered(why(endpoint, error), cut_off=isinstance(error, CutOff))
        except (NotHttp, Stranger) as error:
            await connection.close()
            return self._router.strange(endpoint, error)
        except BaseException:  # an interrupt or a cancellation: the state of this connection is not known
            await connection.close()
            raise
        return self._router.judge(request, status, text, endpoint)

    async def login(self, connection: AsyncConnection, seconds: float) -> str:
        """Log in if necessary, and return the token; empty if the URL names no user."""
        if self._router.must_login():
            body = self._router.login()
            status, text = await connection.call("/v3/auth/authenticate", body, "", seconds)
            self._router.logged_in(status, text, connection.endpoint)
            if not self._router.token or not connection.exchange.reusable():
                raise Broken("the login was not decided")
        return self._router.token

    async def _connected(self, endpoint: Endpoint, seconds: float) -> AsyncConnection:
        while (idle := self._router.take(endpoint)) is not None:
            if idle.idle():
                return idle
            await idle.close()  # data arrived without a request: the server has closed the connection
        return await self.connect(endpoint, seconds)

    async def connect(self, endpoint: Endpoint, seconds: float) -> AsyncConnection:
        """A new connection to this member."""
        if not await self._files.done(seconds):
            raise NotConnected(UNREAD)
        certificates, context = self._router.certificates, None
        if certificates is not None:
            try:
                context = await apart(certificates.context, seconds)
            except TimeoutError as error:
                raise NotConnected(UNREAD) from error
        return await connect(endpoint, context, seconds)

    async def read_files(self) -> None:
        """Read the files that the URL names now, and not before the first connection."""
        await self._files.done(None)


class EtcdAsyncStream:
    """The events of one watch."""

    def __init__(self, transport: EtcdAsyncTransport, connection: AsyncConnection, watching: Watching) -> None:
        self._transport, self._connection, self._watching = transport, connection, watching
        self.endpoint = connection.endpoint
        self._interrupted = False
        transport.streams.add(self)

    async def next(self, seconds: float | None) -> tuple[Event, ...] | None:
        """Wait for the next events. Returns None if there were none for `seconds`; None waits without limit."""
        end = None if seconds is None else time.monotonic() + seconds
        exchange = self._connection.exchange
        while True:
            at, watching = time.monotonic(), self._watching
            if events := watching.read(at):
                return events
            if watching.must_look(at):
                if events := await self._look(CALL_SECONDS if end is None else end - at):
                    return events
                continue
            if self._interrupted or exchange.ended:
                raise WatchEnded("interrupted" if self._interrupted else "the server ended it")
            if end is not None and at >= end:
                return None
            try:
                if not await self._connection.receive(watching.left(at, end)):
                    raise WatchEnded("the connection was closed")
            except Silence:
                continue
            except (Broken, NotHttp) as error:
                raise WatchEnded(str(error)) from error

    def serves(self, watch: Watch) -> bool:
        """True if this stream can serve `watch`: it has the same keys and continues at the same revision."""
        return self._watching.serves(watch, time.monotonic())

    async def _look(self, seconds: float) -> tuple[Event, ...]:
        try:
            patience = min(CALL_SECONDS, max(seconds, SHORTEST))
            return self._watching.looked(await self._transport.call(self._watching.look, patience))
        except Unreachable as error:
            raise WatchEnded(str(error)) from error

    def interrupt(self) -> None:
        """End a `next` of another task with `WatchEnded`."""
        self._interrupted = True
        self._connection.interrupt()

    async def close(self) -> None:
        """Close the connection of the watch."""
        self._transport.streams.discard(self)
        await self._connection.close()
