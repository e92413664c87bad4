"""Observers of an election: they are rung at each change, and elect when a leader has died, but never stand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from vez.engines.base import Leader, Request
from vez.engines.file.candidates import Candidate
from vez.engines.file.mapped_file import Gone
from vez.engines.file.waiter import HEAD_POLL
from vez.engines.wording import busy_doorway

if TYPE_CHECKING:
    from vez.engines.file.core import FileCore

_PAUSE = 0.002
_LOOK = HEAD_POLL * 4
"""Longest time for which a thread listens before it looks whether its client was closed."""


class Observer(Candidate):
    """A request that watches an election."""

    observing = True


def _request(name: str) -> Request:
    return Request(name, "election", label="observer")


def observe(engine: FileCore, name: str, seconds: float | None) -> Iterator[Leader | None]:
    """Yield the leader now, then each change; end after `seconds` without a change."""
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
    """Try the doorway again and again: the loop must not block when a process was stopped in it."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        try:
            return engine.watch_election_async(_request(name))
        except BlockingIOError:
            if until is not None and time.monotonic() >= until:
                raise busy_doorway(f"election {name!r}", seconds or 0) from None
            await asyncio.sleep(_PAUSE)
