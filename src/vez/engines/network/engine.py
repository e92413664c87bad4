"""The network engine for threads: the seam on top of a book of recipes and a transport."""

from __future__ import annotations

import atexit
import contextlib
import threading
from asyncio import _get_running_loop
from collections.abc import Iterator
from typing import TypeVar
from weakref import WeakSet, ref

from vez.engines.base import Break, Inspection, Kind, Leader, Progress, Request
from vez.engines.circles import forget, refuse_circle
from vez.engines.machine import at_fork
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
from vez.engines.network.thread_sessions import ThreadSessions, me
from vez.engines.network.threads import ThreadGuard, ThreadPump
from vez.engines.network.transport import Transport
from vez.engines.owners import find, held_meanwhile, leave, running
from vez.engines.queueing import TELL
from vez.engines.seam import Engine, Holding
from vez.engines.wording import RELEASED, timed_out
from vez.errors import EngineUnavailable
from vez.recipes import Recipe, SessionEnded

T = TypeVar("T")

_engines: WeakSet[NetworkEngine] = WeakSet()


class ThreadHolding(NetworkClaim):
    """What was granted to a thread."""

    def __init__(self, engine: NetworkEngine, request: Request, guard: ThreadGuard) -> None:
        super().__init__(request, guard.wake)
        self.guard = guard
        self._engine = engine

    def release(self) -> None:
        """Release. Calling it twice is harmless."""
        self._engine.release(self)

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        return self._engine.transfer(self, to)

    def __del__(self) -> None:
        if not self.left and not self.inherited:
            with contextlib.suppress(Exception):  # at the interpreter's end the lease does it
                self._engine.leave_later(self)


