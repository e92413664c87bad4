"""The engine of a group, for tasks. The participant has a loop of its own, so nothing here blocks the caller's."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import ParamSpec, TypeVar, cast
from weakref import ref

from vez.engines.apart import apart
from vez.engines.base import Break, Inspection, Kind, Leader, Progress, Request
from vez.engines.circles import forget, look_again, refuse_circle
from vez.engines.owners import find, held_meanwhile, here, refuse_self
from vez.engines.seam import AsyncEngine, AsyncHolding
from vez.engines.wording import client_closed
from vez.peers.desk import Blocked, Desk, Stay
from vez.peers.seat import Seat
from vez.peers.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


class PeersAsyncHolding:
    """What was granted to a task."""

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
        """Reason of the loss, or None while held."""
        return self._stay.why_lost()

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss, and does not change the answer."""
        return self._stay.loss()

    def lifeline(self) -> int | None:
        """None: the stay ends with this process."""
        return None

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when it is lost."""
        loop = self._loop
        self._stay.on_loss(lambda reason: hop(loop, tell, reason))

    async def release(self) -> None:
        """Release, without waiting for the group."""
        self._stay.release()

    async def transfer(self, to: str) -> int:
        """Always refused: no algorithm lets a leader choose the next one."""
        return self._stay.transfer(to)


class PeersAsyncEngine(AsyncEngine):
    """A member of a group, for tasks. It joins the group at the first use."""

    def __init__(self, settings: Settings) -> None:
        self.desk = Desk(settings)
        self.url, self.traits = self.desk.url, self.desk.traits
        self._opening: asyncio.Future[None] | None = None
        self._is_open = False

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """True if it was closed."""
        return self.desk.closed

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        desk, who, loop = self.desk, find(owner), asyncio.get_running_loop()
        desk.check(request)
        holds = bool(who.entries)
        if holds:
            refuse_self(who, desk, request)
        await self._opened()
        done = asyncio.Event()
        seat = Seat(request, lambda: hop(loop, done.set), patient=seconds != 0)
        stay = Stay(desk, seat)
        try:
            stay.entry = (who, desk, ref(stay), None)
            who.entries.append(stay.entry)
            blocked = held_meanwhile(who) if holds or here.owner.entries else []  # before it is granted
            desk.ask(seat)
            patience = desk.settings.reply_s if seconds == 0 else seconds
            deadline = None if patience is None else time.monotonic() + patience
            try:
                granted = await self._wait(done, stay, blocked, deadline)
            finally:
                forget(blocked)
            if not granted:
                held_by, missing = await self._ask(desk.settle, seat)
                raise desk.timed_out(request, seconds or 0, held_by, missing)
            if seat.error is not None:
                raise seat.error
            return PeersAsyncHolding(stay, loop)
        except BaseException:
            stay.release()
            raise

    async def _wait(self, done: asyncio.Event, stay: Stay, blocked: Blocked, deadline: float | None) -> bool:
        """Wait until granted or refused; False if the time is over."""
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return done.is_set()
            if blocked:
                await apart(partial(refuse_circle, stay, self.desk, blocked))
                left = look_again() if left is None else min(left, look_again())
            try:
                async with asyncio.timeout(left):
                    await done.wait()
                return True
            except TimeoutError:
                continue

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        self.desk.check_kind(kind)
        return await self._ask(self.desk.inspect, name, kind)

    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        self.desk.check_kind(kind)
        return await self._ask(self.desk.names, prefix)

    async def prune(self, prefix: str = "") -> int:
        self.desk.refuse_if_closed()
        return 0

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self.desk.refuse_if_closed()
        self.desk.check_kind(kind)
        raise self.desk.refuse("cannot take a lock from its holder by force")

    async def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        desk, loop = self.desk, asyncio.get_running_loop()
        desk.check_kind("election")
        changes: asyncio.Queue[str] = asyncio.Queue()

        def tell(changed: str) -> None:
            hop(loop, changes.put_nowait, changed)

        await self._ask(desk.watch, tell)
        try:
            last = await self._ask(desk.leader, name)
            yield last
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        changed = await changes.get()
                except TimeoutError:
                    return
                desk.refuse_if_closed()
                now = await self._ask(desk.leader, name) if changed == name else last
                if now != last:
                    last = now
                    yield now
        finally:
            desk.unwatch(tell)

    async def close(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])
        await asyncio.get_running_loop().run_in_executor(None, self.desk.close)

    def abandon(self) -> None:
        self.desk.close()

    async def _opened(self) -> None:
        """Join the group, by whoever needs it first; others wait for that."""
        while not self._is_open:
            if self.closed:
                raise client_closed(self.url)
            if self._opening is None or self._opening.done():
                self._opening = asyncio.get_running_loop().run_in_executor(None, self._open)
            await asyncio.shield(self._opening)  # if one waiter is cancelled, the others still wait

    def _open(self) -> None:
        self.desk.open()
        self._is_open = True

    async def _ask(self, action: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Do something on the loop of the participant."""
        await self._opened()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()

        def settle(result: R | None, error: Exception | None) -> None:
            if not future.done():  # it may have been cancelled
                future.set_exception(error) if error is not None else future.set_result(cast(R, result))

        def run() -> None:
            try:
                result = action(*arguments, **options)
            except Exception as error:
                hop(loop, settle, None, error)
            else:
                hop(loop, settle, result, None)

        closed = client_closed(self.url)
        self.desk.background.post(run, otherwise=lambda: hop(loop, settle, None, closed))
        return await future


def hop(loop: asyncio.AbstractEventLoop, action: Callable[..., object], *arguments: object) -> None:
    """Call something in another event loop, unless it was closed."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(action, *arguments)
