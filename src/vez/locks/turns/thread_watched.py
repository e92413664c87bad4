# Generated from task_watched.py by python -m tools.unasync: change that file, not this one.
"""Engines and holdings of a lock with terms, for threads: the methods that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vez.errors import LockTimeout
from vez.locks.engines.base import Kind, Progress, Request
from vez.locks.engines.seam import Engine, Holding
from vez.locks.engines.thread_primitives import sleep
from vez.locks.turns.terms import log
from vez.locks.turns.under_terms import Again, ThreadWatching, UnderTerms

if TYPE_CHECKING:
    from vez.locks.engines.base import Inspection, Leader


class Watched(ThreadWatching):
    """A holding of a thread, with terms."""

    def release(self) -> None:
        """Release, but not before the shortest stay is over."""
        try:
            if (left := self._left()) > 0:
                sleep(left)
        finally:
            self._holding.release()
            self._end()

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        return self._holding.transfer(to)


class Entry(Again[Watched]):
    """One of several reentrant grants of a thread."""

    def release(self) -> None:
        """Remove this grant. Release the holding if it was the last."""
        if self._leave():
            self._outer.release()
            self._lost = self._outer.loss()

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        self._refuse_transfer(to)
        return self._outer.transfer(to)


class WatchedEngine(UnderTerms[Engine, Watched]):
    """Wraps an engine for threads, and adds terms."""

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        """Call `acquire` of the engine, and add the terms to the holding."""
        if (outer := self._outer(owner)) is not None:
            return Entry(outer)
        begin = time.monotonic()
        try:
            holding = self._engine.acquire(request, owner, seconds, progress)
        except LockTimeout as error:
            log().debug("%s", error)
            raise
        try:
            watched = Watched(holding, request.name, self._terms, lambda: self._held.pop(owner, None))
            entry = Entry(watched) if self._terms.reentrant else None
            self._granted(watched, request.name, owner, begin)
        except BaseException:  # the caller never gets the holding
            holding.release()
            raise
        return entry or watched

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        """Call `inspect` of the engine."""
        return self._engine.inspect(name, kind)

    def memo(self, name: str, kind: Kind = "lock") -> str | None:
        """Call `memo` of the engine."""
        return self._engine.memo(name, kind)

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        """Call `write_memo` of the engine."""
        self._engine.write_memo(name, text, token, kind)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        """Call `observe` of the engine."""
        return self._engine.observe(name, seconds)
