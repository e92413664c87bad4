"""The fixtures of the pytest plugin."""

from __future__ import annotations

import asyncio

import pytest

import vez
from vez.testing.plugin import Turns


def test_a_lock_is_lost_on_demand(vez_turns: Turns) -> None:
    grant = vez.lock("nightly").acquire()
    grant.check()
    vez_turns.lose("nightly")
    with pytest.raises(vez.OwnershipLost):
        grant.check()
    with pytest.raises(vez.OwnershipLost):
        grant.release()
    with pytest.raises(AssertionError, match="nobody holds"):
        vez_turns.lose("nightly")


def test_a_leader_is_deposed_on_demand(vez_turns: Turns) -> None:
    async def lead() -> None:
        async with vez.aio.connect(vez_turns.url) as client, client.election("scheduler"):
            vez_turns.depose("scheduler")
            await asyncio.sleep(20)  # the loss cancels it

    with pytest.raises(vez.OwnershipLost):
        asyncio.run(lead())


def test_a_lock_is_taken_by_somebody_else(vez_turns: Turns) -> None:
    with vez_turns.taken("nightly") as token:
        assert vez.lock("nightly").try_acquire() is None
    with vez.lock("nightly", timeout=0) as grant:
        assert grant.token > token
