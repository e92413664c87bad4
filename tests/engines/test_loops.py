"""Event loops of several threads that use vez at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from vez import aio
from vez.engines.file.core import FileCore
from vez.engines.file.place import Place


class Loop(asyncio.SelectorEventLoop):
    """An event loop; while it is asked whether it is closed, another thread uses vez for the first time."""

    meanwhile: Callable[[], None]

    def is_closed(self) -> bool:
        self.meanwhile()
        return super().is_closed()


def test_loops_of_two_threads_begin_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEZ_URL", f"file://{tmp_path}/turns")
    others = list[asyncio.AbstractEventLoop]()
    clients = WeakKeyDictionary[asyncio.AbstractEventLoop, aio.Client]()
    monkeypatch.setattr("vez.turns.aio_default._default", clients)
    loop = Loop()
    loop.meanwhile = lambda: None

    def begin() -> None:
        others.append(asyncio.new_event_loop())
        clients[others[-1]] = clients[loop]

    async def use() -> None:
        async with aio.lock("x"):
            pass

    try:
        loop.run_until_complete(use())
        loop.meanwhile = begin
        asyncio.run(use())  # it asks the first loop, and the table grows meanwhile
        assert others
    finally:
        loop.meanwhile = lambda: None
        for client in set(clients.values()):
            client.engine.abandon()
        for one in (loop, *others):
            one.close()


def test_one_engine_of_two_loops_that_begin_at_the_same_time(tmp_path: Path) -> None:
    engine, others = FileCore(Place(tmp_path / "turns")), list[asyncio.AbstractEventLoop]()
    loop = Loop()
    loop.meanwhile = lambda: None

    async def listen() -> None:
        engine.loop_ear()

    def begin() -> None:
        others.append(asyncio.new_event_loop())
        engine._ears[others[-1]] = engine._ears[loop]

    try:
        loop.run_until_complete(listen())
        loop.meanwhile = begin
        asyncio.run(listen())
        assert others
    finally:
        loop.meanwhile = lambda: None
        for other in others:
            del engine._ears[other]
            other.close()
        engine.close()
        loop.close()
