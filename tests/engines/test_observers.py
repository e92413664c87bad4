"""Observers of an election whose client is closed: they end with an error, as waiters do."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import vez
from vez.errors import EngineUnavailable


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/turns" if request.param == "file" else f"memory:{tmp_path.name}"


@pytest.mark.parametrize("seconds", [None, 1000.0])
def test_a_thread_that_observes_is_told_that_the_client_was_closed(url: str, seconds: float | None) -> None:
    client = vez.connect(url)
    began, ended = threading.Event(), list[str]()

    def observe() -> None:
        try:
            for _ in client.election("x").observe(seconds):
                began.set()
        except EngineUnavailable as error:
            ended.append(str(error))

    observing = threading.Thread(target=observe, daemon=True)
    observing.start()
    assert began.wait(60)
    client.close()
    observing.join(60)
    assert [text for text in ended if "is closed" in text], "it still observes"


def test_a_task_that_observes_is_told_that_the_client_was_closed(url: str) -> None:
    async def observe() -> None:
        client, closing = vez.aio.connect(url), list[asyncio.Task[None]]()
        async for _ in client.election("x").observe():
            closing.append(asyncio.create_task(client.close()))

    with pytest.raises(EngineUnavailable, match="is closed"):
        asyncio.run(asyncio.wait_for(observe(), 20))
