"""What a trial serves, and what its clients ask."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec

from vez.serving.counter import Counter
from vez.serving.limits import Limits
from vez.serving.models import Settings
from vez.serving.pages import Pages
from vez.serving.service import Service
from vez.serving.work import Work

PAGE = b"<!doctype html><title>vez</title><p>" + b"whose turn is it? " * 50
"""About a kilobyte."""


class PagesPlan(msgspec.Struct, frozen=True, tag="pages"):
    """Pages of a small folder: `/short.html` and `/long/page.html`."""

    disk_ms: float = 0.0
    """How long each read of a file blocks."""
    long_ms: float = 50.0
    """How long a read below `/long` blocks."""
    cache_bytes: int = 0
    """Room for pages in memory; 0: each request reads its file."""

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
    """Nobody asks again after so long."""
    requests: int = 0
    """Requests of each client; 0: as many as the time allows."""
    targets: tuple[str, ...] = ("/short.html",)
    """Asked in turn; each client begins at another place."""
    tags: bool = False
    """Each target is asked with a header of its own, as from clients that differ."""
    method: str = "GET"
    slow_clients: int = 0
    """Further clients that send their request byte by byte."""
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
