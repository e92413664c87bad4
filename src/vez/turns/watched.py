"""Engines and holdings under terms, for threads and for tasks. What does not wait is written once for both; a lock
without terms does not pass through here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary, ref

from vez.engines.base import Inspection, Kind, Leader, Progress, Request, Traits
from vez.engines.seam import AsyncEngine, AsyncHolding, Engine, Holding
from vez.errors import LockTimeout, Misuse
from vez.turns.terms import Terms, Told, log

H = TypeVar("H", Holding, AsyncHolding)
N = TypeVar("N", Engine, AsyncEngine)


class Watching(Generic[H]):
    """A holding under terms."""

    def __init__(self, holding: H, name: str, terms: Terms, gone: Callable[[], object]) -> None:
        self._holding: H = holding
        self._name, self._terms, self._gone = name, terms, gone
        self.token = holding.token
        self._since = time.monotonic()
        self._released = self._told = False
        self.entries: WeakSet[object] = WeakSet()
        """Its unreleased grants, if it is reentrant. Weak: a grant that the program has dropped does not count."""

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self._holding.lost

    def why_lost(self) -> str | None:
        """Why it is not held any more; None if it is."""
        return self._heard(self._holding.why_lost())

    def loss(self) -> str | None:
        """Why it was lost before it was released; None if it was not."""
        return self._heard(self._holding.loss())

    def lifeline(self) -> int | None:
        """As the engine has it."""
        return self._holding.lifeline()

    def _left(self) -> float:
        """Seconds until the shortest stay is over."""
        if self._released or not self._terms.at_least or self._holding.why_lost() is not None:
            return 0.0
        return self._since + self._terms.at_least - time.monotonic()

    def _heard(self, why: str | None) -> str | None:
        if why is not None and not self._told and not self._released:
            self._told = True
            log.warning("%r (token %s) was lost: %s", self._name, self.token, why)
            self._call(self._terms.on_lost)
        return why

    def _end(self) -> None:
        if self._released:
            return
        self._heard(self._holding.loss())
        self._released = True
        self._gone()
        if self._terms.verbose:
            log.debug("%r (token %s) is released", self._name, self.token)
        self._call(self._terms.on_released)

    def _call(self, callback: Told | None) -> None:
        """Call it. An error is logged: it must not hide the loss, the error of the body, or keep others from being
        told."""
        if callback is not None:
            try:
                callback(self._name, self.token)
            except Exception:
                log.exception("a callback for %r (token %s) failed", self._name, self.token)


class Watched(Watching[Holding]):
    """A holding of a thread under terms."""

    def release(self) -> None:
        """Release, not before the shortest stay is over."""
        try:
            if (left := self._left()) > 0:
                time.sleep(left)
        finally:
            self._holding.release()
            self._end()

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        return self._holding.transfer(to)


class AsyncWatched(Watching[AsyncHolding]):
    """A holding of a task under terms."""

    def __init__(self, holding: AsyncHolding, name: str, terms: Terms, gone: Callable[[], object]) -> None:
        super().__init__(holding, name, terms, gone)
        self._tells: list[Callable[[str], None]] = []

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Tell of the loss, from the event loop, when it happens: of all grants, if it was granted again."""
        self._tells.append(tell)
        if len(self._tells) == 1:
            me = ref(self)  # weak: a grant that the program has dropped must be finalised

            def tell_all(why: str) -> None:
                if (watched := me()) is not None:
                    watched._heard(why)
                    for one in watched._tells:
                        one(why)

            self._holding.on_loss(tell_all)

    async def release(self) -> None:
        """Release, not before the shortest stay is over."""
        try:
            if (left := self._left()) > 0:
                await asyncio.sleep(left)
        finally:
            await self._holding.release()
            self._end()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        return await self._holding.transfer(to)


W = TypeVar("W", Watched, AsyncWatched)


