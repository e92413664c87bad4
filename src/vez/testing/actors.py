"""Actors: owners of locks that a test controls. Actors in a thread and in a task have the same methods."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from vez import aio
from vez.locks.engines.base import Inspection, Kind, Leader
from vez.locks.turns.client import Client, connect

PATIENCE = 60.0
"""Seconds after which a test gives up. On a machine with ten times as much work as it can do, Python needs ten seconds
to start."""


def eventually(condition: Callable[[], bool], what: str = "the condition") -> None:
    """Poll until a condition is true. Raises `AssertionError` after a minute."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {PATIENCE} s")
        time.sleep(0.002)


class Actor(ABC):
    """One owner. `begin` returns a future; the other methods wait for the result."""

    can_cancel = False
    client: Any
    """The client that it uses: one for threads, or one for tasks."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.viewer: Client = connect(url)

    @abstractmethod
    def begin(self, kind: Kind, name: str, timeout: float | None = None, **options: Any) -> Future[Any]:
        """Start to acquire a lock, a permit (limit=) or a leadership (weight=, label=)."""

    @abstractmethod
    def release(self, grant: Any) -> None:
        """Release a grant."""

    @abstractmethod
    def within(self, kind: Kind, name: str, body: Callable[[Any], None]) -> None:
        """Acquire with a context manager, call `body` with the grant, leave."""

    @abstractmethod
    def transfer(self, leadership: Any, to: str) -> int:
        """Transfer a leadership. Returns the new term."""

    @abstractmethod
    def leaders(self, name: str, seconds: float | None) -> list[Leader | None]:
        """The leaders that an observer of an election sees, until there was no change for `seconds`."""

    @abstractmethod
    def lead(self, name: str, work: Callable[[Any], object], every: float, **options: Any) -> Callable[[], object]:
        """Stand for election in the background, and call `work` while it leads. Returns the function that ends it."""

    @abstractmethod
    def once(self, name: str, period: str, work: Callable[[], object]) -> object:
        """Call `work` while the lock is held, unless that was done in this period. Returns its result, or None."""

    @abstractmethod
    def memo(self, name: str, text: str | None = None, token: int = 0) -> str | None:
        """Write the memo of a lock with this token, if there is a text. Returns the memo."""

    @abstractmethod
    def lock_all(self, names: list[str], timeout: float | None) -> dict[str, int | None]:
        """Acquire several locks, and release them. Returns their tokens."""

    @abstractmethod
    def close(self) -> None:
        """Release everything and end."""

    def acquire(self, kind: Kind, name: str, timeout: float | None = PATIENCE, **options: Any) -> Any:
        """Acquire. Returns the grant, or raises the error of the request."""
        return self.begin(kind, name, timeout, **options).result(PATIENCE + 5)

    def queue_up(self, kind: Kind, name: str, timeout: float | None = None, **options: Any) -> Future[Any]:
        """Start to acquire; return when the request is queued, granted or refused. Return at once if the engine does
        not show its queue (`Traits.queue_visible`)."""
        if not self.viewer.engine.traits.queue_visible:
            return self.begin(kind, name, timeout, **options)
        before = set(self._queue(name, kind))
        future = self.begin(kind, name, timeout, **options)
        eventually(lambda: future.done() or not before.issuperset(self._queue(name, kind)), "queueing")
        return future

    def _queue(self, name: str, kind: Kind) -> list[tuple[int | None, int, float]]:
        return [(who.token, who.pid, who.since) for who in self.inspect(name, kind).queue]

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Holders and queue of a name."""
        return self.viewer.inspect(name, kind)


def _made(client: Any, kind: Kind, name: str, options: dict[str, Any]) -> Any:
    make = {"lock": client.lock, "semaphore": client.semaphore, "election": client.election}[kind]
    if kind == "semaphore":
        options = {"limit": 1, **options}
    return make(name, **options)


