"""A provider whose engines do less than others, as its traits say: no tokens, no queue, no force, no transfer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from vez.errors import Misuse
from vez.locks.engines import memory
from vez.locks.engines.base import Break, Inspection, Kind, Leader, Progress, Request, Traits
from vez.locks.engines.seam import AsyncEngine, AsyncHolding, Engine, Holding

TRAITS = Traits(
    frees="process",
    reaches="process",
    token=None,
    cycles=None,
    queue_visible=False,
    transfer=False,
    breaks=False,
    shared=False,
    semaphores=False,
    weights=False,
    notes=("A test engine.",),
)
NEEDS = ""


def open_engine(url: str) -> Weak:
    return Weak(memory.open_engine(url.replace("weak", "memory")))


def open_async_engine(url: str) -> AsyncWeak:
    return AsyncWeak(memory.open_async_engine(url.replace("weak", "memory")))


class Unfenced:
    """A holding without a token."""

    token = None

    def __init__(self, holding: Any) -> None:
        self._holding = holding
        self.why_lost, self.loss, self.lifeline = holding.why_lost, holding.loss, holding.lifeline
        self.release: Callable[[], Any] = holding.release

    @property
    def lost(self) -> str | None:
        return self._holding.lost  # type: ignore[no-any-return]

    def on_loss(self, tell: Callable[[str], None]) -> None:
        self._holding.on_loss(tell)

    def transfer(self, to: str) -> Any:
        raise Misuse(f"this engine cannot transfer to {to!r}")


def hidden(seen: Inspection) -> Inspection:
    holders = tuple(msgspec.structs.replace(who, token=None) for who in seen.holders)
    return msgspec.structs.replace(seen, holders=holders, queue=())


class Weak(Engine):
    def __init__(self, engine: Engine) -> None:
        self._engine, self.url, self.traits = engine, engine.url.replace("memory", "weak"), TRAITS

    @property
    def closed(self) -> bool:  # type: ignore[override]
        return self._engine.closed

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        return Unfenced(self._engine.acquire(request, owner, seconds, progress))

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return hidden(self._engine.inspect(name, kind))

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return self._engine.names(prefix, kind)

    def prune(self, prefix: str = "") -> int:
        return self._engine.prune(prefix)

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        raise Misuse("this engine takes nothing by force")

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        return self._engine.observe(name, seconds)

    def close(self) -> None:
        self._engine.close()


class AsyncWeak(AsyncEngine):
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine, self.url, self.traits = engine, engine.url.replace("memory", "weak"), TRAITS

    @property
    def closed(self) -> bool:  # type: ignore[override]
        return self._engine.closed

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        return Unfenced(await self._engine.acquire(request, owner, seconds, progress))

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return hidden(await self._engine.inspect(name, kind))

    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        return await self._engine.names(prefix, kind)

    async def prune(self, prefix: str = "") -> int:
        return await self._engine.prune(prefix)

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        raise Misuse("this engine takes nothing by force")

    def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        return self._engine.observe(name, seconds)

    async def close(self) -> None:
        await self._engine.close()
