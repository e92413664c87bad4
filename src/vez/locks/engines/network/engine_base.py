"""Base class of the engines for threads and for tasks: state, checks and ends of requests. No method waits."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import msgspec

from vez.errors import EngineUnavailable, Misuse
from vez.locks.engines.base import Contestant, Inspection, Place, Request, Traits
from vez.locks.engines.network.holding import GONE, NetworkClaim
from vez.locks.engines.network.recipe_run import CLEAN_UP_SECONDS, Clock, Guard, Over
from vez.locks.engines.network.recipe_set import Granted, Me, RecipeSet, Standing
from vez.locks.engines.network.session import Session, me
from vez.locks.engines.own_process import OwnProcess
from vez.locks.engines.owners import Owner, leave, refuse_self
from vez.locks.engines.queueing import Stays, place
from vez.locks.engines.urls import without_password
from vez.locks.engines.wording import RELEASED, TRANSFERRED, client_closed, no_transfer, not_leading
from vez.locks.recipes import Removed, SessionEnded

PATIENCE = 30.0
"""Seconds for which a waiting request keeps asking a server that does not answer. A restart of a server takes less."""
RELEASE_SECONDS = 2.0
"""Longest wait of a release for the server, in seconds. After it, the release continues in the background."""
TRY_SECONDS = 3.0
"""Longest wait for the replies to a request with a timeout of 0, in seconds; such a request waits for no holder. A
cluster elects a new leader in that time. After it the server is reported as silent, because it is not known whether the
name was free."""
ANSWER_SECONDS = 10.0
"""Longest wait for the result of an inspection, a forced release or a transfer, in seconds."""
IN_DOUBT = "its transfer had no reply, and may take effect"
LOOK_SECONDS = 1.0
"""Longest wait for the position of a waiter, which is only reported, in seconds."""


class NotFree(Over):
    """The reply to a request that does not wait: the name is held."""


def silent(url: str, why: str) -> EngineUnavailable:
    """The error for a server that stopped answering during a request."""
    return EngineUnavailable(
        f"the server of {without_password(url)} does not answer: {why or 'no reply'}",
        hint="what was asked for is undone in the background, at the latest by the end of its lease",
        definite=False,
    )


def not_removed(why: EngineUnavailable) -> EngineUnavailable:
    """The error for a request that timed out, and that the server refused to remove."""
    return EngineUnavailable(
        f"the request timed out, and could not be removed: {why.message}", hint=why.hint, definite=False
    )


def let_go(sessions: Any, transport: Any) -> None:
    """Revoke the sessions of a client that was dropped, in the background, and close its connections."""
    sessions.drop()
    transport.drop()


def first_inside(seen: Inspection) -> Contestant | None:
    """The first holder, for an error message, or None. `since` is cleared: a server knows when a holder asked, not when
    it was granted."""
    return next((msgspec.structs.replace(holder, since=0.0) for holder in seen.holders), None)


class EngineBase(OwnProcess):
    """State and checks of both engines."""

    def __init__(self, url: str, recipes: RecipeSet, clock: Clock) -> None:
        self.url, self.recipes, self.closed = url, recipes, False
        self._clock = clock
        self._stays = Stays()
        self.traits: Traits = recipes.traits
        self._observers: WeakSet[Any] = WeakSet()

    @property
    def identity(self) -> Hashable:
        """Identifies the server and the namespace."""
        return self.recipes.identity

    def _prepare(self, request: Request, who: Owner) -> None:
        """Raise if the request must be refused before the server is asked."""
        self.refuse_if_closed()
        self.recipes.check(request)
        refuse_self(who, self, request)

    def _deadline(self, seconds: float | None) -> float | None:
        """The end of a request with this timeout, on the boot clock (`recipe_run.now`); None without limit. A timeout
        of 0 becomes `TRY_SECONDS`."""
        return None if seconds is None else self._clock() + (seconds or TRY_SECONDS)

    def _report_until(self, guard: Guard) -> float:
        """The time until which to ask the server for the position of a waiter, at most the deadline of the request."""
        soon = self._clock() + LOOK_SECONDS
        return soon if guard.deadline is None else min(soon, guard.deadline)

    def _look_until(self, guard: Guard) -> float | None:
        """The time until which to ask who holds what was not granted, so that the caller does not wait for more than
        `CLEAN_UP_SECONDS` in all; None if it must not ask."""
        until = None if guard.deadline is None else guard.deadline + CLEAN_UP_SECONDS
        return until if until is not None and guard.clean and self._clock() < until else None

    def _undecided(self, guard: Guard, error: Over, seconds: float | None) -> Exception | None:
        """The error for a request that ended before the server decided it, or that it refused to remove; None if it was
        decided, or timed out while waiting."""
        if self.closed:
            return client_closed(self.url)
        if guard.refused is not None:
            return not_removed(guard.refused)
        if isinstance(error, NotFree) or (seconds and not guard.trouble):
            return None
        return silent(self.url, guard.trouble or f"nothing was decided within {TRY_SECONDS:g} s")

    def _until_quiet(self, guard: Guard, seconds: float | None) -> None:
        """Let the guard end an observer's run after `seconds` without a change. Only waits are ended: an interrupted
        call could not be distinguished from a silent server."""
        if seconds is None:
            return
        end = self._clock() + seconds

        def waits() -> None:
            guard.slice_seconds = end - self._clock()
            if guard.slice_seconds <= 0:
                raise Over("there was no change")

        guard.on_wait = waits

    def _me(self, request: Request) -> Me:
        """Description of this client, with the mean of its own stays so far. Other clients estimate their waits with
        it."""
        return me(self._stays.mean(self.recipes.key(request)) or 0.0)

    def _place(self, claim: NetworkClaim, found: Standing) -> Place:
        """The place of a waiter. The time for which the holder has been inside counts from its grant if this client saw
        the grant, and from its request otherwise."""
        holder = found.holder
        if holder is not None:
            if claim.first is None or claim.first[0] != holder.token:
                claim.first = holder.token, 0.0 if claim.first is None else time.time()
            holder = msgspec.structs.replace(holder, since=claim.first[1] or holder.since)
        return place(found.position, holder, found.mean, claim.request.limit)

    def _with_mean(self, found: Inspection) -> Inspection:
        """The inspection, with our own mean stay if nobody in the queue published one."""
        if found.mean_hold_seconds is not None:
            return found
        mean = self._stays.mean(self.recipes.key(Request(found.name, found.kind)))
        return msgspec.structs.replace(found, mean_hold_seconds=mean)

    def _leading(self, claim: NetworkClaim, to: str) -> tuple[Session, Granted]:
        """The session and the grant of a leadership. Raises `Misuse` if it is not a leadership, or is not held."""
        if claim.request.kind != "election":
            raise no_transfer(claim.request, to)
        if (why := claim.why_lost()) is not None:
            raise not_leading(claim.request, why)
        if claim.session is None or claim.granted is None:
            raise not_leading(claim.request, "it was not granted")
        return claim.session, claim.granted

    @contextmanager
    def _handing_over(self, claim: NetworkClaim) -> Iterator[None]:
        """Context of a transfer. A transfer either took effect or never will. A leader that does not learn which
        must not continue to lead: its leadership counts as lost, and its key is removed, so that nothing takes
        effect later."""
        try:
            yield
        except Removed:
            claim.lose(GONE)
            claim.wake()
            raise not_leading(claim.request, claim.loss() or GONE) from None
        except Misuse:  # no candidate has that label: the leader stays leader
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
        """Mark the claim as ended, and remove it from the holdings of its owner."""
        claim.end(why)
        leave(claim.entry)

    def leave_later(self, claim: Any) -> None:
        """Remove in the background what a request may have left on the server."""
        raise NotImplementedError

    def _drop(self, claim: NetworkClaim) -> None:
        """Note that nothing of the claim is left on the server."""
        claim.left = True
        if claim.session is not None:
            claim.session.unuse(claim.use)

    def _left(self, claim: NetworkClaim, gone: str | None) -> None:
        """Note that the claim was removed from the server. `gone` is the reason if it had been taken from us before,
        else None."""
        self._drop(claim)
        if gone is not None:
            claim.was_gone(gone)

    def _removed(self, claim: NetworkClaim, session: Session, error: SessionEnded) -> None:
        """Note that a request has lost its place in the queue, and perhaps its session. The caller asks again."""
        self._drop(claim)
        if not isinstance(error, Removed):
            session.end(str(error))

    def _taken(self, claim: NetworkClaim, session: Session) -> bool:
        """Note that an `acquire` recipe has ended. True if the request is granted. Raises `NotFree` if it is not. False
        if the session has ended since the grant, so that the caller must ask again."""
        if claim.granted is None:
            raise NotFree("it is not free")
        if session.why_ended() is None:  # before `enter`: a claim that is not inside cannot be lost
            claim.enter()
            claim.entered = self._clock()
            return True
        claim.granted = None
        self._drop(claim)
        return False

    def _released(self, claim: NetworkClaim) -> bool:
        """Mark the claim as released, because the client is closing; the end of its session frees it. False if it was
        not held."""
        if not claim.inside:
            return False
        claim.end(RELEASED)
        claim.left = True
        leave(claim.entry)
        return True

    def _leaving(self, claim: NetworkClaim) -> Session | None:
        """Note a release. Returns the session if something must be removed from the server, else None."""
        if claim.left or claim.inherited or claim.session is None:
            return None
        if claim.inside and claim.loss() is None:
            self._stays.ended(self.recipes.key(claim.request), self._clock() - claim.entered)
        claim.end(RELEASED)
        leave(claim.entry)
        if claim.session.ended is None:
            return claim.session
        self._drop(claim)  # the task that renews the session revokes it, and with it all its keys
        return None
