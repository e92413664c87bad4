"""The network engine for tasks: the seam on top of a book of recipes and a transport."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import _get_running_loop
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TypeVar
from weakref import WeakSet, ref

from vez.engines.apart import apart
from vez.engines.base import Break, Inspection, Kind, Leader, Progress, Request
from vez.engines.circles import forget, refuse_circle
from vez.engines.network.book import Book, Seen, Standing
from vez.engines.network.common import (
    ANSWER_SECONDS,
    LOOK_SECONDS,
    PATIENCE,
    RELEASE_SECONDS,
    Shared,
    first_inside,
    silent,
)
from vez.engines.network.course import CLEAN_UP_SECONDS, Clock, Over, now
from vez.engines.network.holding import NetworkClaim
from vez.engines.network.session import Session
from vez.engines.network.task_sessions import TaskSessions
from vez.engines.network.tasks import TaskGuard, TaskPump
from vez.engines.network.thread_sessions import me
from vez.engines.network.transport import AsyncTransport
from vez.engines.owners import find, held_meanwhile, here, leave
from vez.engines.queueing import TELL
from vez.engines.seam import AsyncEngine, AsyncHolding
from vez.engines.wording import RELEASED, timed_out
from vez.errors import EngineUnavailable, Misuse
from vez.recipes import Recipe, SessionEnded

T = TypeVar("T")


class TaskHolding(NetworkClaim):
    """What was granted to a task."""

    def __init__(self, engine: NetworkAsyncEngine, request: Request, guard: TaskGuard) -> None:
        super().__init__(request, guard.wake)
        self.guard = guard
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._tells: list[Callable[[str], None]] = []

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when it is lost."""
        self._tells.append(tell)
        if (why := self.loss()) is not None:
            self._loop.call_soon(tell, why)

    def lose(self, why: str) -> None:
        """It is gone without having been released."""
        known = self._lost
        super().lose(why)
        if known is None and self._lost is not None:
            for tell in self._tells:
                self._loop.call_soon(tell, why)

    async def release(self) -> None:
        """Release. Calling it twice is harmless."""
        await self._engine.release(self)

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        return await self._engine.transfer(self, to)

    def __del__(self) -> None:
        if not self.left and not self.inherited:
            with contextlib.suppress(Exception):  # the loop may have ended; the lease does it then
                self._engine.leave_later(self)


