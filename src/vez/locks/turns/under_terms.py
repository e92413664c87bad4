"""Engines and holdings of a lock with terms: the methods that do not wait.

Only tasks are told of a loss, so some methods are for tasks alone. The methods that wait are in `task_watched.py`. A
lock without terms does not use this module.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary, ref

from vez.errors import Misuse
from vez.locks.engines.base import Traits
from vez.locks.engines.seam import AsyncEngine, AsyncHolding, Engine, Holding
from vez.locks.turns.terms import Terms, Told, log

H = TypeVar("H", Holding, AsyncHolding)
N = TypeVar("N", Engine, AsyncEngine)


class Watching(Generic[H]):
    """A holding with terms."""

    def __init__(self, holding: H, name: str, terms: Terms, gone: Callable[[], object]) -> None:
        self._holding: H = holding
        self._name, self._terms, self._gone = name, terms, gone
        self.token = holding.token
        self._since = time.monotonic()
        self._released = self._told = False
        self._tells: list[Callable[[str], None]] = []
        self.entries: WeakSet[object] = WeakSet()
        """Unreleased grants, if the lock is reentrant. The references are weak: a grant that the program has dropped
        does not count."""

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self._holding.lost

    def why_lost(self) -> str | None:
        """Reason why it is no longer held, or None while held."""
        return self._heard(self._holding.why_lost())

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss."""
        return self._heard(self._holding.loss())

    def lifeline(self) -> int | None:
        """The lifeline of the engine's holding."""
        return self._holding.lifeline()

    def _left(self) -> float:
        """Seconds until the shortest stay is over."""
        if self._released or not self._terms.at_least or self._holding.why_lost() is not None:
            return 0.0
        return self._since + self._terms.at_least - time.monotonic()

    def _heard(self, why: str | None) -> str | None:
        if why is not None and not self._told and not self._released:
            self._told = True
            log().warning("%r (token %s) was lost: %s", self._name, self.token, why)
            self._call(self._terms.on_lost)
        return why

    def _end(self) -> None:
        if self._released:
            return
        self._heard(self._holding.loss())
        self._released = True
        self._gone()
        if self._terms.verbose:
            log().debug("%r (token %s) is released", self._name, self.token)
        self._call(self._terms.on_released)

    def _call(self, callback: Told | None) -> None:
        """Call the callback. An exception is logged: it must not hide the loss or the error of the body, or prevent
        other callbacks."""
        if callback is not None:
            try:
                callback(self._name, self.token)
            except Exception:
                log().exception("a callback for %r (token %s) failed", self._name, self.token)

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` when the holding is lost. With reentrant grants, every grant is told."""
        self._tells.append(tell)
        if len(self._tells) == 1:
            me = ref(self)  # weak, so that a grant that the program has dropped is finalised

            def tell_all(why: str) -> None:
                if (watched := me()) is not None:
                    watched._heard(why)
                    for one in watched._tells:
                        one(why)

            self._holding.on_loss(tell_all)


class ThreadWatching(Watching[Holding]):
    """A holding of a thread, which asks for a loss."""


class TaskWatching(Watching[AsyncHolding]):
    """A holding of a task, which is told of every loss."""


W = TypeVar("W", bound=Watching[Any])
TW = TypeVar("TW", bound=TaskWatching)


class Again(Generic[W]):
    """One of the grants of a reentrant lock. The holding is released with the last grant, in whatever order they are
    released, because each of them guarantees that nobody else is inside."""

    def __init__(self, outer: W) -> None:
        self._outer: W = outer
        self.token = outer.token
        self._released = False
        self._lost: str | None = None  # reason of the loss, as known at the release
        outer.entries.add(self)

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self._lost if self._released else self._outer.lost

    def why_lost(self) -> str | None:
        """Reason why it is no longer held, or None while held."""
        return "it was released" if self._released else self._outer.why_lost()

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss."""
        return self._lost if self._released else self._outer.loss()

    def lifeline(self) -> int | None:
        """The lifeline of the engine's holding."""
        return self._outer.lifeline()

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` when the holding is lost; the other grants are told too."""
        self._outer.on_loss(tell)

    def _refuse_transfer(self, to: str) -> None:
        """Raise while there are other grants, because they would lose their term without notice."""
        if (others := len(self._outer.entries) - 1) > 0:
            raise Misuse(
                f"a leadership that was acquired again cannot be transferred to {to!r}",
                hint=f"release the other grants first; there are {others}",
            )

    def _leave(self) -> bool:
        """Remove this grant. True if no grant is left. Calling it again, after an interrupt, is harmless."""
        if not self._released:
            self._lost, self._released = self._outer.loss(), True
        self._outer.entries.discard(self)
        return not self._outer.entries


class TaskAgain(Again[TW]):
    """One of several reentrant grants of a task."""


class UnderTerms(Generic[N, W]):
    """The engine of a lock with terms, which wraps the real one."""

    def __init__(self, engine: N, terms: Terms) -> None:
        self._engine: N = engine
        self._terms = terms
        self._held: WeakValueDictionary[int, W] = WeakValueDictionary()  # by owner; only for reentrant locks

    @property
    def url(self) -> str:
        """The URL of the engine."""
        return self._engine.url

    @property
    def traits(self) -> Traits:
        """The traits of the engine."""
        return self._engine.traits

    @property
    def closed(self) -> bool:
        """True if the client was closed."""
        return self._engine.closed

    def _outer(self, owner: int) -> W | None:
        """The holding that the owner may acquire again, or None."""
        outer = self._held.get(owner) if self._terms.reentrant else None
        return None if outer is None or not outer.entries or outer.why_lost() is not None else outer

    def _granted(self, watched: W, name: str, owner: int, begin: float) -> None:
        terms = self._terms
        if terms.reentrant:
            self._held[owner] = watched
        if terms.verbose:
            waited = (time.monotonic() - begin) * 1000
            log().debug("%r is granted with token %s after %.1f ms", name, watched.token, waited)
        if terms.on_acquired is not None:
            terms.on_acquired(name, watched.token)
