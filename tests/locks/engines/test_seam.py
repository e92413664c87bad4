"""The seam to engines: traits, engines that do less than others, leases, owners, wording."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import vez
import vez.aio
from vez.errors import AlreadyHeld, LockTimeout, Misuse, UnknownName
from vez.locks.engines import ENGINES, open_async_engine, open_engine, provider, schemes
from vez.locks.engines.base import Kind, Request
from vez.locks.engines.owners import Owner, here
from vez.locks.fence import MemoryGuard
from vez.locks.turns.task_owner import owner_of
from vez.locks.turns.task_watched import WatchedAsyncEngine
from vez.locks.turns.terms import Terms
from vez.testing.conformance import Conformance

_spaces = count()


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an engine that does less than the others."""
    monkeypatch.setitem(ENGINES, "weak", "tests.locks.engines.weak_engine")
    return f"weak:seam-{next(_spaces)}"


class TestWeak(Conformance):
    """The suite asks an engine for no more than its traits say."""

    @pytest.fixture
    def url(self, weak: str) -> str:
        return weak


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/turns" if request.param == "file" else f"memory:seam-{next(_spaces)}"


def test_a_grant_without_a_token_says_so_and_no_guard_takes_it(weak: str) -> None:
    told: list[tuple[str, int | None]] = []

    def tell(name: str, token: int | None) -> None:
        told.append((name, token))

    with vez.connect(weak) as client, client.lock("x", on_acquired=tell, on_released=tell) as grant:
        assert grant.token is None
        assert client.engine.traits.token is None
        with pytest.raises(Misuse, match="no fencing"):
            MemoryGuard().admit("cell", grant.token)
        with pytest.raises(AlreadyHeld):
            client.lock("x").acquire()

    async def run() -> None:
        async with vez.aio.connect(weak) as client, client.election("x", on_acquired=tell) as leadership:
            assert (leadership.token, leadership.term) == (None, None)

    asyncio.run(run())
    assert told == [("x", None)] * 3


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_every_provider_has_traits_and_opens_both_kinds(scheme: str, tmp_path: Path) -> None:
    assert scheme in schemes()
    made = provider(scheme)
    url = f"file://{tmp_path}/turns" if scheme == "file" else "memory:seam"
    engine, tasks = made.open_engine(url), made.open_async_engine(url)
    assert engine.traits == tasks.traits == made.TRAITS
    assert engine.url == tasks.url
    assert [engine.closed, tasks.closed] == [False, False]
    engine.close()
    asyncio.run(tasks.close())
    assert [engine.closed, tasks.closed] == [True, True]


def test_an_unknown_scheme_is_named() -> None:
    for opens in (open_engine, open_async_engine):
        with pytest.raises(UnknownName, match="flie"):
            opens("flie:///x")
        with pytest.raises(Misuse, match="is not an engine URL"):
            opens("nothing")


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_the_lease_reaches_the_engine(weak: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []
    with vez.connect(weak) as client:
        real = client.engine.acquire

        def acquire(request: Request, *rest: Any) -> Any:
            asked.append(request.lease_ms)
            return real(request, *rest)

        monkeypatch.setattr(client.engine, "acquire", acquire)
        makes: dict[str, Callable[..., vez.Lock]] = {
            "lock": client.lock,
            "semaphore": lambda name, **options: client.semaphore(name, 1, **options),
            "election": client.election,
        }
        for options in ({"lease": 2.5}, {"lease": 0.0001}, {}):
            with makes[kind]("x", **options):
                pass
        assert asked == [2500, 1, None]
        for wrong in (0, -1, float("nan"), 1e9, "2"):
            with pytest.raises(Misuse, match="lease"):
                makes[kind]("x", lease=wrong)


def test_an_owner_is_a_number(url: str) -> None:
    """An engine does not know threads: requests with the same number have the same owner."""
    mine, other = Owner(), Owner()
    engine, request = open_engine(url), Request("x")
    holding = engine.acquire(request, mine.number, 0)
    with pytest.raises(AlreadyHeld):
        engine.acquire(request, mine.number, 0)
    with pytest.raises(LockTimeout):
        engine.acquire(request, other.number, 0)
    holding.release()
    engine.acquire(request, other.number, 0).release()
    assert [mine.entries, other.entries, here.owner.holdings()] == [[], [], []]
    engine.close()


def test_a_number_that_stands_for_nobody_is_known_as_long_as_it_holds_something(url: str) -> None:
    engine, request, number = open_engine(url), Request("x"), 1 << 50
    holding = engine.acquire(request, number, 0)
    with pytest.raises(AlreadyHeld):
        engine.acquire(request, number, 0)
    holding.release()
    engine.acquire(request, number, 0).release()
    engine.close()


def test_a_timeout_says_who_is_inside_in_the_same_words(url: str) -> None:
    found: list[str] = []

    def wait() -> None:
        with pytest.raises(LockTimeout) as caught:
            other.lock("x").acquire(0.05)
        found.append(str(caught.value))

    with vez.connect(url) as one, one.lock("x", label="alpha"), vez.connect(url) as other:
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert f"was not granted after 0.05 s: process {os.getpid()} (alpha) has been inside for" in found[0]


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_loss_before_the_task_listens_is_told(url: str, kind: Kind) -> None:
    """The lock is broken after it was granted, and its ring is heard before the grant asks for it."""
    told: list[str] = []

    async def run() -> None:
        async with vez.aio.connect(url) as client, vez.aio.connect(url) as other:
            engine = WatchedAsyncEngine(client.engine, Terms(on_lost=lambda name, token: told.append(name)))
            holding = await engine.acquire(Request("x", kind), owner_of().number, 20)
            assert await other.break_lock("x", "a test", kind) is not None
            for _ in range(5):
                await asyncio.sleep(0.002)  # long enough for the ring of the break to be heard
            grant = vez.aio.Grant("x", holding)
            assert await grant.wait_lost(0)
            assert told == ["x"]
            with pytest.raises(vez.OwnershipLost, match="force"):
                async with grant:
                    raise AssertionError("the body ran")

    asyncio.run(run())
