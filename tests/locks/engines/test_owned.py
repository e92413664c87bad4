"""A closed client holds nothing, and its lock objects say so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import vez
import vez.aio
from vez.errors import EngineUnavailable


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_lock_of_a_closed_client_is_not_owned(scheme: str, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns" if scheme == "file" else "memory:owned"
    client = vez.connect(url)
    lock = client.lock("x")
    grant = lock.acquire(20)
    assert [lock.owned] == [True]
    assert f"held by this thread, token {grant.token}" in repr(lock)
    client.close()
    assert [lock.owned] == [False]
    assert "not held" in repr(lock)
    assert not grant.lost

    async def run() -> None:
        other = vez.aio.connect(url)
        again = other.lock("x")
        await again.acquire(20)
        assert [again.owned] == [True]
        await other.close()
        assert [again.owned] == [False]
        assert "not held" in repr(again)

    asyncio.run(run())


@pytest.mark.parametrize("scheme", ["memory:", "file:"])
@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_a_client_that_is_closed_while_a_request_is_granted_holds_nothing(
    scheme: str, tmp_path: Path, tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing releases what is held. A request that was let in at that moment was not on the list yet."""
    url = f"{scheme}closing-{tasks}" if scheme == "memory:" else f"file://{tmp_path}"
    with vez.connect(url) as other:

        def in_a_thread() -> None:
            with vez.connect(url) as client:
                engine: Any = client.engine
                monkeypatch.setattr(engine, "_enlist", closing(engine._enlist, engine.core))
                client.lock("x").acquire(5)

        async def in_a_task() -> None:
            async with vez.aio.connect(url) as client:
                await (await client.lock("y").acquire()).release()  # the engine is open now
                core = cast(Any, client.engine)._core
                monkeypatch.setattr(core, "enlist_async", closing(core.enlist_async, core))
                await client.lock("x").acquire(5)

        with pytest.raises(EngineUnavailable, match="closed"):
            asyncio.run(in_a_task()) if tasks else in_a_thread()
        assert other.lock("x").try_acquire() is not None


def closing(enlist: Callable[..., Any], core: Any) -> Callable[..., Any]:
    """`enlist`, during which another thread closes the client."""

    def enlisted(*arguments: Any, **options: Any) -> Any:
        made = enlist(*arguments, **options)
        core.end_waits()
        return made

    return enlisted
