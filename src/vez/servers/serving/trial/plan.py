"""The service of a trial, and the requests of its clients."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec

from vez.servers.serving.counter import Counter
from vez.servers.serving.limits import Limits
from vez.servers.serving.models import Settings
from vez.servers.serving.pages import Pages
from vez.servers.serving.service import Service
from vez.servers.serving.work import Work

PAGE = b"<!doctype html><title>vez</title><p>" + b"whose turn is it? " * 50
"""A page of about a kilobyte."""


class PagesPlan(msgspec.Struct, frozen=True, tag="pages"):
    """Pages of a small folder: `/short.html` and `/long/page.html`."""

    disk_ms: float = 0.0
    """Milliseconds for which each read of a file blocks."""
    long_ms: float = 50.0
    """Milliseconds for which a read below `/long` blocks."""
    cache_bytes: int = 0
    """Size of the cache for pages; 0 if each request reads its file."""

    def service(self) -> Service[Any, Any]:
        """The service, with a folder of its own."""
        return _TemporaryPages(self)


class CounterPlan(msgspec.Struct, frozen=True, tag="counter"):
    """The counter."""

    locked: bool
    pause_ms: float = 1.0

    def service(self) -> Service[Any, Any]:
        """The service."""
        return Counter(locked=self.locked, pause_ms=self.pause_ms)


class WorkPlan(msgspec.Struct, frozen=True, tag="work"):
    """Requests that wait and compute."""

    def service(self) -> Service[Any, Any]:
        """The service."""
        return Work()


class HostPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The server's side of a trial."""

    model: str
    service: PagesPlan | CounterPlan | WorkPlan
    settings: Settings = Settings()
    limits: Limits = Limits()
    record: bool = False


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The clients' side of a trial."""

    clients: int
    seconds: float = 1.0
    """Seconds after which no client asks again."""
    requests: int = 0
    """Number of requests of each client; 0 for as many as the time allows."""
    targets: tuple[str, ...] = ("/short.html",)
    """The targets, requested in turn; each client begins with another one."""
    tags: bool = False
    """True if each target is requested with a header of its own, as from different clients."""
    method: str = "GET"
    slow_clients: int = 0
    """Number of further clients that send their request byte by byte."""
    slow_byte_ms: float = 20.0


class _TemporaryPages(Pages):
    def __init__(self, plan: PagesPlan) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="vez-pages-")
        root = Path(self._folder.name)
        (root / "long").mkdir()
        (root / "short.html").write_bytes(PAGE)
        (root / "long" / "page.html").write_bytes(PAGE)
        delays = {"": plan.disk_ms, "long": plan.long_ms}
        super().__init__(root, disk_ms=delays, cache_bytes=plan.cache_bytes)

    def close(self) -> None:
        """Remove the folder."""
        super().close()
        self._folder.cleanup()
