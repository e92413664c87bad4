"""Reentrant locks, shortest stays, callbacks and decorators: the same for threads and tasks, on every engine."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vez
from vez.errors import AlreadyHeld, Misuse, OwnershipLost
from vez.locks.engines.base import Place
from vez.testing import eventually


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/turns" if request.param == "file" else f"memory:{tmp_path.name}"


@pytest.fixture
def client(url: str) -> Iterator[vez.Client]:
    with vez.connect(url) as made:
        yield made


def busy(client: vez.Client, name: str = "x") -> bool:
    """True if another thread is not granted."""
    found: list[object] = []

    def ask() -> None:
        grant = client.lock(name).try_acquire()
        found.append(grant)
        if grant is not None:
            grant.release()

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(10)
    return found == [None]


# Reentrant


def test_a_reentrant_lock_is_released_as_often_as_it_was_acquired(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    with lock as outer:
        with lock as inner:
            assert inner.token == outer.token
            assert busy(client)
        assert busy(client)
        outer.check()
        with pytest.raises(OwnershipLost, match="released"):
            inner.check()
    assert not busy(client)
    with lock as again:
        assert again.token > outer.token


def test_grants_of_a_reentrant_lock_can_be_released_one_by_one(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    lock.acquire()
    lock.acquire()
    lock.release()
    assert busy(client)
    lock.release()
    assert not busy(client)
    with pytest.raises(Misuse, match="not held"):
        lock.release()


def test_grants_of_a_reentrant_lock_can_be_released_in_any_order(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    first, second, third = lock.acquire(), lock.acquire(), lock.acquire()
    first.release()
    first.release()  # twice is harmless, and counts once
    assert busy(client), "two grants are left"
    second.check()
    with lock:
        third.release()
    assert busy(client)
    with pytest.raises(OwnershipLost, match="released"):
        first.check()
    second.release()
    assert not busy(client)
    assert [grant.lost for grant in (first, second, third)] == [False] * 3


def test_a_leadership_that_was_acquired_again_is_not_transferred(client: vez.Client) -> None:
    election = client.election("x", reentrant=True)
    first, second = election.acquire(), election.acquire()
    for grant in (first, second):
        with pytest.raises(Misuse, match="acquired again"):
            grant.transfer("nobody")
    first.release()
    second.check()
    second.release()


def test_without_it_the_second_request_of_a_thread_is_refused(client: vez.Client) -> None:
    lock = client.lock("x")
    with lock, pytest.raises(AlreadyHeld):
        lock.acquire()


def test_a_reentrant_lock_excludes_other_threads_and_objects(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    with lock:
        assert busy(client)
        with pytest.raises(AlreadyHeld):
            client.lock("x", reentrant=True).acquire()
        held: list[object] = []
        other = threading.Thread(target=lambda: held.append(lock.try_acquire()))
        other.start()
        other.join(10)
        assert held == [None], "another thread is another owner"


def test_after_a_loss_a_reentrant_lock_is_acquired_anew(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    first = lock.acquire()
    client.break_lock("x", "to see")
    assert first.lost
    second = lock.acquire()
    assert second.token > first.token
    second.release()
    with pytest.raises(OwnershipLost):
        first.release()


def test_the_loss_of_a_reentrant_lock_is_told_to_every_grant(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    outer = lock.acquire()
    inner = lock.acquire()
    client.break_lock("x", "to see")
    assert inner.lost
    with pytest.raises(OwnershipLost):
        inner.release()
    with pytest.raises(OwnershipLost):
        outer.release()
    assert outer.lost


def test_a_semaphore_is_not_reentrant(client: vez.Client) -> None:
    with pytest.raises(Misuse, match="not reentrant"):
        client.semaphore("x", 2, reentrant=True)


def test_a_dropped_reentrant_grant_is_released(client: vez.Client) -> None:
    lock = client.lock("x", reentrant=True)
    lock.acquire()
    del lock
    eventually(lambda: not busy(client))


async def _check_reentrant_tasks(url: str) -> None:
    async with vez.aio.connect(url) as client:
        lock = client.lock("x", reentrant=True)
        async with lock as outer:
            async with lock as inner:
                assert inner.token == outer.token
            assert await client.lock("x").locked()
        assert not await lock.locked()
        outer = await lock.acquire()

        async def broken() -> None:
            async with lock:
                await client.break_lock("x", "to see")
                await asyncio.sleep(30)  # the loss cancels it

        with pytest.raises(OwnershipLost):
            await broken()
        with pytest.raises(OwnershipLost):
            await outer.release()


def test_tasks_have_reentrant_locks_too(url: str) -> None:
    asyncio.run(_check_reentrant_tasks(url))


def test_tasks_release_the_grants_of_a_reentrant_lock_in_any_order(url: str) -> None:
    async def body() -> None:
        async with vez.aio.connect(url) as client:
            lock = client.lock("x", reentrant=True)
            first, second = await lock.acquire(), await lock.acquire()
            await first.release()
            assert await lock.locked()
            second.check()
            await second.release()
            assert not await lock.locked()

    asyncio.run(body())


# The shortest stay


def test_a_release_before_the_shortest_stay_waits_for_the_rest(client: vez.Client) -> None:
    lock = client.lock("x", at_least=0.2)
    begin = time.monotonic()
    with lock:
        pass
    assert time.monotonic() - begin >= 0.2


def test_a_lost_lock_has_no_shortest_stay(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError(f"it would wait for {seconds} s")

    grant = client.lock("x", at_least=100).acquire()
    client.break_lock("x", "to see")
    monkeypatch.setattr("vez.locks.turns.thread_watched.time.sleep", sleep)
    with pytest.raises(OwnershipLost):
        grant.release()


def test_the_shortest_stay_holds_for_tasks(url: str) -> None:
    async def stay() -> float:
        async with vez.aio.connect(url) as client:
            begin = time.monotonic()
            async with client.lock("x", at_least=0.2):
                pass
            return time.monotonic() - begin

    assert asyncio.run(stay()) >= 0.2


def test_an_interrupted_wait_for_the_shortest_stay_releases(
    client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vez.locks.turns.thread_watched.time.sleep", interrupt)
    grant = client.lock("x", at_least=100).acquire()
    with pytest.raises(KeyboardInterrupt):
        grant.release()
    monkeypatch.undo()
    assert not busy(client)


async def _waits(name: str, token: int) -> None:
    pass


@pytest.mark.parametrize(
    "wrong", [{"at_least": -1}, {"at_least": float("nan")}, {"at_least": "1"}, {"on_lost": 3}, {"on_lost": _waits}]
)
def test_wrong_terms_are_refused(client: vez.Client, wrong: dict[str, Any]) -> None:
    with pytest.raises(Misuse):
        client.lock("x", **wrong)


# Callbacks and logging


def test_callbacks_are_told_in_order(client: vez.Client) -> None:
    told: list[tuple[str, str, int]] = []
    lock = client.lock(
        "x",
        on_acquired=lambda name, token: told.append(("acquired", name, token)),
        on_lost=lambda name, token: told.append(("lost", name, token)),
        on_released=lambda name, token: told.append(("released", name, token)),
    )
    with lock as first:
        pass
    grant = lock.acquire()
    client.break_lock("x", "to see")
    assert grant.lost
    assert grant.lost
    with pytest.raises(OwnershipLost):
        grant.release()
    kinds = [(kind, token) for kind, _, token in told]
    assert kinds == [
        ("acquired", first.token), ("released", first.token),
        ("acquired", grant.token), ("lost", grant.token), ("released", grant.token),
    ]  # fmt: skip


def test_a_callback_that_raises_when_granted_leaves_nothing_behind(client: vez.Client) -> None:
    def refuse(name: str, token: int) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        client.lock("x", on_acquired=refuse).acquire()
    assert not busy(client)


def _fails(name: str, token: int) -> None:
    raise RuntimeError("no")


def test_a_callback_that_raises_hides_neither_the_loss_nor_the_error_of_the_body(
    client: vez.Client, caplog: pytest.LogCaptureFixture
) -> None:
    lock = client.lock("x", on_lost=_fails, on_released=_fails)
    with pytest.raises(KeyError), lock:
        raise KeyError("of the body")
    assert not busy(client)
    grant = lock.acquire()
    client.break_lock("x", "to see")
    for _ in range(2):
        with pytest.raises(OwnershipLost):
            grant.check()
    with pytest.raises(OwnershipLost):
        grant.release()
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage().split(" (")[0] for record in failed] == ["a callback for 'x'"] * 3
    assert all(record.exc_info is not None for record in failed)


def test_a_callback_that_raises_does_not_keep_a_task_from_being_cancelled(url: str) -> None:
    async def lose() -> None:
        async with vez.aio.connect(url) as client, client.lock("x", on_lost=_fails, on_released=_fails):
            await client.break_lock("x", "to see")
            await asyncio.Event().wait()

    with pytest.raises(OwnershipLost):
        asyncio.run(asyncio.wait_for(lose(), 20))


def test_tasks_are_told_of_a_loss_at_once(url: str) -> None:
    async def lose() -> list[int]:
        told: list[int] = []
        async with vez.aio.connect(url) as client:
            grant = await client.lock("x", on_lost=lambda _, token: told.append(token)).acquire()
            await client.break_lock("x", "to see")
            assert await grant.wait_lost(10)
            assert told == [grant.token]
            with pytest.raises(OwnershipLost):
                await grant.release()
        return told

    assert len(asyncio.run(lose())) == 1


def test_losses_are_logged(client: vez.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="vez"):
        grant = client.lock("x", on_lost=lambda name, token: None).acquire()
        client.break_lock("x", "to see")
        with pytest.raises(OwnershipLost):
            grant.release()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"'x' (token {grant.token}) was lost")


# What others see


def test_locked_and_owned(client: vez.Client) -> None:
    lock, other = client.lock("x"), client.lock("x")
    seen = [(lock.locked(), lock.owned, other.owned)]
    with lock:
        seen.append((other.locked(), lock.owned, other.owned))  # it is held through one of the two objects
        client.break_lock("x", "to see")
        seen.append((other.locked(), lock.owned, other.owned))  # it has not released yet
        with pytest.raises(OwnershipLost):
            lock.release()
    seen.append((lock.locked(), lock.owned, other.owned))
    assert [owned for _, *owned in seen] == [[False, False], [True, False], [False, False], [False, False]]
    assert (seen[0][0], seen[1][0], seen[3][0]) == (False, True, False)


def test_threads_can_wait_for_a_loss(client: vez.Client) -> None:
    grant = client.lock("x").acquire()
    assert not grant.wait_lost(0.1)
    breaking = threading.Timer(0.1, client.break_lock, ("x", "to see"))
    breaking.start()
    assert grant.wait_lost(10)
    breaking.join(10)
    with pytest.raises(OwnershipLost):
        grant.release()


def test_on_wait_is_called_only_when_something_has_changed(client: vez.Client) -> None:
    places: list[Place] = []
    grant = client.lock("x").acquire()
    waiter = threading.Thread(target=lambda: client.lock("x", on_wait=places.append).acquire().release())
    waiter.start()
    eventually(lambda: len(places) == 1)
    time.sleep(0.7)  # three reports that would say the same
    assert len(places) == 1
    grant.release()
    waiter.join(10)
    assert len(places) == 1


# Decorators


def test_a_decorated_function_runs_while_the_lock_is_held(client: vez.Client) -> None:
    lock = client.lock("x")

    @lock
    def work(number: int, *, more: int = 0) -> int:
        """Work."""
        assert busy(client)
        assert lock.owned
        return number + more

    assert (work.__name__, work.__doc__) == ("work", "Work.")
    assert work(2, more=3) == 5
    assert not busy(client)
    with pytest.raises(ZeroDivisionError):
        lock(lambda: 1 // 0)()
    assert not busy(client)


def test_a_decorated_function_is_skipped_if_the_lock_is_busy(client: vez.Client) -> None:
    runs = []

    @client.lock("x").if_free
    def work() -> str:
        runs.append(1)
        return "done"

    assert work() == "done"
    with client.lock("x"):
        assert work() is None
        skipped: list[object] = []
        other = threading.Thread(target=lambda: skipped.append(work()))
        other.start()
        other.join(10)
        assert skipped == [None]
    assert work() == "done"
    assert runs == [1, 1]


def test_functions_whose_body_runs_later_are_refused(client: vez.Client) -> None:
    def later() -> Iterator[int]:
        yield 1

    async def waits() -> None:
        pass

    class Waits:
        async def __call__(self) -> None:
            pass

    class Later:
        def __call__(self) -> Iterator[int]:
            yield 1

    for wrong in (later, waits, Waits(), Later(), 3):
        for decorate in (client.lock("x"), client.lock("x").if_free):
            with pytest.raises(Misuse):
                decorate(wrong)  # type: ignore[arg-type]


@vez.aio.lock("decorated", timeout=10)
async def _decorated() -> int:
    """Made before there is an event loop."""
    return 7


def test_coroutine_functions_are_decorated_before_there_is_a_loop(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEZ_URL", url)
    assert asyncio.run(_decorated()) == 7
    assert asyncio.run(_decorated()) == 7, "in another loop"

    async def skipped() -> list[int | None]:
        runs: list[int] = []
        lock = vez.aio.lock("decorated")

        @lock.if_free
        async def work() -> int:
            runs.append(1)
            return 1

        async def other() -> int | None:
            return await work()

        async with lock:
            first = await asyncio.create_task(other())
        return [first, await work(), len(runs)]

    assert asyncio.run(skipped()) == [None, 1, 1]

    class Waits:
        async def __call__(self) -> int:
            return 5

    assert asyncio.run(vez.aio.lock("decorated")(Waits())()) == 5
    with pytest.raises(Misuse, match="for tasks"):
        vez.aio.lock("x")(lambda: None)  # type: ignore[arg-type, return-value]
