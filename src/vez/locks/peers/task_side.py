"""Parts of the engine `peers:` that only tasks need. `thread_side.py` has the same parts for threads.

The participant has its own loop, in another thread, so nothing here blocks the loop of the caller. Calls from the
participant are passed to the caller's loop. Joining and leaving the group block, so they run in the executor.
"""

from __future__ import annotations

import asyncio
import contextlib
from _thread import start_new_thread
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from vez.locks.engines.base import Traits
from vez.locks.engines.handles import quietly
from vez.locks.engines.seam import AsyncEngine, AsyncHolding
from vez.locks.engines.task_primitives import Once, wait_for
from vez.locks.engines.wording import client_closed
from vez.locks.peers.core import PeersCore, Stay
from vez.locks.peers.settings import read_url

P = ParamSpec("P")
R = TypeVar("R")


class Signal:
    """A signal that any thread gives once. A task of the loop in which the signal was made waits for it."""

    def __init__(self) -> None:
        self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()

    def give(self) -> None:
        """Wake the waiter."""
        hop(self._loop, self._event.set)

    def given(self) -> bool:
        """True if the signal was given."""
        return self._event.is_set()

    async def wait(self, seconds: float | None) -> bool:
        """Wait for the signal. False if it was not given within `seconds`; None waits without limit."""
        return await wait_for(self._event, seconds)


class Changes:
    """Names whose leader changes, sent from any thread to a task of the loop in which this was made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    def put(self, name: str) -> None:
        """Add a name."""
        hop(self._loop, self._queue.put_nowait, name)

    async def next(self, seconds: float | None) -> str | None:
        """Wait for the next name. None if there was none for `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                return await self._queue.get()
        except TimeoutError:
            return None


class PeersAsyncHolding:
    """A grant as the engine sees it, for tasks."""

    __slots__ = ("_loop", "_stay")

    def __init__(self, stay: Stay, loop: asyncio.AbstractEventLoop) -> None:
        self._stay = stay
        self._loop = loop

    @property
    def token(self) -> int | None:
        """The fencing token or the term; None if the algorithm gives none."""
        return self._stay.token

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self._stay.lost

    def why_lost(self) -> str | None:
        """Reason why it is no longer held, or None while held."""
        return self._stay.why_lost()

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss, and does not change the answer."""
        return self._stay.loss()

    def lifeline(self) -> int | None:
        """None: the stay ends with this process."""
        return None

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when the stay is lost."""
        loop = self._loop
        self._stay.on_loss(lambda reason: hop(loop, tell, reason))

    async def release(self) -> None:
        """Release, without waiting for the group."""
        self._stay.release()

    async def transfer(self, to: str) -> int:
        """Always refused: no algorithm lets a leader choose the next one."""
        return self._stay.transfer(to)


def loop_around() -> asyncio.AbstractEventLoop | None:
    """The last part of an `Entry`: always None, because only threads need it."""
    return None


def holding(stay: Stay) -> AsyncHolding:
    """The object that the client gets for a stay."""
    return PeersAsyncHolding(stay, asyncio.get_running_loop())


class PeersTaskBase(AsyncEngine):
    """Joins the group when first used, and calls the participant without blocking the loop."""

    def __init__(self, url: str, traits: Traits) -> None:
        self.url, self.traits = url, traits
        self._core: PeersCore | None = None
        self._closed = False
        self._joining = Once(self._join)

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """True if the client was closed."""
        return self._closed

    @property
    def core(self) -> PeersCore:
        """The core, which is there from the first use on."""
        if self._core is None:
            raise client_closed(self.url)
        return self._core

    async def close(self) -> None:
        self._closed = True
        await self._joining.ended()
        if self._core is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._core.close)

    def abandon(self) -> None:
        self._closed = True
        if self._core is not None:
            start_new_thread(quietly, (self._core.close,))  # leaving takes some time, and another loop may be running

    async def _opened(self) -> PeersCore:
        """The core. The first caller reads the files of the URL and joins the group; later callers wait for that."""
        if self._core is None:
            if self._closed:
                raise client_closed(self.url)
            await self._joining.done(None)
        return self.core

    def _join(self) -> None:
        core = PeersCore(read_url(self.url))
        core.open()
        self._core, self.traits = core, core.traits

    async def _ask(self, action: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Call `action` on the loop of the participant, and return its result."""
        core = await self._opened()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()

        def settle(result: R | None, error: Exception | None) -> None:
            if not future.done():  # the waiting task may have been cancelled
                future.set_exception(error) if error is not None else future.set_result(cast(R, result))

        def run() -> None:
            try:
                result = action(*arguments, **options)
            except Exception as error:
                hop(loop, settle, None, error)
            else:
                hop(loop, settle, result, None)

        closed = client_closed(self.url)
        core.background.post(run, otherwise=lambda: hop(loop, settle, None, closed))
        return await future


def hop(loop: asyncio.AbstractEventLoop, action: Callable[..., object], *arguments: object) -> None:
    """Call `action` in another event loop, unless that was closed."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(action, *arguments)
