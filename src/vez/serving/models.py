"""The models by name, and one way to make any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from vez.errors import UnknownName
from vez.serving.limits import Limits
from vez.serving.pool import Pool
from vez.serving.recording import Recorder
from vez.serving.server import Server
from vez.serving.service import Service
from vez.serving.single import Single
from vez.serving.stage import Size
from vez.serving.staged import Staged
from vez.serving.thread_per_request import ThreadPerRequest


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is sized. Each model uses what it has."""

    workers: int = 4
    """Threads of a pool, and the least of a growing one."""
    most_workers: int = 0
    """Threads up to which a pool grows; 0: it has a fixed size."""
    queue: int = 64
    """Requests that may wait in a queue."""
    refuse_when_full: bool = False
    """At the limit: refuse with 503 instead of letting the acceptor wait."""
    idle_s: float = 1.0
    """A thread that a pool has grown by ends after so long without work."""

    most_threads: int = 64
    """Threads of thread-per-request."""
    stages: tuple[int, int, int] = (2, 4, 2)
    """Threads of the stages receive, decide, send."""

    @property
    def size(self) -> Size:
        """Bounds of a pool."""
        return Size(self.workers, max(self.workers, self.most_workers), self.queue, self.idle_s)


def _single(settings: Settings, *arguments: Any, **more: Any) -> Server:
    return Single(*arguments, **more)


def _pool(settings: Settings, *arguments: Any, **more: Any) -> Server:
    return Pool(*arguments, size=settings.size, refuse_when_full=settings.refuse_when_full, **more)


def _thread_per_request(settings: Settings, *arguments: Any, **more: Any) -> Server:
    refuse = settings.refuse_when_full
    return ThreadPerRequest(*arguments, most=settings.most_threads, refuse_when_full=refuse, **more)


def _staged(settings: Settings, *arguments: Any, **more: Any) -> Server:
    receive, decide, send = (Size(threads, threads, settings.queue) for threads in settings.stages)
    return Staged(*arguments, sizes=(receive, decide, send), refuse_when_full=settings.refuse_when_full, **more)


def _loop(settings: Settings, *arguments: Any, **more: Any) -> Server:
    from vez.serving.loop import Loop  # here, because asyncio takes longer to import than all the rest

    return Loop(*arguments, size=settings.size, refuse_when_full=settings.refuse_when_full, **more)


MODELS: dict[str, Callable[..., Server]] = {
    "single": _single,
    "thread-per-request": _thread_per_request,
    "pool": _pool,
    "staged": _staged,
    "loop": _loop,
}
"""In the order of the text."""


def make_server(
    model: str,
    service: Service[Any, Any],
    *,
    settings: Settings | None = None,
    limits: Limits | None = None,
    write_log: Callable[[str], None] | None = None,
    recorder: Recorder | None = None,
) -> Server:
    """A server of a model, not yet started."""
    if model not in MODELS:
        raise UnknownName("model", model, MODELS)
    return MODELS[model](settings or Settings(), service, limits, write_log=write_log, recorder=recorder)