class NetworkEngine(Shared, Engine):
    """Keeps the turns of all names of one URL, on a server."""

    def __init__(self, url: str, book: Book, transport: Transport, clock: Clock = now) -> None:
        super().__init__(url, book, clock)
        self._transport = transport
        self._pump = ThreadPump(transport, clock)
        self._sessions = ThreadSessions(self._pump, book)
        self._claims: WeakSet[ThreadHolding] = WeakSet()
        self._mutex = threading.Lock()
        _engines.add(self)

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        who = find(owner)
        self._prepare(request, who)
        guard = ThreadGuard(self._deadline(seconds), patience=PATIENCE)
        claim = ThreadHolding(self, request, guard)
        blocked = held_meanwhile(who) if who.entries or _get_running_loop() is not None else []
        with self._mutex:
            self._claims.add(claim)

        def waits() -> None:
            if blocked:
                refuse_circle(claim, self, blocked)
            if progress is not None and claim.session is not None:
                found = self._standing(claim, claim.session)
                if found is not None:
                    progress(self._place(claim, found))

        guard.on_wait, guard.slice_seconds = waits, None if progress is None else TELL
        try:
            claim.entry = (who, self, ref(claim), running(_get_running_loop()))
            who.entries.append(claim.entry)
            self._wait(claim, seconds)
            self._refuse_if_closed()
            return claim
        except BaseException as error:
            self._withdraw(claim)
            if isinstance(error, Over):
                raise self._over(claim, error, seconds) from None
            raise
        finally:
            if blocked:
                forget(blocked)

    def _wait(self, claim: ThreadHolding, seconds: float | None) -> None:
        """Wait until granted. A session that ends meanwhile takes the place in the queue with it: we ask again."""
        request, guard = claim.request, claim.guard
        while not self.closed:
            session = self._sessions.take(request, guard, claim)
            claim.left = False
            try:
                recipe = self.book.acquire(session.value, request, self._me(request), wait=seconds != 0)
                claim.granted = self._pump.run(recipe, guard)
            except SessionEnded as error:
                self._removed(claim, session, error)
                continue
            if self._taken(claim, session):
                return

    def _standing(self, claim: ThreadHolding, session: Session) -> Standing | None:
        """Where a waiting request stands; None if the server does not say so soon. The request goes on waiting."""
        try:
            recipe = self.book.place(session.value, claim.request)
            return self._pump.run(recipe, ThreadGuard(self._report_until(claim.guard)))
        except (EngineUnavailable, Over):
            return None

    def _withdraw(self, claim: ThreadHolding) -> None:
        """A request has failed: see to it that nothing is left, without waiting."""
        claim.end(RELEASED)
        leave(claim.entry)
        if not claim.left and claim.guard.clean and claim.granted is None:
            self._drop(claim)
        elif not claim.left:
            self.leave_later(claim)

    def _over(self, claim: ThreadHolding, error: Over, seconds: float | None) -> Exception:
        if (undecided := self._undecided(claim.guard, error, seconds)) is not None:
            return undecided
        holder = None
        if seconds:
            with contextlib.suppress(Exception):
                seen = self._pump.run(
                    self.book.inspect(claim.request.name, claim.request.kind),
                    ThreadGuard(self._pump.clock() + LOOK_SECONDS),
                )
                holder = first_inside(seen)
        return timed_out(claim.request, seconds or 0, holder, self.url)

    def release(self, claim: ThreadHolding) -> None:
        """Release what was granted."""
        if (session := self._leaving(claim)) is None:
            return
        try:
            recipe = self.book.leave(session.value, claim.request, claim.granted)
            gone = self._pump.run(recipe, ThreadGuard(self._pump.clock() + RELEASE_SECONDS, patience=RELEASE_SECONDS))
        except Exception:  # the server is silent
            self.leave_later(claim)
            return
        except BaseException:
            self._finish(claim, session)
            raise
        self._left(claim, gone)

    def _finish(self, claim: ThreadHolding, session: Session) -> None:
        """Complete a release that was interrupted; a second interrupt hands it to the background."""
        try:
            recipe = self.book.leave(session.value, claim.request, None)
            self._pump.run(recipe, ThreadGuard(self._pump.clock() + CLEAN_UP_SECONDS, patience=CLEAN_UP_SECONDS))
        except Exception:
            self.leave_later(claim)
        except BaseException:
            self.leave_later(claim)
            raise
        else:
            self._drop(claim)

    def leave_later(self, claim: ThreadHolding) -> None:
        """Remove what a request may have left on the server, in the background."""
        session, use = claim.session, claim.use
        claim.left = True
        if session is not None and not self.closed:
            recipe = self.book.leave(session.value, claim.request, None)
            self._sessions.later(recipe, session, use)

    def transfer(self, claim: ThreadHolding, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        session, granted = self._leading(claim, to)
        recipe = self.book.transfer(session.value, claim.request, granted, to, me())
        with self._handing_over(claim):
            return self._answer(recipe, patience=ANSWER_SECONDS)

    def _answer(self, recipe: Recipe[T], *, patience: float = 0.0) -> T:
        """The result of a recipe that does not wait for others."""
        self._refuse_if_closed()
        guard = ThreadGuard(self._pump.clock() + ANSWER_SECONDS, patience=patience)
        try:
            return self._pump.run(recipe, guard)
        except Over:
            raise silent(self.url, guard.trouble) from None

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return self._with_mean(self._answer(self.book.inspect(name, kind)))

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return self._answer(self.book.names(prefix, kind))

    def prune(self, prefix: str = "") -> int:
        return self._answer(self.book.prune(prefix))

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self._refuse_if_closed()
        guard = ThreadGuard(patience=ANSWER_SECONDS)
        return self._pump.run(self.book.break_lock(name, reason, kind, me()), guard)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        seen: Seen | None = None
        while True:
            self._refuse_if_closed()
            if seen is None:
                guard = ThreadGuard(self._clock() + ANSWER_SECONDS, patience=ANSWER_SECONDS)
            else:
                guard = ThreadGuard(patience=PATIENCE)
                self._until_quiet(guard, seconds)
            with self._mutex:
                self._observers.add(guard)
            try:
                seen = self._pump.run(self.book.observe(name, seen), guard)
            except Over:
                self._refuse_if_closed()
                if seen is None or guard.trouble:
                    raise silent(self.url, guard.trouble) from None
                return
            yield seen.leader

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        with self._mutex:
            claims, observers = list(self._claims), list(self._observers)
        for claim in claims:
            if not self._released(claim):
                claim.guard.stop("closed")
        for guard in observers:
            guard.stop("closed")
        self._sessions.close()
        self._transport.close()

    def forget(self) -> None:
        """In a forked child: everything belongs to the parent."""
        self._mutex = threading.Lock()
        self._claims, self._observers = WeakSet(), WeakSet()
        self._sessions.forget()
        self._transport.forget()


def _forget() -> None:
    for engine in list(_engines):
        engine.forget()


def _close_all() -> None:
    """At the end of the program: revoke the leases of clients that nobody has closed."""
    for engine in list(_engines):
        with contextlib.suppress(Exception):
            engine.close()


at_fork(after_in_child=_forget)
atexit.register(_close_all)
