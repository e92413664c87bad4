"""Sessions for threads: opened at the first use, renewed by a thread each, shared by the names of a client.

They are revoked when nobody has used them for a while, and when the client is closed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from functools import partial
from secrets import randbits

from vez.engines.base import Request
from vez.engines.machine import host_name
from vez.engines.network.background import Background
from vez.engines.network.book import Book, Me
from vez.engines.network.course import Over
from vez.engines.network.holding import NetworkClaim
from vez.engines.network.session import NOT_CLEANED, NOT_RENEWED, Session, Use
from vez.engines.network.threads import ThreadGuard, ThreadPump
from vez.recipes import Recipe

RENEWALS = 3
"""Calls of a renewal within one lease: none may wait for a reply for longer than that."""
LARGEST_NUMBER = 62
"""Bits of a random number: servers count with 63."""
CLOSE_SECONDS = 2.0
"""Longest wait of a closing client for its sessions to be revoked; else their leases end them."""


def number() -> int:
    """A random number above 0."""
    return randbits(LARGEST_NUMBER) | 1


def me(stay: float = 0.0) -> Me:
    """Who asks, and when."""
    return Me(host_name(), os.getpid(), time.time(), number(), stay)


class ThreadSession(Session):
    """A session with the thread that renews it."""

    guard: ThreadGuard | None = None
    renewal: Background

    def end(self, why: str) -> None:
        """It is gone: tell all who depend on it, and let its thread revoke what may be left of it."""
        super().end(why)
        if self.guard is not None:
            self.guard.stop(why)


class ThreadSessions:
    """The sessions of one client."""

    def __init__(self, pump: ThreadPump, book: Book) -> None:
        self._pump, self._book = pump, book
        self._mutex = threading.Lock()
        self._opening = threading.Lock()
        """Held while a session is opened, so that threads that come together share one."""
        self._sessions: list[ThreadSession] = []
        self._jobs: set[Background] = set()
        self.closed = False

    def take(self, request: Request, guard: ThreadGuard, user: NetworkClaim) -> ThreadSession:
        """A session that is not used for this yet; opened if there is none. The claim is one of its users then."""
        key, seconds = self._book.key(request), self._book.lease_seconds(request)
        if (found := self._find(key, seconds, user)) is not None:
            return found
        left = guard.left(self._pump.clock(), None)
        if not self._opening.acquire(timeout=-1 if left is None else left):
            raise Over("the time is over")
        try:
            return self._find(key, seconds, user) or self._open(key, seconds, guard, user)
        finally:
            self._opening.release()

    def later(self, recipe: Recipe[object], session: Session, use: Use | None = None) -> None:
        """Run a clean-up in the background, for as long as a lease: what it could not remove ends with the session."""

        def work() -> None:
            guard = ThreadGuard(self._pump.clock() + session.seconds, patience=session.seconds)
            try:
                self._pump.run(recipe, guard)
                session.unuse(use)
            except Exception as error:
                session.end(f"{NOT_CLEANED}: {error}")
            finally:
                self._jobs.discard(job)

        job = Background("clean-up", work)
        self._jobs.add(job)
        job.start()

    def close(self) -> None:
        """Revoke all sessions, and wait for that and for what is being cleaned up."""
        with self._mutex:
            self.closed = True
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            if session.guard is not None:
                session.guard.stop("closed")
        end = time.monotonic() + CLOSE_SECONDS
        for job in list(self._jobs):
            job.wait(max(0.0, end - time.monotonic()))

    def forget(self) -> None:
        """Drop everything: it belongs to the parent of this forked process."""
        self._mutex, self._opening = threading.Lock(), threading.Lock()
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
            recipe = self._book.open_session(chosen, seconds, me())
            session.value = self._pump.run(recipe, guard, session.prove)
            guard.clean = False  # what follows is not the recipe's to undo
            call_seconds = max(0.5, min(guard.call_seconds, seconds / RENEWALS))
            session.guard = ThreadGuard(call_seconds=call_seconds, patience=float("inf"))
            session.guard.on_wait = lambda: self._still_wanted(session)
            user.session, user.use = session, session.use(key, user)
            session.renewal = Background("renewal", partial(self._renew, session))
            with self._mutex:
                if self.closed:
                    raise Over("closed")
                self._sessions.append(session)
                self._jobs.add(session.renewal)  # `close` waits for it: it may be revoking a session that was lost
                session.renewal.start()
        except BaseException:
            session.end("it was not opened")
            if not guard.clean:
                self.later(self._book.close_session(self._book.unopened(chosen)), session)
            raise
        return session

    def _renew(self, session: ThreadSession) -> None:
        """Renew a session until it is gone, idle or closed; then revoke it."""
        why = NOT_RENEWED
        try:
            why = self._pump.run(
                self._book.keep(session.value, session.seconds), session.guard, session.prove, session.lose
            )
        except Exception as error:
            why = str(error)
        with self._mutex:
            if session in self._sessions:
                self._sessions.remove(session)
        session.end(why)
        with contextlib.suppress(Exception):
            end = ThreadGuard(self._pump.clock() + session.seconds, patience=session.seconds)
            self._pump.run(self._book.close_session(session.value), end)
        self._jobs.discard(session.renewal)

    def _still_wanted(self, session: ThreadSession) -> None:
        """Raise `Over` if it was lost meanwhile, or nobody uses it any more."""
        if session.why_ended() is not None:
            raise Over(session.ended)
        with self._mutex:
            if session.idle():
                self._sessions.remove(session)
                raise Over("nobody used it")
