"""A server that accepts connections and answers nothing, like a stopped one: clients with a short wait get an error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.locks.etcd.faulty import connect, connect_async
from vez.errors import EngineUnavailable
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.network.engine_base import TRY_SECONDS
from vez.locks.engines.network.recipe_run import CLEAN_UP_SECONDS, now
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes import Reply, Unknown


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
