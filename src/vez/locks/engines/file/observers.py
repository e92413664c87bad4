"""Observers of an election: they are rung at each change, elect when a leader has died, and never stand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from vez.locks.engines.base import Request
from vez.locks.engines.file.candidates import Candidate
from vez.locks.engines.file.mapped_file import Gone
from vez.locks.engines.file.waiter import HEAD_POLL
from vez.locks.engines.wording import busy_doorway

if TYPE_CHECKING:
    from vez.locks.engines.base import Leader
    from vez.locks.engines.file.core import FileCore

_PAUSE = 0.002
_LOOK = HEAD_POLL * 4
"""Longest time in seconds for which a thread listens before it checks whether its client was closed."""


class Observer(Candidate):
    """A request that watches an election."""

    observing = True


def _request(name: str) -> Request:
    return Request(name, "election", label="observer")


def observe(engine: FileCore, name: str, seconds: float | None) -> Iterator[Leader | None]:
    """Yield the current leader, then each change; end after `seconds` without a change."""
    observer = engine.watch_election(_request(name), seconds)
    try:
        last = observer.leader()
        yield last
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            try:
                left = _LOOK if until is None else min(_LOOK, max(0.001, until - time.monotonic()))
                observer.listen(left)
                engine.refuse_if_closed()
            except Gone:
                observer.release()
                observer = engine.watch_election(_request(name), seconds)
            leader = observer.leader()
            if leader != last:
                last, until = leader, None if seconds is None else time.monotonic() + seconds
                yield leader
    finally:
        observer.release()


async def observe_async(engine: FileCore, name: str, seconds: float | None) -> AsyncIterator[Leader | None]:
    """Async version of `observe`."""
    observer = await _enlist_patiently(engine, name, seconds)
    try:
        last = observer.leader()
        yield last
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            try:
                await observer.listen_async(1.0 if until is None else min(1.0, max(0.001, until - time.monotonic())))
                engine.refuse_if_closed()
            except Gone:
                observer.release()
                observer = await _enlist_patiently(engine, name, seconds)
            leader = observer.leader()
            if leader != last:
                last, until = leader, None if seconds is None else time.monotonic() + seconds
                yield leader
    finally:
        observer.release()


async def _enlist_patiently(engine: FileCore, name: str, seconds: float | None) -> Observer:
    """Enlist an observer. The doorway is tried repeatedly, because the loop must not block when a process was stopped
    in it."""
    from asyncio import sleep

    until = None if seconds is None else time.monotonic() + seconds
    while True:
        try:
            return engine.watch_election_async(_request(name))
        except BlockingIOError:
            if until is not None and time.monotonic() >= until:
                raise busy_doorway(f"election {name!r}", seconds or 0) from None
            await sleep(_PAUSE)