class NetworkAsyncEngine(Shared, AsyncEngine):
    """Keeps the turns of all names of one URL, on a server, for the tasks of one event loop."""

    def __init__(self, url: str, book: Book, transport: AsyncTransport, clock: Clock = now) -> None:
        super().__init__(url, book, clock)
        self._transport = transport
        self._pump = TaskPump(transport, clock)
        self._sessions = TaskSessions(self._pump, book)
        self._claims: WeakSet[TaskHolding] = WeakSet()
        self._loop: asyncio.AbstractEventLoop | None = None
        """To which the connections and the renewals belong; None before the first use."""

    def _stay_in_loop(self) -> None:
        """Raise `Misuse` in a second event loop, unless the first was closed: nothing of that one is left then."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None:
            if not self._loop.is_closed():
                raise Misuse("a client of vez.aio belongs to one event loop", hint="connect in each")
            self._sessions.forget()
        self._loop = loop

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        who = find(owner)
        self._stay_in_loop()
        self._prepare(request, who)
        guard = TaskGuard(self._deadline(seconds), patience=PATIENCE)
        claim = TaskHolding(self, request, guard)
        blocked = held_meanwhile(who) if who.entries or here.owner.entries else []
        self._claims.add(claim)

        async def waits() -> None:
            if blocked:
                await apart(partial(refuse_circle, claim, self, blocked))
            if progress is not None and claim.session is not None:
                found = await self._standing(claim, claim.session)
                if found is not None:
                    progress(self._place(claim, found))

        guard.on_wait = waits if blocked or progress is not None else None
        guard.slice_seconds = None if progress is None else TELL
        try:
            claim.entry = (who, self, ref(claim), None)
            who.entries.append(claim.entry)
            await self._wait(claim, seconds)
            self._refuse_if_closed()
            return claim
        except BaseException as error:
            self._withdraw(claim)
            if isinstance(error, Over):
                raise await self._over(claim, error, seconds) from None
            raise
        finally:
            if blocked:
                forget(blocked)

    async def _wait(self, claim: TaskHolding, seconds: float | None) -> None:
        """Wait until granted. A session that ends meanwhile takes the place in the queue with it: we ask again."""
        request, guard = claim.request, claim.guard
        while not self.closed:
            session = await self._sessions.take(request, guard, claim)
            claim.left = False
            try:
                recipe = self.book.acquire(session.value, request, self._me(request), wait=seconds != 0)
                claim.granted = await self._pump.run(recipe, guard)
            except SessionEnded as error:
                self._removed(claim, session, error)
                continue
            if self._taken(claim, session):
                return

    async def _standing(self, claim: TaskHolding, session: Session) -> Standing | None:
        """Where a waiting request stands; None if the server does not say so soon. The request goes on waiting."""
        try:
            recipe = self.book.place(session.value, claim.request)
            return await self._pump.run(recipe, TaskGuard(self._report_until(claim.guard)))
        except (EngineUnavailable, Over):
            return None

    def _withdraw(self, claim: TaskHolding) -> None:
        """A request has failed: see to it that nothing is left, without waiting."""
        claim.end(RELEASED)
        leave(claim.entry)
        if claim.left:
            return
        if claim.guard.clean and claim.granted is None:
            self._drop(claim)
        else:
            self.leave_later(claim)

    async def _over(self, claim: TaskHolding, error: Over, seconds: float | None) -> Exception:
        if (undecided := self._undecided(claim.guard, error, seconds)) is not None:
            return undecided
        holder = None
        if seconds:
            with contextlib.suppress(Exception):
                recipe = self.book.inspect(claim.request.name, claim.request.kind)
                seen = await self._pump.run(recipe, TaskGuard(self._pump.clock() + LOOK_SECONDS))
                holder = first_inside(seen)
        return timed_out(claim.request, seconds or 0, holder, self.url)

    async def release(self, claim: TaskHolding) -> None:
        """Release what was granted."""
        self._stay_in_loop()
        if (session := self._leaving(claim)) is None:
            return
        try:
            recipe = self.book.leave(session.value, claim.request, claim.granted)
            guard = TaskGuard(self._pump.clock() + RELEASE_SECONDS, patience=RELEASE_SECONDS)
            gone = await self._pump.run(recipe, guard)
        except Exception:  # the server is silent
            self.leave_later(claim)
            return
        except BaseException:
            await self._finish(claim, session)
            raise
        self._left(claim, gone)

    async def _finish(self, claim: TaskHolding, session: Session) -> None:
        """Complete a release that was interrupted; a second interrupt hands it to the background."""
        try:
            recipe = self.book.leave(session.value, claim.request, None)
            await self._pump.run(recipe, TaskGuard(self._pump.clock() + CLEAN_UP_SECONDS, patience=CLEAN_UP_SECONDS))
        except Exception:
            self.leave_later(claim)
        except BaseException:
            self.leave_later(claim)
            raise
        else:
            self._drop(claim)

    def leave_later(self, claim: TaskHolding) -> None:
        """Remove what a request may have left on the server, in the background."""
        session, use = claim.session, claim.use
        claim.left = True
        if session is None or self.closed:
            return
        recipe = self.book.leave(session.value, claim.request, None)
        if _get_running_loop() is claim._loop:
            self._sessions.later(recipe, session, use)
        else:  # a finaliser, in whatever thread
            claim._loop.call_soon_threadsafe(self._sessions.later, recipe, session, use)

    async def transfer(self, claim: TaskHolding, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        self._stay_in_loop()
        session, granted = self._leading(claim, to)
        recipe = self.book.transfer(session.value, claim.request, granted, to, me())
        with self._handing_over(claim):
            return await self._answer(recipe, patience=ANSWER_SECONDS)

    async def _answer(self, recipe: Recipe[T], *, patience: float = 0.0) -> T:
        """The result of a recipe that does not wait for others."""
        self._stay_in_loop()
        self._refuse_if_closed()
        guard = TaskGuard(self._pump.clock() + ANSWER_SECONDS, patience=patience)
        try:
            return await self._pump.run(recipe, guard)
        except Over:
            raise silent(self.url, guard.trouble) from None

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return self._with_mean(await self._answer(self.book.inspect(name, kind)))

    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return await self._answer(self.book.names(prefix, kind))

    async def prune(self, prefix: str = "") -> int:
        return await self._answer(self.book.prune(prefix))

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self._stay_in_loop()
        self._refuse_if_closed()
        guard = TaskGuard(patience=ANSWER_SECONDS)
        return await self._pump.run(self.book.break_lock(name, reason, kind, me()), guard)

    async def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        self._stay_in_loop()
        seen: Seen | None = None
        while True:
            self._refuse_if_closed()
            if seen is None:
                guard = TaskGuard(self._clock() + ANSWER_SECONDS, patience=ANSWER_SECONDS)
            else:
                guard = TaskGuard(patience=PATIENCE)
                self._until_quiet(guard, seconds)
            self._observers.add(guard)
            try:
                seen = await self._pump.run(self.book.observe(name, seen), guard)
            except Over:
                self._refuse_if_closed()
                if seen is None or guard.trouble:
                    raise silent(self.url, guard.trouble) from None
                return
            yield seen.leader

    async def close(self) -> None:
        if self.closed:
            return
        self._stay_in_loop()
        self.closed = True
        for claim in list(self._claims):
            if not self._released(claim):
                claim.guard.stop("closed")
        for guard in list(self._observers):
            guard.stop("closed")
        await self._sessions.close()
        await self._transport.close()

    def abandon(self) -> None:
        """The loop was closed before the engine: its sessions were revoked when their tasks were cancelled, or end with
        their leases."""
        self.closed = True
