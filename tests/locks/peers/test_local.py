"""Threads and tasks of one program queue locally; the program is one member of its group."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.expectations import eventually_queued
from tests.locks.peers.groups import CALM, PATIENCE, group, places
from vez import aio
from vez.errors import AlreadyHeld, Deadlock, EngineUnavailable, LockTimeout, Misuse, OwnershipLost
from vez.locks.turns.client import Client, connect
from vez.testing.actors import eventually


def test_threads_of_one_program_are_served_in_order_and_others_get_their_turn_between() -> None:
    with group("ricart-agrawala") as (one, other, _):
        served: list[str] = []
        first = one.lock("x").acquire()

        def wait(client: object, label: str) -> None:
            with client.lock("x", timeout=PATIENCE):  # type: ignore[attr-defined]
                served.append(label)

        threads = []
        for number in range(4):
            threads.append(threading.Thread(target=wait, args=(one, f"local {number}")))
            threads[-1].start()
            eventually(lambda number=number: len(one.inspect("x").queue) == number + 1)  # type: ignore[misc]
        threads.append(threading.Thread(target=wait, args=(other, "remote")))
        threads[-1].start()
        eventually(lambda: len(other.inspect("x").queue) == 1)
        first.release()
        for thread in threads:
            thread.join(PATIENCE)
        assert [label for label in served if label != "remote"] == [f"local {number}" for number in range(4)]
        assert served[-1] != "remote"  # it does not wait until the busy program has no more requests


def test_a_timeout_takes_the_request_back_and_those_behind_go_on() -> None:
    with group("lamport") as (one, other, _):  # it can take a request back
        held = one.lock("x").acquire()
        with pytest.raises(LockTimeout, match=r"'x' was not granted after 0\.1 s"):
            other.lock("x").acquire(0.1)
        assert other.inspect("x").queue == ()
        with ThreadPoolExecutor(2) as pool:
            impatient = pool.submit(other.lock("x").acquire, 0.2)
            eventually(lambda: len(other.inspect("x").queue) == 1)
            patient = pool.submit(lambda: other.lock("x").acquire(PATIENCE).release())
            with pytest.raises(LockTimeout):
                impatient.result(PATIENCE)
            assert not patient.done()
            held.release()
            patient.result(PATIENCE)
        one.lock("x").acquire(PATIENCE).release()


@pytest.mark.parametrize("algorithm", ["ricart-agrawala", "maekawa-fair", "suzuki-kasami", "naimi-trehel", "raymond"])
def test_a_request_that_cannot_be_taken_back_serves_the_next_one_or_leaves_at_once(algorithm: str) -> None:
    with group(algorithm) as (one, other, third):
        held = one.lock("x").acquire()
        for _ in range(3):
            with pytest.raises(LockTimeout):
                other.lock("x").acquire(0.05)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: other.lock("x").acquire(PATIENCE).release())
            eventually(lambda: len(other.inspect("x").queue) == 1)
            held.release()
            waiting.result(PATIENCE)
        held = one.lock("x").acquire(PATIENCE)
        with pytest.raises(LockTimeout):
            other.lock("x").acquire(0.05)
        held.release()
        third.lock("x").acquire(PATIENCE).release()  # the request that nobody waits for was let in and has left
        one.lock("x").acquire(PATIENCE).release()


def test_a_timeout_of_0_is_refused_at_once_if_a_thread_of_the_program_holds_it() -> None:
    with group("raymond", reply=PATIENCE) as (one, _, _):
        held = one.lock("x").acquire()
        with ThreadPoolExecutor(1) as pool, pytest.raises(LockTimeout, match="has been inside for"):
            pool.submit(one.lock("x").acquire, 0).result(PATIENCE / 2)
        held.release()
        one.lock("x").acquire(0).release()


def test_waiting_for_oneself_and_cycles_within_the_program_are_refused() -> None:
    with group("raymond") as (one, _, _):
        held = one.lock("x").acquire()
        with pytest.raises(AlreadyHeld, match="'x'"):
            one.lock("x").acquire()
        with ThreadPoolExecutor(1) as pool:
            theirs = pool.submit(one.lock("y").acquire).result(PATIENCE)
            waiting = pool.submit(lambda: one.lock("x").acquire(PATIENCE))
            eventually(lambda: len(one.inspect("x").queue) == 1)
            with pytest.raises(Deadlock, match="cycle"):
                one.lock("y").acquire()
            held.release()
            pool.submit(waiting.result(PATIENCE).release).result(PATIENCE)
            theirs.release()


def test_a_grant_that_the_program_has_dropped_is_released() -> None:
    with group("raymond") as (one, other, _):
        held = one.lock("x").acquire()
        assert other.lock("x").try_acquire() is None
        del held
        gc.collect()
        with other.lock("x", timeout=PATIENCE) as grant:
            assert not grant.lost


def test_clients_of_one_url_are_one_member_and_the_last_to_close_leaves() -> None:
    with places() as made:
        urls = [made.url(one, "raymond") for one in made.ids]
        clients = [connect(url) for url in urls]
        again = connect(urls[0])
        held, waits = clients[0].lock("x").acquire(PATIENCE), threading.Event()
        with ThreadPoolExecutor(1) as pool:

            def ask() -> None:
                waits.set()
                clients[0].lock("y", timeout=PATIENCE).acquire()

            block = again.lock("y").acquire(PATIENCE)
            waiting = pool.submit(ask)
            waits.wait(PATIENCE)
            eventually(lambda: len(again.inspect("y").queue) == 1)
            clients[0].close()
            with pytest.raises(EngineUnavailable, match="closed"):
                waiting.result(PATIENCE)
        with pytest.raises(OwnershipLost, match="released"):
            held.check()
        assert not held.lost
        clients[1].lock("x").acquire(PATIENCE).release()  # the member is still there
        block.release()
        for client in (again, *clients):
            client.close()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("vez peers")]


def test_tasks_and_threads_of_a_program_share_one_queue_and_a_cancelled_task_leaves_nothing() -> None:
    with places() as made:
        urls = [made.url(one, "ricart-agrawala") for one in made.ids]
        with connect(urls[0]) as threads, connect(urls[1]), connect(urls[2]) as third:

            async def run() -> None:
                async with aio.connect(urls[0]) as tasks:
                    held = threads.lock("x").acquire(PATIENCE)
                    task = asyncio.create_task(tasks.lock("x").acquire())
                    await eventually_queued(tasks, "x")
                    task.cancel()
                    await asyncio.wait([task])
                    assert (await tasks.inspect("x")).queue == ()
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(tasks.lock("x").acquire(), 0.05)
                    held.release()
                    async with tasks.lock("x", timeout=PATIENCE) as grant:
                        assert grant.token is None
                        with pytest.raises(LockTimeout):
                            await asyncio.to_thread(third.lock("x").acquire, 0.05)

            asyncio.run(run())
            third.lock("x").acquire(PATIENCE).release()


def test_a_program_that_blocks_its_loop_does_not_stop_the_group() -> None:
    with places() as made:
        urls = [made.url(one, "ricart-agrawala") for one in made.ids]
        with connect(urls[1]) as other, connect(urls[2]):

            async def run() -> None:
                async with aio.connect(urls[0]) as client:
                    await (await client.lock("x").acquire(PATIENCE)).release()
                    with other.lock(
                        "x", timeout=PATIENCE
                    ) as grant:  # blocks this loop, and needs an answer of member 1
                        assert not grant.lost

            asyncio.run(run())


def test_names_are_limited_with_a_clear_error() -> None:
    with group("raymond", names=2) as (one, other, _):
        for name in ("a", "b", "a"):
            one.lock(name).acquire(PATIENCE).release()
        with pytest.raises(Misuse, match=r"uses 2 names already, the limit, and 'c' would be one more.*names="):
            one.lock("c").acquire()
        for name in ("c", "d"):
            other.lock(name).acquire(PATIENCE).release()
        eventually(lambda: one.locks() == ["a", "b", "c", "d"])
        one.lock("b").acquire(PATIENCE).release()


def test_what_the_algorithm_does_not_have_is_refused_with_its_name() -> None:
    with group("raymond") as (one, _, _):
        for ask, words in (
            (lambda: one.election("x").acquire(), "raymond of this group has no elections"),
            (lambda: one.semaphore("x", 2).acquire(), "has no semaphores"),
            (lambda: one.read_lock("x").acquire(), "has no shared locks"),
            (lambda: one.lock("x", lease=3).acquire(), "does not take a lease"),
            (lambda: one.break_lock("x", "a test"), "cannot take a lock from its holder by force"),
            (lambda: one.inspect("x", "election"), "has no elections"),
        ):
            with pytest.raises(Misuse, match=words):
                ask()
    with group("bully", **CALM) as (one, _, _):
        with pytest.raises(Misuse, match="has no locks"):
            one.lock("x").acquire()
        with pytest.raises(Misuse, match="weights"):
            one.election("x", weight=2).acquire()


def test_without_tokens_the_traits_say_so_and_fences_refuse() -> None:
    from vez.locks.fence import MemoryGuard

    with group("raymond") as (one, _, _), one.lock("x", timeout=PATIENCE) as grant:
        assert one.engine.traits.token is None
        assert grant.token is None
        assert any("no tokens" in note for note in one.engine.traits.notes)
        with pytest.raises(Misuse, match="token"):
            MemoryGuard().admit("x", grant.token)


def test_what_the_algorithm_does_not_tolerate_is_logged_when_the_program_joins(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "vez"), group("token-ring") as (one, *_):
        assert one.engine.traits.notes
        for note in one.engine.traits.notes:
            assert note in caplog.text
    assert "assumes that no process stops" in caplog.text


def test_a_stay_beyond_the_lease_is_told_and_the_next_gets_in() -> None:
    """A lease of 60 message times of 20 ms, less two delays of 2: it is lost after 1.12 s."""
    with group("coordinator-lease", lease_ms=60, time_scale=20) as (_, one, other):
        traits = one.engine.traits
        assert (traits.frees, traits.lease_seconds, traits.token) == ("lease", 1.12, "grant")
        held = one.lock("x").acquire(PATIENCE)
        assert held.token is not None
        later = other.lock("x").acquire(PATIENCE)
        assert held.lost  # before the other got it
        assert later.token is not None
        assert later.token > held.token
        with pytest.raises(OwnershipLost, match="longer than the lease"):
            held.release()
        later.release()

    async def run() -> None:
        with places() as made:
            urls = [made.url(one, "coordinator-lease", lease_ms=60, time_scale=10) for one in made.ids]
            with connect(urls[0]), connect(urls[2]):
                async with aio.connect(urls[1]) as client:
                    began = time.monotonic()
                    with pytest.raises(OwnershipLost, match="longer than the lease"):
                        async with client.lock("x", timeout=PATIENCE):
                            await asyncio.sleep(PATIENCE)  # the loss cancels it
                    assert time.monotonic() - began < PATIENCE / 2

    asyncio.run(run())


def test_a_group_that_ends_as_it_begins_leaves_no_socket_open() -> None:
    """Connections are accepted while the member leaves. What stays open is a ResourceWarning too, and those are errors."""
    with group("raymond"):  # what stays open from the first one on is shared by all
        pass
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        with group("raymond"):
            pass
    gc.collect()
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before, "sockets are closed")


def _ask_until_closed(client: Client, begun: threading.Event) -> None:
    while True:
        begun.set()
        client.lock("x").acquire(PATIENCE).release()
        client.inspect("x")


def test_requests_that_come_as_the_last_client_closes_end_with_an_error() -> None:
    for _ in range(10):
        with group("raymond") as clients, ThreadPoolExecutor(2) as pool:
            begun = threading.Event()
            asking = [pool.submit(_ask_until_closed, clients[0], begun) for _ in range(2)]
            begun.wait(PATIENCE)
            clients[0].close()
            for future in asking:
                with pytest.raises(EngineUnavailable, match="closed"):
                    future.result(PATIENCE)


def test_a_closed_client_leaves_no_socket_behind() -> None:
    with places() as made:
        clients = [connect(made.url(one, "ricart-agrawala", **CALM)) for one in made.ids]
        assert len(list(made.folder.iterdir())) == 3
        with clients[0].lock("x", timeout=PATIENCE):
            pass
        for client in clients:
            client.close()
        assert list(made.folder.iterdir()) == []


def test_a_closed_client_of_tasks_leaves_no_socket_behind() -> None:
    async def take_part(url: str) -> int:
        async with aio.connect(url) as client:
            await client.inspect("x")
            return len(list(made.folder.iterdir()))

    with places() as made:
        assert asyncio.run(take_part(made.url(1, "ricart-agrawala", **CALM))) == 1
        assert list(made.folder.iterdir()) == []


def test_the_socket_of_somebody_else_stays() -> None:
    """Another process has found our socket dead, and listens at the same path."""
    with places() as made:
        client = connect(made.url(1, "ricart-agrawala", **CALM))
        (place,) = made.folder.iterdir()
        (made.folder / "other").touch()
        (made.folder / "other").rename(place)
        client.close()
        assert list(made.folder.iterdir()) == [place]
