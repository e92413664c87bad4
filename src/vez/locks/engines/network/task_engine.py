"""The network engine for tasks: implements `AsyncEngine` with a set of recipes and a transport."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TypeVar
from weakref import WeakSet, ref

from vez.errors import EngineUnavailable
from vez.locks.engines.base import Break, Inspection, Kind, Leader, Progress, Request
from vez.locks.engines.cycles import forget
from vez.locks.engines.network.engine_base import (
    ANSWER_SECONDS,
    PATIENCE,
    RELEASE_SECONDS,
    first_inside,
    silent,
)
from vez.locks.engines.network.recipe_run import CLEAN_UP_SECONDS, Clock, Over, now
from vez.locks.engines.network.recipe_set import RecipeSet, Seen, Standing
from vez.locks.engines.network.session import Session, me
from vez.locks.engines.network.task_pump import TaskGuard, TaskPump
from vez.locks.engines.network.task_sessions import TaskSessions
from vez.locks.engines.network.task_side import TaskClaim, TaskEngineBase
from vez.locks.engines.network.task_transport import AsyncTransport
from vez.locks.engines.owners import find, leave
from vez.locks.engines.queueing import TELL
from vez.locks.engines.seam import AsyncEngine, AsyncHolding
from vez.locks.engines.task_primitives import Mutex, held_while_waiting, refuse_cycle, runner
from vez.locks.engines.wording import RELEASED, timed_out, withdrawn
from vez.locks.recipes import Recipe, SessionEnded

T = TypeVar("T")


class TaskHolding(TaskClaim):
    """A request of a task; once granted, its holding."""

    def __init__(self, engine: NetworkAsyncEngine, request: Request, guard: TaskGuard) -> None:
        super().__init__(request, guard.wake)
        self.guard = guard
        self._engine = engine

    def wake(self) -> None:
        """End the present wait: the recipe looks again, or cleans up if its owner no longer wants it."""
        if self.withdrawn:
            self.guard.stop("withdrawn")
        else:
            self.guard.wake()

    async def release(self) -> None:
        """Release. Calling it twice is harmless."""
        await self._engine.release(self)

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        return await self._engine.transfer(self, to)

    def __del__(self) -> None:
        if not self.left and not self.inherited:
            with contextlib.suppress(Exception):  # the event loop or the program may have ended; then the lease expires
                self._engine.leave_later(self)


class NetworkAsyncEngine(TaskEngineBase, AsyncEngine):
    """Keeps the turns of all names of one URL, on a server, for tasks."""

    def __init__(self, url: str, recipes: RecipeSet, transport: AsyncTransport, clock: Clock = now) -> None:
        super().__init__(url, recipes, clock)
        self._transport = transport
        self._pump = TaskPump(transport, clock)
        self._sessions = TaskSessions(self._pump, recipes)
        self._claims: WeakSet[TaskHolding] = WeakSet()
        self._mutex = Mutex()
        self._made()

    def __del__(self) -> None:
        if not getattr(self, "closed", True):  # True if the constructor failed
            self._dropped()

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        who = find(owner)
        self._enter()
        self._prepare(request, who)
        guard = TaskGuard(self._deadline(seconds), patience=PATIENCE)
        claim = TaskHolding(self, request, guard)
        blocked = held_while_waiting(who)
        with self._mutex:
            self._claims.add(claim)

        async def ask() -> None:
            if blocked:
                await refuse_cycle(claim, self, blocked)
            if progress is not None and claim.session is not None:
                found = await self._standing(claim, claim.session)
                if found is not None:
                    progress(self._place(claim, found))

        if blocked or progress is not None:
            guard.ask_on_wait = ask
        guard.slice_seconds = None if progress is None else TELL
        try:
            claim.entry = (who, self, ref(claim), runner())
            who.entries.append(claim.entry)
            await self._wait(claim, seconds)
            self.refuse_if_closed()
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
        """Wait until granted. If the session ends while waiting, the place in the queue is lost, and we ask again."""
        request, guard = claim.request, claim.guard
        while not self.closed:
            session = await self._sessions.take(request, guard, claim)
            claim.left = False
            try:
                recipe = self.recipes.acquire(session.value, request, self._me(request), wait=seconds != 0)
                claim.granted = await self._pump.run(recipe, guard)
            except SessionEnded as error:
                self._removed(claim, session, error)
                continue
            if self._taken(claim, session):
                return

    async def _standing(self, claim: TaskHolding, session: Session) -> Standing | None:
        """The position of a waiting request; None if the server does not answer in time. The request continues to
        wait."""
        try:
            recipe = self.recipes.place(session.value, claim.request)
            return await self._pump.run(recipe, TaskGuard(self._report_until(claim.guard)))
        except (EngineUnavailable, Over):
            return None

    def _withdraw(self, claim: TaskHolding) -> None:
        """Clean up after a failed request, without waiting."""
        claim.end(RELEASED)
        leave(claim.entry)
        if not claim.left and claim.guard.clean and claim.granted is None:
            self._drop(claim)
        elif not claim.left:
            self.leave_later(claim)

    async def _over(self, claim: TaskHolding, error: Over, seconds: float | None) -> Exception:
        if claim.withdrawn:
            return withdrawn(claim.request)
        if (undecided := self._undecided(claim.guard, error, seconds)) is not None:
            return undecided
        holder = None
        if (until := self._look_until(claim.guard)) is not None:
            with contextlib.suppress(Exception):
                recipe = self.recipes.inspect(claim.request.name, claim.request.kind)
                holder = first_inside(await self._pump.run(recipe, TaskGuard(until)))
        return timed_out(claim.request, seconds or 0, holder, self.url)

    async def release(self, claim: TaskHolding) -> None:
        """Release a granted request."""
        self._enter()
        if (session := self._leaving(claim)) is None:
            return
        try:
            recipe = self.recipes.leave(session.value, claim.request, claim.granted)
            guard = TaskGuard(self._pump.clock() + RELEASE_SECONDS, patience=RELEASE_SECONDS)
            gone = await self._pump.run(recipe, guard)
        except Exception:  # the server does not answer
            self.leave_later(claim)
            return
        except BaseException:
            await self._finish(claim, session)
            raise
        self._left(claim, gone)

    async def _finish(self, claim: TaskHolding, session: Session) -> None:
        """Complete an interrupted release. After a second interrupt the background completes it."""
        try:
            recipe = self.recipes.leave(session.value, claim.request, None)
            await self._pump.run(recipe, TaskGuard(self._pump.clock() + CLEAN_UP_SECONDS, patience=CLEAN_UP_SECONDS))
        except Exception:
            self.leave_later(claim)
        except BaseException:
            self.leave_later(claim)
            raise
        else:
            self._drop(claim)

    def leave_later(self, claim: TaskHolding) -> None:
        """Remove in the background what a request may have left on the server."""
        session, use = claim.session, claim.use
        claim.left = True
        if session is not None and not self.closed:
            recipe = self.recipes.leave(session.value, claim.request, None)
            claim.at_home(self._sessions.later, recipe, session, use)

    async def transfer(self, claim: TaskHolding, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        self._enter()
        session, granted = self._leading(claim, to)
        recipe = self.recipes.transfer(session.value, claim.request, granted, to, me())
        with self._handing_over(claim):
            return await self._answer(recipe, patience=ANSWER_SECONDS)

    async def _answer(self, recipe: Recipe[T], *, patience: float = 0.0) -> T:
        """Run a recipe that does not wait for other clients, and return its result."""
        self._enter()
        self.refuse_if_closed()
        guard = TaskGuard(self._pump.clock() + ANSWER_SECONDS, patience=patience)
        try:
            return await self._pump.run(recipe, guard)
        except Over:
            raise silent(self.url, guard.trouble) from None

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return self._with_mean(await self._answer(self.recipes.inspect(name, kind)))

    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return await self._answer(self.recipes.names(prefix, kind))

    async def prune(self, prefix: str = "") -> int:
        return await self._answer(self.recipes.prune(prefix))

    async def memo(self, name: str, kind: Kind = "lock") -> str | None:
        return await self._answer(self.recipes.memo(name, kind))

    async def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        await self._answer(self.recipes.write_memo(name, text, token, kind), patience=ANSWER_SECONDS)

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self._enter()
        self.refuse_if_closed()
        guard = TaskGuard(patience=ANSWER_SECONDS)
        return await self._pump.run(self.recipes.break_lock(name, reason, kind, me()), guard)

    async def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        self._enter()
        seen: Seen | None = None
        while True:
            self.refuse_if_closed()
            if seen is None:
                guard = TaskGuard(self._clock() + ANSWER_SECONDS, patience=ANSWER_SECONDS)
            else:
                guard = TaskGuard(patience=PATIENCE)
                self._until_quiet(guard, seconds)
            with self._mutex:
                self._observers.add(guard)
            try:
                seen = await self._pump.run(self.recipes.observe(name, seen), guard)
            except Over:
                self.refuse_if_closed()
                if seen is None or guard.trouble:
                    raise silent(self.url, guard.trouble) from None
                return
            yield seen.leader

    async def close(self) -> None:
        if self.closed:
            return
        self._enter()
        self.closed = True
        with self._mutex:
            claims, observers = list(self._claims), list(self._observers)
        for claim in claims:
            if not self._released(claim):
                claim.guard.stop("closed")
        for guard in observers:
            guard.stop("closed")
        await self._sessions.close()
        await self._transport.close()
