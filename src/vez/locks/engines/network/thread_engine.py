# Generated from task_engine.py by python -m tools.unasync: change that file, not this one.
"""The network engine for threads: implements `Engine` with a set of recipes and a transport."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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
from vez.locks.engines.network.thread_pump import ThreadGuard, ThreadPump
from vez.locks.engines.network.thread_sessions import ThreadSessions
from vez.locks.engines.network.thread_side import ThreadClaim, ThreadEngineBase
from vez.locks.engines.network.thread_transport import Transport
from vez.locks.engines.owners import find, leave
from vez.locks.engines.queueing import TELL
from vez.locks.engines.seam import Engine, Holding
from vez.locks.engines.thread_primitives import Mutex, held_while_waiting, refuse_cycle, runner
from vez.locks.engines.wording import RELEASED, timed_out, withdrawn
from vez.locks.recipes import Recipe, SessionEnded

T = TypeVar("T")


class ThreadHolding(ThreadClaim):
    """A request of a thread; once granted, its holding."""

    def __init__(self, engine: NetworkEngine, request: Request, guard: ThreadGuard) -> None:
        super().__init__(request, guard.wake)
        self.guard = guard
        self._engine = engine

    def wake(self) -> None:
        """End the present wait: the recipe looks again, or cleans up if its owner no longer wants it."""
        if self.withdrawn:
            self.guard.stop("withdrawn")
        else:
            self.guard.wake()

    def release(self) -> None:
        """Release. Calling it twice is harmless."""
        self._engine.release(self)

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        return self._engine.transfer(self, to)

    def __del__(self) -> None:
        if not self.left and not self.inherited:
            with contextlib.suppress(Exception):  # the event loop or the program may have ended; then the lease expires
                self._engine.leave_later(self)


class NetworkEngine(ThreadEngineBase, Engine):
    """Keeps the turns of all names of one URL, on a server, for threads."""

    def __init__(self, url: str, recipes: RecipeSet, transport: Transport, clock: Clock = now) -> None:
        super().__init__(url, recipes, clock)
        self._transport = transport
        self._pump = ThreadPump(transport, clock)
        self._sessions = ThreadSessions(self._pump, recipes)
        self._claims: WeakSet[ThreadHolding] = WeakSet()
        self._mutex = Mutex()
        self._made()

    def __del__(self) -> None:
        if not getattr(self, "closed", True):  # True if the constructor failed
            self._dropped()

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        who = find(owner)
        self._enter()
        self._prepare(request, who)
        guard = ThreadGuard(self._deadline(seconds), patience=PATIENCE)
        claim = ThreadHolding(self, request, guard)
        blocked = held_while_waiting(who)
        with self._mutex:
            self._claims.add(claim)

        def ask() -> None:
            if blocked:
                refuse_cycle(claim, self, blocked)
            if progress is not None and claim.session is not None:
                found = self._standing(claim, claim.session)
                if found is not None:
                    progress(self._place(claim, found))

        if blocked or progress is not None:
            guard.ask_on_wait = ask
        guard.slice_seconds = None if progress is None else TELL
        try:
            claim.entry = (who, self, ref(claim), runner())
            who.entries.append(claim.entry)
            self._wait(claim, seconds)
            self.refuse_if_closed()
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
        """Wait until granted. If the session ends while waiting, the place in the queue is lost, and we ask again."""
        request, guard = claim.request, claim.guard
        while not self.closed:
            session = self._sessions.take(request, guard, claim)
            claim.left = False
            try:
                recipe = self.recipes.acquire(session.value, request, self._me(request), wait=seconds != 0)
                claim.granted = self._pump.run(recipe, guard)
            except SessionEnded as error:
                self._removed(claim, session, error)
                continue
            if self._taken(claim, session):
                return

    def _standing(self, claim: ThreadHolding, session: Session) -> Standing | None:
        """The position of a waiting request; None if the server does not answer in time. The request continues to
        wait."""
        try:
            recipe = self.recipes.place(session.value, claim.request)
            return self._pump.run(recipe, ThreadGuard(self._report_until(claim.guard)))
        except (EngineUnavailable, Over):
            return None

    def _withdraw(self, claim: ThreadHolding) -> None:
        """Clean up after a failed request, without waiting."""
        claim.end(RELEASED)
        leave(claim.entry)
        if not claim.left and claim.guard.clean and claim.granted is None:
            self._drop(claim)
        elif not claim.left:
            self.leave_later(claim)

    def _over(self, claim: ThreadHolding, error: Over, seconds: float | None) -> Exception:
        if claim.withdrawn:
            return withdrawn(claim.request)
        if (undecided := self._undecided(claim.guard, error, seconds)) is not None:
            return undecided
        holder = None
        if (until := self._look_until(claim.guard)) is not None:
            with contextlib.suppress(Exception):
                recipe = self.recipes.inspect(claim.request.name, claim.request.kind)
                holder = first_inside(self._pump.run(recipe, ThreadGuard(until)))
        return timed_out(claim.request, seconds or 0, holder, self.url)

    def release(self, claim: ThreadHolding) -> None:
        """Release a granted request."""
        self._enter()
        if (session := self._leaving(claim)) is None:
            return
        try:
            recipe = self.recipes.leave(session.value, claim.request, claim.granted)
            guard = ThreadGuard(self._pump.clock() + RELEASE_SECONDS, patience=RELEASE_SECONDS)
            gone = self._pump.run(recipe, guard)
        except Exception:  # the server does not answer
            self.leave_later(claim)
            return
        except BaseException:
            self._finish(claim, session)
            raise
        self._left(claim, gone)

    def _finish(self, claim: ThreadHolding, session: Session) -> None:
        """Complete an interrupted release. After a second interrupt the background completes it."""
        try:
            recipe = self.recipes.leave(session.value, claim.request, None)
            self._pump.run(recipe, ThreadGuard(self._pump.clock() + CLEAN_UP_SECONDS, patience=CLEAN_UP_SECONDS))
        except Exception:
            self.leave_later(claim)
        except BaseException:
            self.leave_later(claim)
            raise
        else:
            self._drop(claim)

    def leave_later(self, claim: ThreadHolding) -> None:
        """Remove in the background what a request may have left on the server."""
        session, use = claim.session, claim.use
        claim.left = True
        if session is not None and not self.closed:
            recipe = self.recipes.leave(session.value, claim.request, None)
            claim.at_home(self._sessions.later, recipe, session, use)

    def transfer(self, claim: ThreadHolding, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        self._enter()
        session, granted = self._leading(claim, to)
        recipe = self.recipes.transfer(session.value, claim.request, granted, to, me())
        with self._handing_over(claim):
            return self._answer(recipe, patience=ANSWER_SECONDS)

    def _answer(self, recipe: Recipe[T], *, patience: float = 0.0) -> T:
        """Run a recipe that does not wait for other clients, and return its result."""
        self._enter()
        self.refuse_if_closed()
        guard = ThreadGuard(self._pump.clock() + ANSWER_SECONDS, patience=patience)
        try:
            return self._pump.run(recipe, guard)
        except Over:
            raise silent(self.url, guard.trouble) from None

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return self._with_mean(self._answer(self.recipes.inspect(name, kind)))

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return self._answer(self.recipes.names(prefix, kind))

    def prune(self, prefix: str = "") -> int:
        return self._answer(self.recipes.prune(prefix))

    def memo(self, name: str, kind: Kind = "lock") -> str | None:
        return self._answer(self.recipes.memo(name, kind))

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        self._answer(self.recipes.write_memo(name, text, token, kind), patience=ANSWER_SECONDS)

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self._enter()
        self.refuse_if_closed()
        guard = ThreadGuard(patience=ANSWER_SECONDS)
        return self._pump.run(self.recipes.break_lock(name, reason, kind, me()), guard)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        self._enter()
        seen: Seen | None = None
        while True:
            self.refuse_if_closed()
            if seen is None:
                guard = ThreadGuard(self._clock() + ANSWER_SECONDS, patience=ANSWER_SECONDS)
            else:
                guard = ThreadGuard(patience=PATIENCE)
                self._until_quiet(guard, seconds)
            with self._mutex:
                self._observers.add(guard)
            try:
                seen = self._pump.run(self.recipes.observe(name, seen), guard)
            except Over:
                self.refuse_if_closed()
                if seen is None or guard.trouble:
                    raise silent(self.url, guard.trouble) from None
                return
            yield seen.leader

    def close(self) -> None:
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
        self._sessions.close()
        self._transport.close()
