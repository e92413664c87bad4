"""A server that accepts connections and answers nothing, like a stopped one: clients with a short wait get an error."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import vez
from tests.locks.etcd.faulty import connect, connect_async, keys
from vez import aio
from vez.errors import EngineUnavailable
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.network.engine_base import TRY_SECONDS
from vez.locks.engines.network.recipe_run import CLEAN_UP_SECONDS, now
from vez.locks.engines.network.session import CLOSE_SECONDS
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes import Reply, Unknown
from vez.testing import eventually
from vez.testing.servers import EtcdServer


class Silence:
    """A clock that advances while a caller waits for a reply in vain."""

    def __init__(self) -> None:
        self.begun, self.waited = False, 0.0
        self._asks: object = None

    def begin(self) -> None:
        """Answer nothing from now on."""
        self.begun, self._asks = True, running()

    def clock(self) -> float:
        return now() + self.waited

    def call(self, seconds: float) -> Reply:
        """A call without a reply. Clean-ups in the background do not count."""
        if running() is self._asks:
            self.waited += seconds
        return Unknown("timed out")


def running() -> object:
    """The running task, or the thread if there is none."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return threading.current_thread()


class Silent:
    """The part of a transport that threads and tasks share: what comes back when the server is silent."""

    silence: Silence
    unanswered: Any

    def call(self, request: Any, seconds: float) -> Any:
        return self.unanswered(seconds) if self.silence.begun else super().call(request, seconds)  # type: ignore[misc]

    def watch(self, watch: Any, seconds: float) -> Any:
        if self.silence.begun:
            raise WatchEnded("timed out")
        return super().watch(watch, seconds)  # type: ignore[misc]


class SilentTransport(Silent, EtcdTransport):
    def __init__(self, url: str, silence: Silence) -> None:
        super().__init__(parse(url))
        self.silence = silence

    def unanswered(self, seconds: float) -> Reply:
        return self.silence.call(seconds)


class SilentAsyncTransport(Silent, EtcdAsyncTransport):
    def __init__(self, url: str, silence: Silence) -> None:
        super().__init__(parse(url))
        self.silence = silence

    async def unanswered(self, seconds: float) -> Reply:
        return self.silence.call(seconds)


def ask_in_silence(
    url: str, asks: Callable[[Any], Any], *, tasks: bool, used: bool = True, begun: bool = True
) -> tuple[Exception, float]:
    """Call a client (for tasks it is awaited) while the server is silent. Returns the error, and the time for which the
    calls waited. `used`: the client already has a session; `begun`: the silence begins before `asks`."""
    silence = Silence()

    def in_a_thread() -> Exception:
        with connect(url, SilentTransport(url, silence), silence.clock) as client:
            if used:
                client.lock("other").acquire(60).release()
            if begun:
                silence.begin()
            with pytest.raises(EngineUnavailable) as caught:
                asks(client)
            return caught.value

    async def in_a_task() -> Exception:
        async with connect_async(url, SilentAsyncTransport(url, silence), silence.clock) as client:
            if used:
                await (await client.lock("other").acquire(60)).release()
            if begun:
                silence.begin()
            with pytest.raises(EngineUnavailable) as caught:
                await asks(client)
            return caught.value

    return asyncio.run(in_a_task()) if tasks else in_a_thread(), silence.waited


either = pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])


@either
@pytest.mark.parametrize(("kind", "used"), [("lock", False), ("election", True)], ids=["new", "used"])
def test_who_does_not_wait_is_told_soon(url: str, tasks: bool, used: bool, kind: str) -> None:
    error, waited = ask_in_silence(url, lambda client: getattr(client, kind)("x").try_acquire(), tasks=tasks, used=used)
    assert "does not answer: timed out" in str(error)
    assert not error.definite  # type: ignore[attr-defined]
    assert waited <= TRY_SECONDS + CLEAN_UP_SECONDS + 0.01


@either
@pytest.mark.parametrize(("seen", "seconds"), [(False, 0), (False, None), (True, 0.01)])
def test_an_observer_is_told(url: str, tasks: bool, seconds: float | None, seen: bool) -> None:
    """An observer with a time limit must distinguish the silence of the server from an election without changes."""

    def in_a_thread(client: Any) -> None:
        for _ in client.election("x").observe(seconds):
            client.engine._transport.silence.begin()

    async def in_a_task(client: Any) -> None:
        async for _ in client.election("x").observe(seconds):
            client.engine._transport.silence.begin()

    asks = in_a_task if tasks else in_a_thread
    error, _ = ask_in_silence(url, asks, tasks=tasks, begun=not seen)
    assert "does not answer: timed out" in str(error)


