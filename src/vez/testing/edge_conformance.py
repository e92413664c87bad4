"""The contract at its edges, as tests: very long timeouts, clients that were closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from vez import aio
from vez.errors import EngineUnavailable
from vez.locks.engines.base import Kind, Traits
from vez.locks.turns.client import Client, connect
from vez.testing.actors import PATIENCE
from vez.testing.conformance_base import LONG_TIMEOUTS, Base, Make, needs

CLOSED = r"the client .* is closed"


class EdgeConformance(Base):
    """Legal but rare uses."""

    def test_a_closed_client_refuses_everything(self, actor: Make, url: str, traits: Traits) -> None:
        kind: Kind = "lock" if traits.locks else "election"
        one = actor()
        grant = one.acquire(kind, "closed")
        client = connect(url)
        tries = _tries(client, kind, traits)
        client.close()
        for what, ask in tries.items():
            with pytest.raises(EngineUnavailable, match=CLOSED):
                pytest.fail(f"{what} gave {ask()}")
        grant.check()
        one.release(grant)

    def test_a_closed_client_of_tasks_refuses_everything(self, actor: Make, url: str, traits: Traits) -> None:
        kind: Kind = "lock" if traits.locks else "election"
        one = actor()
        grant = one.acquire(kind, "closed")

        async def ask_all(used: bool) -> None:
            client = aio.connect(url)
            if used:
                await client.inspect("closed", kind)
            tries = _tries(client, kind, traits)
            await client.close()
            for what, ask in tries.items():
                with pytest.raises(EngineUnavailable, match=CLOSED):
                    pytest.fail(f"{what} gave {await ask()}")

        asyncio.run(ask_all(used=False))
        asyncio.run(ask_all(used=True))
        grant.check()
        one.release(grant)

    @needs("elections")
    @pytest.mark.parametrize("seconds", [None, 1000.0])
    def test_a_thread_that_observes_is_told_that_the_client_was_closed(self, url: str, seconds: float | None) -> None:
        client = connect(url)
        began, ended = threading.Event(), list[str]()

        def observe() -> None:
            try:
                for _ in client.election("watched").observe(seconds):
                    began.set()
            except EngineUnavailable as error:
                ended.append(str(error))

        observing = threading.Thread(target=observe, daemon=True)
        observing.start()
        assert began.wait(PATIENCE)
        client.close()
        observing.join(PATIENCE)
        assert [text for text in ended if "is closed" in text], "it still observes"

    @needs("elections")
    def test_a_task_that_observes_is_told_that_the_client_was_closed(self, url: str) -> None:
        async def observe() -> None:
            client, closing = aio.connect(url), list[asyncio.Task[None]]()
            async for _ in client.election("watched").observe():
                closing.append(asyncio.create_task(client.close()))

        with pytest.raises(EngineUnavailable, match="is closed"):
            asyncio.run(asyncio.wait_for(observe(), PATIENCE))

    @needs("locks")
    def test_a_very_long_timeout_waits(self, actor: Make) -> None:
        one, other = actor(), actor()
        for seconds in LONG_TIMEOUTS:
            grant = one.acquire("lock", "long", seconds)
            waiting = other.queue_up("lock", "long", seconds)
            assert not waiting.done()
            one.release(grant)
            other.release(waiting.result(PATIENCE))


def _tries(client: Client | aio.Client, kind: Kind, traits: Traits) -> dict[str, Callable[[], Any]]:
    """All operations of a client; those for tasks are awaited."""
    wanted = client.lock("closed") if kind == "lock" else client.election("closed")
    tries: dict[str, Callable[[], Any]] = {
        "acquire": lambda: wanted.acquire(0),
        "try_acquire": wanted.try_acquire,
        "locked": wanted.locked,
        "inspect": lambda: client.inspect("closed", kind),
        "locks": lambda: client.locks("closed", kind),
        "prune": client.prune,
    }
    if traits.breaks:
        tries["break_lock"] = lambda: client.break_lock("closed", "a test", kind)
    if traits.elections:
        election = client.election("closed" if kind == "election" else "watched")
        first: Any = anext if isinstance(client, aio.Client) else next
        tries["observe"] = lambda: first(election.observe())
    return tries
