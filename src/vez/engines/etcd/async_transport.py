"""The transport for tasks."""

from __future__ import annotations

import asyncio

import httpcore

from vez.engines.etcd.address import Address, Endpoint
from vez.engines.etcd.async_connection import AsyncConnection, connect
from vez.engines.etcd.http import CutOff, Exchange, NotHttp
from vez.engines.etcd.router import Router, Watched
from vez.engines.etcd.transport import LOST, SHORTEST, UNREACHED, refused_by_tls, why
from vez.engines.etcd.verdicts import Stranger, TokenExpired
from vez.engines.etcd.watching import Watching, begins_now
from vez.engines.network.transport import CALL_SECONDS, Unreachable, WatchEnded
from vez.recipes import Reply, Unknown
from vez.recipes.etcd.operations import Event, Request, Watch


class EtcdAsyncTransport:
    """Calls and watches of one cluster, for one event loop."""

    def __init__(self, address: Address) -> None:
        self._router: Router[AsyncConnection] = Router(address)

    @property
    def contacted(self) -> bool:
        """True once a server has answered."""
        return self._router.contacted

    @property
    def streams(self) -> set[Watched]:
        """The watches under way."""
        return self._router.streams

    async def call(self, request: Request, seconds: float) -> Reply:
        """Ask the cluster. A member that cannot be reached is passed over; one that does not answer is not."""
        path, body = self._router.codec.encode(request)
        for _ in range(2):  # again with a new login, if the old one has expired
            reasons: list[str] = []
            for endpoint in self._router.endpoints():
                try:
                    connection = await self._connected(endpoint, seconds)
                except UNREACHED as error:
                    reasons.append(why(endpoint, error))
                    self._router.failed(endpoint, seconds)
                    continue
                try:
                    return await self._ask(connection, request, path, body, seconds)
                except TokenExpired:
                    break
            else:
                raise self._router.absent(reasons)
        return Unknown("the login expired twice")

    async def watch(self, watch: Watch, seconds: float) -> EtcdAsyncStream:
        """Begin to watch."""
        body = self._router.codec.watch(watch, now=begins_now(watch))
        reason = ""
        for endpoint in self._router.endpoints():
            try:
                connection = await connect(endpoint, self._router.context, seconds)
            except UNREACHED as error:
                reason = why(endpoint, error)
                continue
            try:
                connection.send("/v3/watch", body, await self._login(connection, seconds))
                return EtcdAsyncStream(self, connection, Watching(self._router, connection.exchange, watch))
            except LOST as error:
                await connection.close()
                raise WatchEnded(why(endpoint, error)) from error
            except BaseException:
                await connection.close()
                raise
        raise WatchEnded(reason)

    async def close(self) -> None:
        """Close all idle connections; those in use are closed after it."""
        self._router.closed = True
        for connection in self._router.drop_all():
            await connection.close()

    async def _ask(
        self, connection: AsyncConnection, request: Request, path: str, body: bytes, seconds: float
    ) -> Reply:
        endpoint = connection.endpoint
        seconds = self._router.share(endpoint, seconds)
        try:
            token = await self._login(connection, seconds)
            status, text = await connection.call(path, body, token, seconds)
            if not (connection.exchange.reusable() and self._router.keep(endpoint, connection)):
                await connection.close()
        except LOST as error:
            await connection.close()
            self._router.failed(endpoint, seconds)
            if not self._router.contacted and (refused := refused_by_tls(error, endpoint)) is not None:
                raise refused from error
            return self._router.unanswered(why(endpoint, error), cut_off=isinstance(error, CutOff))
        except (NotHttp, Stranger) as error:
            await connection.close()
            return self._router.strange(endpoint, error)
        except BaseException:  # a cancellation: nobody knows where this connection stands
            await connection.close()
            raise
        return self._router.judge(request, status, text, endpoint)

    async def _login(self, connection: AsyncConnection, seconds: float) -> str:
        """The token of our login; empty without a user."""
        if self._router.must_login():
            body = self._router.login()
            status, text = await connection.call("/v3/auth/authenticate", body, "", seconds)
            self._router.logged_in(status, text, connection.endpoint)
            if not self._router.token or not connection.exchange.reusable():
                raise httpcore.ReadError("the login was not decided")
        return self._router.token

    async def _connected(self, endpoint: Endpoint, seconds: float) -> AsyncConnection:
        while (idle := self._router.take(endpoint)) is not None:
            if idle.idle():
                return idle
            await idle.close()
        return await connect(endpoint, self._router.context, seconds)


class EtcdAsyncStream:
    """The events of one watch."""

    def __init__(self, transport: EtcdAsyncTransport, connection: AsyncConnection, watching: Watching) -> None:
        self._transport, self._connection, self._watching = transport, connection, watching
        self.endpoint = connection.endpoint
        self._interrupted = False
        transport.streams.add(self)

    async def next(self, seconds: float | None) -> tuple[Event, ...] | None:
        """The next events; None if there were none for so long."""
        clock = asyncio.get_running_loop().time
        end = None if seconds is None else clock() + seconds
        exchange: Exchange = self._connection.exchange
        while True:
            at, watching = clock(), self._watching
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
            except httpcore.ReadTimeout:
                continue
            except (httpcore.ReadError, NotHttp) as error:
                raise WatchEnded(str(error)) from error

    def serves(self, watch: Watch) -> bool:
        """True if this stream goes on with what the watch asks for."""
        return self._watching.serves(watch, asyncio.get_running_loop().time())

    async def _look(self, seconds: float) -> tuple[Event, ...]:
        try:
            patience = min(CALL_SECONDS, max(seconds, SHORTEST))
            return self._watching.looked(await self._transport.call(self._watching.look, patience))
        except Unreachable as error:
            raise WatchEnded(str(error)) from error

    def interrupt(self) -> None:
        """End a `next` of another task."""
        self._interrupted = True
        self._connection.interrupt()

    async def close(self) -> None:
        """Close the connection of the watch."""
        self._transport.streams.discard(self)
        await self._connection.close()
