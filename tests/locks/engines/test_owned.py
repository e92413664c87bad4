"""`owned` of a lock object, after its client has released everything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import vez
import vez.aio


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
