"""What the engines for threads and for tasks have in common: everything that does not wait."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from weakref import WeakSet

import msgspec

from vez.engines.base import Contestant, Inspection, Place, Request, Traits
from vez.engines.circles import Holder, Holders, Target
from vez.engines.network.book import Book, Granted, Me, Standing
from vez.engines.network.course import Clock, Guard, Over
from vez.engines.network.holding import GONE, NetworkClaim
from vez.engines.network.session import Session
from vez.engines.network.thread_sessions import me
from vez.engines.owners import Claim, Owner, leave, refuse_self
from vez.engines.queueing import Stays, place
from vez.engines.urls import without_password
from vez.engines.wording import RELEASED, TRANSFERRED, client_closed, no_transfer, not_leading
from vez.errors import EngineUnavailable, Misuse
from vez.recipes import Removed, SessionEnded

PATIENCE = 30.0
"""Seconds for which a waiting request goes on asking a server that does not answer; a restart takes less."""
RELEASE_SECONDS = 2.0
"""Longest wait of a release for the server; then it goes on in the background."""
TRY_SECONDS = 3.0
"""Longest wait for the replies to a request with a timeout of 0, which waits for no holder. A cluster elects a new
leader in that time; a server that takes longer is reported as silent, since nobody knows whether it was free."""
ANSWER_SECONDS = 10.0
"""Longest wait for an inspection and the like."""
IN_DOUBT = "its transfer had no reply, and may take effect"
LOOK_SECONDS = 1.0
"""Longest wait for what is only told: who holds what was not granted, and where a waiter stands."""


class NotFree(Over):
    """A request that does not wait was answered: somebody holds it."""


def silent(url: str, why: str) -> EngineUnavailable:
    """The error for a server that has gone away in the middle."""
    return EngineUnavailable(
        f"the server of {without_password(url)} does not answer: {why or 'no reply'}",
        hint="what was asked for is undone in the background, at the latest by the end of its lease",
        definite=False,
    )


def first_inside(seen: Inspection) -> Contestant | None:
    """Who is inside, for an error. A server knows when a holder has asked, which is not when it got in."""
    return next((msgspec.structs.replace(holder, since=0.0) for holder in seen.holders), None)


class Shared:
    """State and checks of both engines."""

    def __init__(self, url: str, book: Book, clock: Clock) -> None:
        self.url, self.book, self.closed = url, book, False
        self._clock = clock
        self._stays = Stays()
        self.traits: Traits = book.traits
        self._observers: WeakSet[Any] = WeakSet()

    @property
    def identity(self) -> Hashable:
        """Where the names are."""
        return self.book.identity

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        """Who in this process holds a name; of other processes nothing is known."""
        limit = here[0].request.limit if here and target.kind == "semaphore" else None
        found = [Holder(f"process {os.getpid()}", claim.waits, id(claim) in mine) for claim in here]
        return Holders(target, found, limit)

    def searching(self) -> AbstractContextManager[object]:
        """Other processes do not search."""
        return nullcontext()

    def note(self, holding: Claim, target: Target | None) -> None:
        """Other processes are not told."""

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise client_closed(self.url)

    def _prepare(self, request: Request, who: Owner) -> None:
        """Raise what refuses a request before anything is asked."""
        self._refuse_if_closed()
        self.book.check(request)
        refuse_self(who, self, request)

    def _deadline(self, seconds: float | None) -> float | None:
        """Until when a request with this timeout may go on, on the clock of proofs."""
        return None if seconds is None else self._clock() + (seconds or TRY_SECONDS)

    def _report_until(self, guard: Guard) -> float:
        """Until when the server is asked where a waiter stands: never longer than the request itself waits."""
        soon = self._clock() + LOOK_SECONDS
        return soon if guard.deadline is None else min(soon, guard.deadline)

    def _undecided(self, guard: Guard, error: Over, seconds: float | None) -> Exception | None:
        """The error for a request that ended before the server has decided it; None if it was decided, or waited."""
        if self.closed:
            return client_closed(self.url)
        if isinstance(error, NotFree) or (seconds and not guard.trouble):
            return None
        return silent(self.url, guard.trouble or f"nothing was decided within {TRY_SECONDS:g} s")

    def _until_quiet(self, guard: Guard, seconds: float | None) -> None:
        """Let a guard end the watch of an observer that has waited for a change for so long. Only its waits end then: a
        call that is cut short could not be told from a silent server."""
        if seconds is None:
            return
        end = self._clock() + seconds

        def waits() -> None:
            guard.slice_seconds = end - self._clock()
            if guard.slice_seconds <= 0:
                raise Over("there was no change")

        guard.on_wait = waits

    def _me(self, request: Request) -> Me:
        """Who asks, with the mean of its own stays so far: others estimate their waits with it."""
        return me(self._stays.mean(self.book.key(request)) or 0.0)

    def _place(self, claim: NetworkClaim, found: Standing) -> Place:
        """The place of a waiter. How long the holder has been inside is known exactly if this client saw it get in;
        else it counts from its request."""
        holder = found.holder
        if holder is not None:
            if claim.first is None or claim.first[0] != holder.token:
                claim.first = holder.token, 0.0 if claim.first is None else time.time()
            holder = msgspec.structs.replace(holder, since=claim.first[1] or holder.since)
        return place(found.position, holder, found.mean, claim.request.limit)

    def _with_mean(self, found: Inspection) -> Inspection:
        """With our own mean stay, if nobody in the queue shows one."""
        if found.mean_hold_seconds is not None:
            return found
        mean = self._stays.mean(self.book.key(Request(found.name, found.kind)))
        return msgspec.structs.replace(found, mean_hold_seconds=mean)

    def _leading(self, claim: NetworkClaim, to: str) -> tuple[Session, Granted]:
        """Raise `Misuse` unless it is a leadership that can be transferred."""
        if claim.request.kind != "election":
            raise no_transfer(claim.request, to)
        if (why := claim.why_lost()) is not None:
            raise not_leading(claim.request, why)
        if claim.session is None or claim.granted is None:
            raise not_leading(claim.request, "it was not granted")
        return claim.session, claim.granted

    @contextmanager
    def _handing_over(self, claim: NetworkClaim) -> Iterator[None]:
        """A transfer that was begun has one of two ends: it took effect, or it never will. Who does not learn which one
        it is must not go on leading: it has lost, and its key is removed, so that nothing can take effect later."""
        try:
            yield
        except Removed:
            claim.lose(GONE)
            claim.wake()
            raise not_leading(claim.request, claim.loss() or GONE) from None
        except Misuse:  # nobody stands with that label: it leads on
            raise
        except BaseException:
            claim.lose(IN_DOUBT)
            claim.wake()
            self._end(claim, TRANSFERRED)
            self.leave_later(claim)
            raise
        self._end(claim, TRANSFERRED)
        self._drop(claim)

    def _end(self, claim: NetworkClaim, why: str) -> None:
        """Its owner has nothing of it any more."""
        claim.end(why)
        leave(claim.entry)

    def leave_later(self, claim: Any) -> None:
        """Remove what a request may have left on the server, in the background."""
        raise NotImplementedError

    def _drop(self, claim: NetworkClaim) -> None:
        """Nothing of it is on the server any more."""
        claim.left = True
        if claim.session is not None:
            claim.session.unuse(claim.use)

    def _left(self, claim: NetworkClaim, gone: str | None) -> None:
        """It was removed from the server; `gone` says why it had been taken from us before."""
        self._drop(claim)
        if gone is not None:
            claim.was_gone(gone)

    def _removed(self, claim: NetworkClaim, session: Session, error: SessionEnded) -> None:
        """A request has lost its place in the queue, and perhaps its session; it will ask again."""
        self._drop(claim)
        if not isinstance(error, Removed):
            session.end(str(error))

    def _taken(self, claim: NetworkClaim, session: Session) -> bool:
        """A recipe has ended: True if the request is granted, `Over` if it is not. False if it was granted by a session
        that may be gone by now, so that it must ask again."""
        if claim.granted is None:
            raise NotFree("it is not free")
        if session.why_ended() is None:  # before it counts as inside: what is not yet granted cannot be lost
            claim.enter()
            claim.entered = self._clock()
            return True
        claim.granted = None
        self._drop(claim)
        return False

    def _released(self, claim: NetworkClaim) -> bool:
        """The client is closing: what is held ends with its session. False if it was not held."""
        if not claim.inside:
            return False
        claim.end(RELEASED)
        claim.left = True
        leave(claim.entry)
        return True

    def _leaving(self, claim: NetworkClaim) -> Session | None:
        """Note a release; the session, if something of it must be removed from the server."""
        if claim.left or claim.inherited or claim.session is None:
            return None
        if claim.inside and claim.loss() is None:
            self._stays.ended(self.book.key(claim.request), self._clock() - claim.entered)
        claim.end(RELEASED)
        leave(claim.entry)
        if claim.session.ended is None:
            return claim.session
        self._drop(claim)  # the renewal of the session revokes it, and everything with it
        return None
