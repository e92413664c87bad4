"""Observers of an election: they are rung at each change, and elect when a leader has died, but never stand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from vez.engines.base import Leader, Request
from vez.engines.file.candidates import Candidate
from vez.engines.file.waiter import HEAD_POLL

if TYPE_CHECKING:
    from vez.engines.file.engine import FileEngine

_PAUSE = 0.002


class Observer(Candidate):
    """A request that watches an election."""

    observing = True


def _request(name: str) -> Request:
    return Request(name, "election", label="observer")


def observe(engine: FileEngine, name: str, seconds: float | None) -> Iterator[Leader | None]:
    """Yield the leader now, then each change; end after `seconds` without a change."""
    observer = engine.watch_election(_request(name), seconds)
    try:
        last = observer.leader()
        yield last
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            observer.listen(HEAD_POLL * 4 if until is None else max(0.001, until - time.monotonic()))
            if observer.file.removed(observer.handle):
                observer.release()
                observer = engine.watch_election(_request(name), seconds)
            leader = observer.leader()
            if leader != last:
                last, until = leader, None if seconds is None else time.monotonic() + seconds
                yield leader
    finally:
        observer.release()


async def observe_async(engine: FileEngine, name: str) -> AsyncIterator[Leader | None]:
    """Async version of `observe`, which never ends by itself."""
    observer = await _enlist_patiently(engine, name)
    try:
        last = observer.leader()
        yield last
        while True:
            await observer.listen_async(1.0)
            if observer.file.removed(observer.handle):
                observer.release()
                observer = await _enlist_patiently(engine, name)
            leader = observer.leader()
            if leader != last:
                last = leader
                yield leader
    finally:
        observer.release()


async def _enlist_patiently(engine: FileEngine, name: str) -> Observer:
    """Try the doorway again and again: the loop must not block when a process was stopped in it."""
    while True:
        try:
            return engine.watch_election_async(_request(name))
        except BlockingIOError:
            await asyncio.sleep(_PAUSE)
