"""The default client for tasks: one for each event loop, opened when first used."""

from __future__ import annotations

import asyncio
from typing import Any, Unpack, cast
from weakref import WeakKeyDictionary

from vez.locks.engines.seam import AsyncEngine
from vez.locks.engines.urls import which_url
from vez.locks.turns.aio import Client, Lock, connect
from vez.locks.turns.client_base import Options

_default: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()


def _client_here() -> Client:
    """The default client of the running event loop."""
    loop = asyncio.get_running_loop()
    client = _default.get(loop)
    if client is None:
        # A client keeps its loop alive. The table is copied first: loops of other threads may begin meanwhile.
        for other in [one for known in _default.keyrefs() if (one := known()) is not None and one.is_closed()]:
            if (unused := _default.pop(other, None)) is not None:
                unused.engine.abandon()
        client = _default[loop] = connect()
    return client


class _EngineHere:
    """The default engine of the running loop, for a decorator that was made before there was a loop."""

    closed = False

    @property
    def url(self) -> str:
        return which_url(None)

    def __getattr__(self, name: str) -> Any:
        return getattr(_client_here().engine, name)


_before_any_loop = Client(cast(AsyncEngine, _EngineHere()))


def lock(name: str, *, shared: bool = False, **options: Unpack[Options]) -> Lock:
    """A lock of the default engine, which is opened once for each event loop."""
    client = _before_any_loop if asyncio._get_running_loop() is None else _client_here()
    return client.lock(name, shared=shared, **options)
