"""Sessions for tasks: as for threads, each renewed by a task."""

from __future__ import annotations

import asyncio
import contextlib

from vez.engines.base import Request
from vez.engines.network.book import Book
from vez.engines.network.course import Clock, Over
from vez.engines.network.holding import NetworkClaim
from vez.engines.network.session import NOT_CLEANED, NOT_RENEWED, Session, Use
from vez.engines.network.tasks import TaskGuard, TaskPump
from vez.engines.network.thread_sessions import CLOSE_SECONDS, RENEWALS, me, number
from vez.recipes import Recipe


class TaskSession(Session):
    """A session with the task that renews it, and a timer for the end of its proof."""

    guard: TaskGuard | None = None
    task: asyncio.Task[None]

    def __init__(self, seconds: float, clock: Clock) -> None:
        super().__init__(seconds, clock)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def prove(self, until: float) -> None:
        """The server has promised to keep it until then; else the loss is told at that time."""
        super().prove(until)
        self._expect_end()

    def _expect_end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.why_ended() is None:
            self._timer = self._loop.call_later(max(0.0, self.proved_until - self._clock()), self._expect_end)

    def end(self, why: str) -> None:
        """It is gone: tell all who depend on it, and let its task revoke what may be left of it."""
        if self._timer is not None:
            self._timer.cancel()
        super().end(why)
        if self.guard is not None:
            self.guard.stop(why)


class TaskSessions:
    """The sessions of one client."""

    def __init__(self, pump: TaskPump, book: Book) -> None:
        self._pump, self._book = pump, book
        self._opening = asyncio.Lock()
        self._sessions: list[TaskSession] = []
        self._jobs: set[asyncio.Task[None]] = set()
        self.closed = False

    async def take(self, request: Request, guard: TaskGuard, user: NetworkClaim) -> TaskSession:
        """A session that is not used for this yet; opened if there is none. The claim is one of its users then."""
        key, seconds = self._book.key(request), self._book.lease_seconds(request)
        if (found := self._find(key, seconds, user)) is not None:
            return found
        try:
            async with asyncio.timeout(guard.left(self._pump.clock(), None)):
                await self._opening.acquire()
        except TimeoutError:
            raise Over("the time is over") from None
        try:
            return self._find(key, seconds, user) or await self._open(key, seconds, guard, user)
        finally:
            self._opening.release()

    def later(self, recipe: Recipe[object], session: Session, use: Use | None = None) -> None:
        """Run a clean-up in the background, for as long as a lease: what it could not remove ends with the session."""

        async def work() -> None:
            guard = TaskGuard(self._pump.clock() + session.seconds, patience=session.seconds)
            try:
                await self._pump.run(recipe, guard)
                session.unuse(use)
            except Exception as error:
                session.end(f"{NOT_CLEANED}: {error}")

        self._watch(asyncio.get_running_loop().create_task(work(), name="vez clean-up"))

    def _watch(self, task: asyncio.Task[None]) -> None:
        """`close` waits for it: a renewal may be revoking a session that was lost."""
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """Revoke all sessions, and wait for that and for what is being cleaned up."""
        self.closed = True
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            if session.guard is not None:
                session.guard.stop("closed")
        if tasks := list(self._jobs):
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)

    def forget(self) -> None:
        """Drop everything: the event loop in which it was renewed is closed."""
        self._opening = asyncio.Lock()
        self._sessions, self._jobs = [], set()

    def _find(self, key: str, seconds: float, user: NetworkClaim) -> TaskSession | None:
        for session in self._sessions:
            if session.free_for(key, seconds):
                user.session, user.use = session, session.use(key, user)
                return session
        return None

    async def _open(self, key: str, seconds: float, guard: TaskGuard, user: NetworkClaim) -> TaskSession:
        session, chosen = TaskSession(seconds, self._pump.clock), number()
        try:
            recipe = self._book.open_session(chosen, seconds, me())
            session.value = await self._pump.run(recipe, guard, session.prove)
        except BaseException:
            if not guard.clean:
                self.later(self._book.close_session(self._book.unopened(chosen)), session)
            raise
        if self.closed:
            self.later(self._book.close_session(session.value), session)
            raise Over("closed")
        call_seconds = max(0.5, min(guard.call_seconds, seconds / RENEWALS))
        session.guard = TaskGuard(call_seconds=call_seconds, patience=float("inf"))
        session.guard.on_wait = lambda: self._still_wanted(session)
        user.session, user.use = session, session.use(key, user)
        self._sessions.append(session)
        session.task = asyncio.get_running_loop().create_task(self._renew(session), name="vez renewal")
        self._watch(session.task)
        return session

    async def _renew(self, session: TaskSession) -> None:
        """Renew a session until it is gone, idle or closed; then revoke it. A cancellation (the loop is ending) revokes
        it too."""
        why, cancelled = NOT_RENEWED, False
        try:
            recipe = self._book.keep(session.value, session.seconds)
            why = await self._pump.run(recipe, session.guard, session.prove, session.lose)
        except asyncio.CancelledError:
            why, cancelled = "the event loop has ended", True
        except Exception as error:
            why = str(error)
        if session in self._sessions:
            self._sessions.remove(session)
        session.end(why)
        with contextlib.suppress(Exception):
            end = TaskGuard(self._pump.clock() + session.seconds, patience=session.seconds)
            await self._pump.run(self._book.close_session(session.value), end)
            if cancelled:  # nobody will close the connections
                await self._pump.transport.close()

    def _still_wanted(self, session: TaskSession) -> None:
        """Raise `Over` if it was lost meanwhile, or nobody uses it any more."""
        if session.why_ended() is not None:
            raise Over(session.ended)
        if session.idle():
            self._sessions.remove(session)
            raise Over("nobody used it")