@either
@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
def test_a_timeout_is_kept(url: str, tasks: bool, used: bool) -> None:
    """A request returns at most 0.3 s after its timeout, although its clean-up has no reply."""
    error, waited = ask_in_silence(url, lambda client: client.lock("x").acquire(2), tasks=tasks, used=used)
    assert "does not answer: timed out" in str(error)
    assert 2.0 <= waited <= 2.3


class Mute:
    """Members that accept connections and then go silent, each in its way. With `full` the connection hangs too."""

    def __init__(self, says: bytes = b"", *, full: bool = False) -> None:
        self.says, self.kept = says, list[socket.socket]()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port = self.server.getsockname()[1]
        if full:
            for _ in range(3):  # the queue of connections is full from here on
                self.kept.append(socket.socket())
                self.kept[-1].setblocking(False)
                self.kept[-1].connect_ex(("127.0.0.1", self.port))
        else:
            threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.kept.append(self.server.accept()[0])
                self.kept[-1].sendall(self.says)

    def __enter__(self) -> Mute:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        for one in (self.server, *self.kept):
            one.close()


def timed_in_a_thread(url: str) -> list[float]:
    """Seconds of a request with a timeout of a second, and of closing."""
    client, begin = vez.connect(url), time.monotonic()
    with pytest.raises(EngineUnavailable):
        client.lock("x").acquire(1)
    middle = time.monotonic()
    client.close()
    return [middle - begin, time.monotonic() - middle]


async def timed_in_a_task(url: str) -> list[float]:
    """Seconds that the request and the closing of a task take."""
    client, begin = aio.connect(url), time.monotonic()
    with pytest.raises(EngineUnavailable):
        await client.lock("x").acquire(1)
    middle = time.monotonic()
    await client.close()
    return [middle - begin, time.monotonic() - middle]


@pytest.mark.serial
def test_the_timeout_holds_for_real_members_that_are_silent_in_every_way() -> None:
    """Before, such a request took a second more, and with several members that accept no connection as many times its
    timeout as there are members. Half a second is for a busy machine."""
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"
    with Mute() as mute, Mute(half) as stops, Mute(full=True) as one, Mute(full=True) as two, Mute(full=True) as three:
        urls = [
            f"etcd://127.0.0.1:{mute.port}",
            f"etcd://127.0.0.1:{stops.port},127.0.0.1:{mute.port}",
            f"etcd://u:p@127.0.0.1:{mute.port}",
            f"etcd://127.0.0.1:{mute.port}?tls=1",
            f"etcd://127.0.0.1:{one.port},127.0.0.1:{two.port},127.0.0.1:{three.port}",
        ]

        async def all_tasks() -> list[list[float]]:
            return await asyncio.gather(*map(timed_in_a_task, urls))

        with ThreadPoolExecutor(len(urls)) as pool:
            took = [*pool.map(timed_in_a_thread, urls), *asyncio.run(all_tasks())]
    assert all(asking < 1.75 for asking, _ in took), took
    assert all(closing < CLOSE_SECONDS + 0.5 for _, closing in took), took


@pytest.mark.serial
def test_a_stopped_server_keeps_no_waiter_and_has_no_orphan_when_it_goes_on(own_etcd: EtcdServer) -> None:
    """The server is stopped while a request waits. It returns in time; its key is removed when the server goes on."""
    assert own_etcd.process is not None

    def wait() -> float:
        begin = time.monotonic()
        with pytest.raises((vez.LockTimeout, EngineUnavailable)):
            client.lock("x").acquire(1.5)
        return time.monotonic() - begin

    with (
        ThreadPoolExecutor(1) as pool,
        vez.connect(own_etcd.url) as holder,
        vez.connect(own_etcd.url) as client,
        holder.lock("x"),
    ):
        waits = pool.submit(wait)
        eventually(lambda: len(keys(own_etcd, "x/")) == 2, "the request waits")
        own_etcd.process.send_signal(signal.SIGSTOP)
        took = waits.result()
        own_etcd.process.send_signal(signal.SIGCONT)
        assert took < 2.25
        eventually(lambda: len(keys(own_etcd, "x/")) == 1, "the key of the request is removed")
