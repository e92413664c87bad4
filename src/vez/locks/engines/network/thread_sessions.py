# Generated from task_sessions.py by python -m tools.unasync: change that file, not this one.
"""Sessions for threads: opened when first needed, renewed by one thread each, shared by the names of a client.

A session is revoked when it was unused for a while, and when the client is closed.
"""

from __future__ import annotations

import contextlib
import time
from functools import partial

from vez.errors import EngineUnavailable
from vez.locks.engines.base import Request
from vez.locks.engines.network.holding import NetworkClaim
from vez.locks.engines.network.recipe_run import Over
from vez.locks.engines.network.recipe_set import RecipeSet
from vez.locks.engines.network.session import (
    CLOSE_SECONDS,
    NOT_CLEANED,
    NOT_RENEWED,
    RENEWALS,
    Session,
    Use,
    me,
    number,
)
from vez.locks.engines.network.thread_pump import ThreadGuard, ThreadPump
from vez.locks.engines.network.thread_side import ThreadSessionBase
from vez.locks.engines.thread_primitives import Background, Cancelled, Lock, Mutex, acquire_within
from vez.locks.recipes import Recipe, SessionEnded


class ThreadSession(ThreadSessionBase):
    """A session with the thread that renews it."""

    guard: ThreadGuard | None = None
    renewal: Background

    def not_renewed(self) -> str:
        """The reason of a loss without a word from the server, with the failure of the last renewal."""
        trouble = "" if self.guard is None else self.guard.trouble
        return f"{NOT_RENEWED}: {trouble}" if trouble else NOT_RENEWED

    def end(self, why: str) -> None:
        """End the session, tell all requests that depend on it, and let its thread revoke what is left of it."""
        super().end(why)
        if self.guard is not None:
            self.guard.stop(why)


class ThreadSessions:
    """The sessions of one client."""

    def __init__(self, pump: ThreadPump, recipes: RecipeSet) -> None:
        self._pump, self._recipes = pump, recipes
        self._mutex = Mutex()
        self._opening = Lock()
        """Held while a session is opened, so that threads that need one at the same time share it."""
        self._sessions: list[ThreadSession] = []
        self._jobs: set[Background] = set()
        self.closed = False

    def take(self, request: Request, guard: ThreadGuard, user: NetworkClaim) -> ThreadSession:
        """A session that is not used for this key yet; opened if there is none. The claim becomes one of its users."""
        key, seconds = self._recipes.key(request), self._recipes.lease_seconds(request)
        if (found := self._find(key, seconds, user)) is not None:
            return found
        if not acquire_within(self._opening, guard.left(self._pump.clock(), None)):
            raise Over("the time is over")
        try:
            return self._find(key, seconds, user) or self._open(key, seconds, guard, user)
        finally:
            self._opening.release()

    def later(self, recipe: Recipe[object], session: Session, use: Use | None = None) -> None:
        """Run a clean-up in the background, for at most the time of a lease. If it fails, the session ends, and the
        lease removes the rest."""

        def work() -> None:
            guard = ThreadGuard(self._pump.clock() + session.seconds, patience=session.seconds)
            try:
                self._pump.run(recipe, guard)
                session.unuse(use)
            except Exception as error:
                session.end(f"{NOT_CLEANED}: {error}")

        job = Background("clean-up", work, self._jobs.discard)
        self._jobs.add(job)
        job.start()

    def drop(self) -> None:
        """Let the background revoke all sessions."""
        with self._mutex:
            self.closed = True
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            if session.guard is not None:
                session.guard.stop("closed")

    def close(self) -> None:
        """Revoke all sessions, and wait until they are revoked and all clean-ups have ended, at most
        `CLOSE_SECONDS`."""
        self.drop()
        end = time.monotonic() + CLOSE_SECONDS
        for job in list(self._jobs):
            job.wait(max(0.0, end - time.monotonic()))

    def forget(self) -> None:
        """Drop everything. It belongs to the parent of this forked process, or to an event loop that was closed."""
        self._mutex, self._opening = Mutex(), Lock()
        self._sessions, self._jobs = [], set()

    def _find(self, key: str, seconds: float, user: NetworkClaim) -> ThreadSession | None:
        with self._mutex:
            for session in self._sessions:
                if session.free_for(key, seconds):
                    user.session, user.use = session, session.use(key, user)
                    return session
        return None

    def _open(self, key: str, seconds: float, guard: ThreadGuard, user: NetworkClaim) -> ThreadSession:
        session, chosen = ThreadSession(seconds, self._pump.clock), number()
        try:
            recipe = self._recipes.open_session(chosen, seconds, me())
            session.value = self._pump.run(recipe, guard, session.prove)
            guard.clean = False  # the recipe has ended, so it cannot undo the following steps
            call_seconds = max(0.5, min(guard.call_seconds, seconds / RENEWALS))
            session.guard = ThreadGuard(call_seconds=call_seconds, patience=float("inf"))
            session.guard.on_wait = lambda: self._still_wanted(session)
            user.session, user.use = session, session.use(key, user)
            session.renewal = Background("renewal", partial(self._renew, session), self._jobs.discard)
            with self._mutex:
                if self.closed:
                    raise Over("closed")
                self._sessions.append(session)
                self._jobs.add(session.renewal)  # `close` waits for it: it may be revoking a session that was lost
                session.renewal.start()
        except BaseException as error:
            session.end("it was not opened")
            if not guard.clean:
                self.later(self._recipes.close_session(self._recipes.unopened(chosen)), session)
            if isinstance(error, SessionEnded):
                raise EngineUnavailable(f"the server ended the session that was being opened: {error}") from None
            raise
        return session

    def _renew(self, session: ThreadSession) -> None:
        """Renew a session until it ends, is idle or is closed; then revoke it. A cancellation (the event loop is
        ending) revokes it too."""
        why, cancelled = NOT_RENEWED, False
        try:
            recipe = self._recipes.keep(session.value, session.seconds)
            why = self._pump.run(recipe, session.guard, session.prove, session.lose)
        except Cancelled:
            why, cancelled = "the event loop has ended", True
        except Exception as error:
            why = str(error)
        with self._mutex:
            if session in self._sessions:
                self._sessions.remove(session)
        session.end(why)
        with contextlib.suppress(Exception):
            end = ThreadGuard(self._pump.clock() + session.seconds, patience=session.seconds)
            self._pump.run(self._recipes.close_session(session.value), end)
            if cancelled:  # nobody else will close the connections
                self._pump.transport.close()

    def _still_wanted(self, session: ThreadSession) -> None:
        """Raise `Over` if the session was lost in the meantime, or is idle."""
        if session.why_ended() is not None:
            raise Over(session.ended)
        with self._mutex:
            if session.idle():
                with contextlib.suppress(ValueError):  # the client was closed
                    self._sessions.remove(session)
                raise Over("nobody used it")
