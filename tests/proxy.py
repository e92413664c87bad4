"""Proxy: stream connections between programs that a test can delay, hold, break and refuse, each way by itself.

It passes bytes on and knows no protocol, so anything that talks over TCP or Unix sockets can be put behind it: nodes of
vez, and servers such as etcd or Redis. One proxy has any number of routes. It runs in a thread of its own, so that
tests with and without an event loop use it alike:

    with Proxy() as proxy:
        route = proxy.route(target=("127.0.0.1", 2379))
        client = connect(route.address)
        route.hold("forth")     # bytes to the target wait, as in a network that drops packets
        route.heal()            # and arrive now
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Self, TypeVar

Address = str | tuple[str, int]
"""The path of a Unix socket, or a host and a port."""
Way = Literal["forth", "back"]
BOTH: tuple[Way, Way] = ("forth", "back")
CHUNK = 1 << 16
WAITING = 64
"""Largest number of chunks that wait in one direction of a connection. At the limit the sender is not read, as with a
full TCP window."""
PATIENCE = 30.0
STEPS = 5
"""Number of steps of the event loop after which a callback of asyncio has had all its effects."""

T = TypeVar("T")


class Proxy:
    """The thread, and its routes."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._routes: list[Route] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for route in self._routes:
            self.wait_for(route.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def route(self, target: Address, listen: Address = ("127.0.0.1", 0)) -> Route:
        """Pass connections on to a target, from an address, which is a free port unless one is given."""
        made = Route(self, target)
        self.wait_for(made.start(listen))
        self._routes.append(made)
        return made

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread of the proxy, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)


class Direction:
    """One direction of a route: whether bytes pass, their delay, and their number."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.delay_s = 0.0
        self.bytes = 0


class Route:
    """The way from one address to one target. Faults apply to all its connections, also to later ones."""

    def __init__(self, proxy: Proxy, target: Address) -> None:
        self.target = target
        self.address: Address = ""
        self.accepted = 0
        """Number of connections so far, including refused ones."""
        self._proxy = proxy
        self._refuses = False
        self._ways: dict[Way, Direction] = {}
        self._links: set[_Link] = set()

    # Faults; for any thread.

    def hold(self, *ways: Way) -> None:
        """Let bytes wait, in both directions unless one is named. Connections stay open, and neither side is told."""

        def change() -> None:
            for way in ways or BOTH:
                self._ways[way].open.clear()

        self._do(change)

    def delay(self, seconds: float, *ways: Way) -> None:
        """Delay everything by `seconds`, in order, also the end of a connection."""

        def change() -> None:
            for way in ways or BOTH:
                self._ways[way].delay_s = seconds

        self._do(change)

    def sever(self) -> None:
        """Break all connections. New ones are accepted."""
        self._do(self._break)

    def cut(self) -> None:
        """Break all connections and refuse new ones."""

        def change() -> None:
            self._refuses = True
            self._break()

        self._do(change)

    def heal(self) -> None:
        """Remove all faults: bytes that were held arrive now, and new connections are accepted."""

        def change() -> None:
            self._refuses = False
            for way in self._ways.values():
                way.delay_s = 0.0
                way.open.set()

        self._do(change)

    def passed(self, way: Way) -> int:
        """Bytes that arrived."""
        return self._ways[way].bytes

    @property
    def connections(self) -> int:
        """Connections that are open now."""
        return len(self._links)

    def _do(self, change: Callable[[], object]) -> None:
        async def work() -> None:
            change()

        self._proxy.wait_for(work())

    # In the thread of the proxy.

    async def start(self, listen: Address) -> None:
        """Listen."""
        self._ways = {way: Direction() for way in BOTH}
        if isinstance(listen, str):
            self._server: asyncio.Server = await asyncio.start_unix_server(self._accept, listen)
            self.address = listen
        else:
            self._server = await asyncio.start_server(self._accept, *listen)
            self.address = self._server.sockets[0].getsockname()[:2]

    async def stop(self) -> None:
        """Close everything. A connection that was accepted just before has its task some steps later."""
        self._server.close()
        for _ in range(STEPS):
            await asyncio.sleep(0)
        while links := self._break():
            await asyncio.gather(*(link.ended.wait() for link in links))
        for _ in range(STEPS):  # transports that were aborted are closed in a later step
            await asyncio.sleep(0)

    def _break(self) -> list[_Link]:
        links = list(self._links)
        for link in links:
            link.abort()
        return links

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        link = _Link(writer)
        self._links.add(link)
        try:
            if not self._refuses:
                await link.run(reader, self.target, self._ways)
        finally:
            self._links.discard(link)
            writer.transport.abort()
            link.ended.set()


class _Link:
    """One connection and its continuation to the target."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.ended = asyncio.Event()
        self._writers = [writer]
        self._task = asyncio.current_task()

    def abort(self) -> None:
        """Break the connection."""
        if self._task is not None:
            self._task.cancel()

    async def run(self, reader: asyncio.StreamReader, target: Address, ways: dict[Way, Direction]) -> None:
        """Pass bytes on until both sides have ended, or one is gone."""
        try:
            connected = (
                asyncio.open_unix_connection(target) if isinstance(target, str) else asyncio.open_connection(*target)
            )
            there, writer = await connected
            self._writers.append(writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass(reader, writer, ways["forth"]))
                group.create_task(_pass(there, self._writers[0], ways["back"]))
            for one in self._writers:  # bytes that are written must arrive
                one.close()
                await one.wait_closed()
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            for one in self._writers:
                one.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Direction) -> None:
    """Pass bytes on in one direction, in order, each chunk when it is due and the way is open."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes | OSError]] = asyncio.Queue(WAITING)

    async def read() -> None:
        data: bytes | OSError = b"first"
        while data and not isinstance(data, OSError):
            try:
                data = await reader.read(CHUNK)
            except OSError as error:
                data = error
            await waiting.put((loop.time() + way.delay_s, data))

    task = loop.create_task(read())
    try:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(due - loop.time())  # the delay of this way
            await way.open.wait()
            if isinstance(data, OSError):
                raise data
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()
            way.bytes += len(data)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
