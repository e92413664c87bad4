"""The models by name, and a function that makes a server of any model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from vez.errors import UnknownName
from vez.servers.serving.limits import Limits
from vez.servers.serving.pool import Pool
from vez.servers.serving.recording import Recorder
from vez.servers.serving.server import Server
from vez.servers.serving.service import Service
from vez.servers.serving.single import Single
from vez.servers.serving.stage import Size
from vez.servers.serving.staged import Staged
from vez.servers.serving.thread_per_request import ThreadPerRequest


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of a model. Each model uses the fields that apply to it."""

    workers: int = 4
    """Number of threads of a pool; the smallest number of a growing one."""
    most_workers: int = 0
    """Largest number of threads of a growing pool; 0 if the size is fixed."""
    queue: int = 64
    """Largest number of requests that wait in a queue."""
    refuse_when_full: bool = False
    """True if requests at the limit are refused with 503; False if the acceptor waits."""
    idle_s: float = 1.0
    """Seconds without work after which an additional thread of a growing pool ends."""

    most_threads: int = 64
    """Largest number of threads of thread-per-request."""
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
    from vez.servers.serving.loop import Loop  # here, because asyncio takes longer to import than all the rest

    return Loop(*arguments, size=settings.size, refuse_when_full=settings.refuse_when_full, **more)


MODELS: dict[str, Callable[..., Server]] = {
    "single": _single,
    "thread-per-request": _thread_per_request,
    "pool": _pool,
    "staged": _staged,
    "loop": _loop,
}
"""The models, in the order of the text."""


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