class SyncActor(Actor):
    """An owner that is a thread."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = connect(url)
        self._thread = ThreadPoolExecutor(1)

    def begin(self, kind: Kind, name: str, timeout: float | None = None, **options: Any) -> Future[Any]:
        return self._thread.submit(lambda: _made(self.client, kind, name, options).acquire(timeout))

    def release(self, grant: Any) -> None:
        self._thread.submit(grant.release).result(PATIENCE)

    def within(self, kind: Kind, name: str, body: Callable[[Any], None]) -> None:
        def enter() -> None:
            with _made(self.client, kind, name, {}) as grant:
                body(grant)

        self._thread.submit(enter).result(PATIENCE)

    def transfer(self, leadership: Any, to: str) -> int:
        term: int = self._thread.submit(leadership.transfer, to).result(PATIENCE)
        return term

    def leaders(self, name: str, seconds: float | None) -> list[Leader | None]:
        observe = self.client.election(name).observe
        seen: list[Leader | None] = self._thread.submit(lambda: list(observe(seconds))).result(PATIENCE)
        return seen

    def lead(self, name: str, work: Callable[[Any], object], every: float, **options: Any) -> Callable[[], object]:
        leading = self.client.election(name, **options).lead(work, every=every)
        return lambda: self._thread.submit(leading.stop, PATIENCE).result(PATIENCE + 5)

    def once(self, name: str, period: str, work: Callable[[], object]) -> object:
        return self._thread.submit(self.client.lock(name).every(period)(work)).result(PATIENCE)

    def memo(self, name: str, text: str | None = None, token: int = 0) -> str | None:
        if text is not None:
            self._thread.submit(self.client.engine.write_memo, name, text, token).result(PATIENCE)
        found: str | None = self._thread.submit(self.client.engine.memo, name).result(PATIENCE)
        return found

    def lock_all(self, names: list[str], timeout: float | None) -> dict[str, int | None]:
        def take() -> dict[str, int | None]:
            with self.client.lock_all(names, timeout=timeout) as grants:
                return {name: grant.token for name, grant in grants.items()}

        return self._thread.submit(take).result(PATIENCE)

    def close(self) -> None:
        self.client.close()
        self.viewer.close()
        self._thread.shutdown(wait=True)


class AsyncActor(Actor):
    """An owner that is a task, in an event loop of its own thread."""

    can_cancel = True

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._orders: asyncio.Queue[tuple[Callable[[], Coroutine[Any, Any, Any]], Future[Any]] | None]
        self._task: asyncio.Task[None]
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE)

    async def _start(self) -> None:
        self._orders = asyncio.Queue()
        self.client = aio.connect(self.url)
        self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        while (order := await self._orders.get()) is not None:
            action, future = order
            try:
                future.set_result(await action())
            except asyncio.CancelledError as error:
                self._task.uncancel()
                future.set_exception(InterruptedError(str(error)))
            except BaseException as error:
                future.set_exception(error)

    def do(self, action: Callable[[], Coroutine[Any, Any, Any]]) -> Future[Any]:
        """Run a coroutine in this actor's task."""
        future: Future[Any] = Future()
        self._loop.call_soon_threadsafe(self._orders.put_nowait, (action, future))
        return future

    def cancel(self) -> None:
        """Cancel the current wait of the task."""
        self._loop.call_soon_threadsafe(self._task.cancel)

    def begin(self, kind: Kind, name: str, timeout: float | None = None, **options: Any) -> Future[Any]:
        return self.do(lambda: _made(self.client, kind, name, options).acquire(timeout))

    def release(self, grant: Any) -> None:
        self.do(grant.release).result(PATIENCE)

    def within(self, kind: Kind, name: str, body: Callable[[Any], None]) -> None:
        async def enter() -> None:
            async with _made(self.client, kind, name, {"grace": 0}) as grant:
                body(grant)

        self.do(enter).result(PATIENCE)

    def transfer(self, leadership: Any, to: str) -> int:
        term: int = self.do(lambda: leadership.transfer(to)).result(PATIENCE)
        return term

    def leaders(self, name: str, seconds: float | None) -> list[Leader | None]:
        async def observe() -> list[Leader | None]:
            return [leader async for leader in self.client.election(name).observe(seconds)]

        seen: list[Leader | None] = self.do(observe).result(PATIENCE)
        return seen

    def lead(self, name: str, work: Callable[[Any], object], every: float, **options: Any) -> Callable[[], object]:
        async def step(leadership: Any) -> None:
            work(leadership)

        async def begin() -> Any:
            return self.client.election(name, **options).lead(step, every=every)

        leading = self.do(begin).result(PATIENCE)
        return lambda: self.do(lambda: leading.stop(PATIENCE)).result(PATIENCE + 5)

    def once(self, name: str, period: str, work: Callable[[], object]) -> object:
        async def body() -> object:
            return work()

        return self.do(self.client.lock(name).every(period)(body)).result(PATIENCE)

    def memo(self, name: str, text: str | None = None, token: int = 0) -> str | None:
        if text is not None:
            self.do(lambda: self.client.engine.write_memo(name, text, token)).result(PATIENCE)
        found: str | None = self.do(lambda: self.client.engine.memo(name)).result(PATIENCE)
        return found

    def lock_all(self, names: list[str], timeout: float | None) -> dict[str, int | None]:
        async def take() -> dict[str, int | None]:
            async with self.client.lock_all(names, timeout=timeout) as grants:
                return {name: grant.token for name, grant in grants.items()}

        taken: dict[str, int | None] = self.do(take).result(PATIENCE)
        return taken

    def close(self) -> None:
        async def end() -> None:
            await self._orders.put(None)
            self._task.cancel()
            await asyncio.wait([self._task])
            await self.client.close()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
        self.viewer.close()