class Again(Generic[W]):
    """One of the grants of a reentrant lock. Its holding is released with the last of them, in whatever order they
    are released: each of them was promised that nobody else is inside."""

    def __init__(self, outer: W) -> None:
        self._outer: W = outer
        self.token = outer.token
        self._released = False
        self._lost: str | None = None  # when it was released
        outer.entries.add(self)

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self._lost if self._released else self._outer.lost

    def why_lost(self) -> str | None:
        """Why it is not held any more; None if it is."""
        return "it was released" if self._released else self._outer.why_lost()

    def loss(self) -> str | None:
        """Why it was lost before it was released; None if it was not."""
        return self._lost if self._released else self._outer.loss()

    def lifeline(self) -> int | None:
        """As the engine has it."""
        return self._outer.lifeline()

    def _refuse_transfer(self, to: str) -> None:
        """Refused while there are others: they would lose their term without knowing."""
        if (others := len(self._outer.entries) - 1) > 0:
            raise Misuse(
                f"a leadership that was acquired again cannot be transferred to {to!r}",
                hint=f"release the other grants first; there are {others}",
            )

    def _leave(self) -> bool:
        """True if no grant is left. Harmless if it is called again, after an interrupt."""
        if not self._released:
            self._lost, self._released = self._outer.loss(), True
        self._outer.entries.discard(self)
        return not self._outer.entries


class Entry(Again[Watched]):
    """One of the grants of a thread."""

    def release(self) -> None:
        """One grant fewer; release if it was the last."""
        if self._leave():
            self._outer.release()
            self._lost = self._outer.loss()

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        self._refuse_transfer(to)
        return self._outer.transfer(to)


class AsyncEntry(Again[AsyncWatched]):
    """One of the grants of a task."""

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Tell of the loss; the other grants are told too."""
        self._outer.on_loss(tell)

    async def release(self) -> None:
        """One grant fewer; release if it was the last."""
        if self._leave():
            await self._outer.release()
            self._lost = self._outer.loss()

    async def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        self._refuse_transfer(to)
        return await self._outer.transfer(to)


class UnderTerms(Generic[N, W]):
    """What a lock under terms asks instead of the engine."""

    def __init__(self, engine: N, terms: Terms) -> None:
        self._engine: N = engine
        self._terms = terms
        self._held: WeakValueDictionary[int, W] = WeakValueDictionary()  # by owner, if reentrant

    @property
    def url(self) -> str:
        """The URL of the engine."""
        return self._engine.url

    @property
    def traits(self) -> Traits:
        """What the engine can do."""
        return self._engine.traits

    @property
    def closed(self) -> bool:
        """True if the client was closed."""
        return self._engine.closed

    def _outer(self, owner: int) -> W | None:
        """What the owner holds and may acquire again."""
        outer = self._held.get(owner) if self._terms.reentrant else None
        return None if outer is None or not outer.entries or outer.why_lost() is not None else outer

    def _granted(self, watched: W, name: str, owner: int, begin: float) -> None:
        terms = self._terms
        if terms.reentrant:
            self._held[owner] = watched
        if terms.verbose:
            waited = (time.monotonic() - begin) * 1000
            log.debug("%r is granted with token %s after %.1f ms", name, watched.token, waited)
        if terms.on_acquired is not None:
            terms.on_acquired(name, watched.token)


class WatchedEngine(UnderTerms[Engine, Watched]):
    """An engine for threads, under terms."""

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        """As the engine, under terms."""
        if (outer := self._outer(owner)) is not None:
            return Entry(outer)
        begin = time.monotonic()
        try:
            holding = self._engine.acquire(request, owner, seconds, progress)
        except LockTimeout as error:
            log.debug("%s", error)
            raise
        try:
            watched = Watched(holding, request.name, self._terms, lambda: self._held.pop(owner, None))
            entry = Entry(watched) if self._terms.reentrant else None
            self._granted(watched, request.name, owner, begin)
        except BaseException:  # the caller never gets it
            holding.release()
            raise
        return entry or watched

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """As the engine."""
        return self._engine.inspect(name, kind)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        """As the engine."""
        return self._engine.observe(name, seconds)


class WatchedAsyncEngine(UnderTerms[AsyncEngine, AsyncWatched]):
    """An engine for tasks, under terms."""

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        """As the engine, under terms."""
        if (outer := self._outer(owner)) is not None:
            return AsyncEntry(outer)
        begin = time.monotonic()
        try:
            holding = await self._engine.acquire(request, owner, seconds, progress)
        except LockTimeout as error:
            log.debug("%s", error)
            raise
        try:
            watched = AsyncWatched(holding, request.name, self._terms, lambda: self._held.pop(owner, None))
            entry = AsyncEntry(watched) if self._terms.reentrant else None
            self._granted(watched, request.name, owner, begin)
        except BaseException:  # the caller never gets it
            await holding.release()
            raise
        return entry or watched

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """As the engine."""
        return await self._engine.inspect(name, kind)

    def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        """As the engine."""
        return self._engine.observe(name, seconds)
