"""Wake-ups and releases on files: no wake-up is lost, and every release wakes the next waiter."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import vez
from tests.expectations import eventually_queued
from vez.errors import EngineUnavailable
from vez.locks.engines.file import layout
from vez.locks.engines.file.waiter import ear
from vez.testing import eventually
from vez.testing.interrupts import interrupted_at


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "turns"


def file_of(home: Path, name: str = "x") -> Path:
    return home / f"lock.{name}"


@pytest.fixture
def no_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters do not poll, so a lost wake-up is an endless wait."""
    for constant in ("locks.HEAD_POLL", "locks.QUEUE_POLL", "permits.HEAD_POLL", "candidates.HEAD_POLL"):
        monkeypatch.setattr(f"vez.locks.engines.file.{constant}", 3600.0)


@pytest.mark.usefixtures("no_polls")
@pytest.mark.parametrize("moment", [0, 0.005])
@pytest.mark.parametrize("kind", ["lock", "readers and writers", "semaphore", "election"])
def test_no_ring_is_lost_among_threads(home: Path, kind: str, moment: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the short sleeps on the bell alone."""
    if not moment:
        monkeypatch.setattr("vez.locks.engines.file.locks.LockTicket.poll", lambda _: False)
    with vez.connect(f"file://{home}") as client:

        def work(me: int) -> None:
            for turn in range(100):
                if kind == "semaphore":
                    lock = client.semaphore("x", 2, timeout=20)
                elif kind == "election":
                    lock = client.election("x", timeout=20)
                else:
                    lock = client.lock("x", timeout=20, shared=kind != "lock" and (me + turn) % 3 > 0)
                with lock:
                    pass

        threads = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert client.inspect("x", kind if kind in ("semaphore", "election") else "lock").queue == ()  # type: ignore[arg-type]
        assert not any(thread.is_alive() for thread in threads)


@pytest.mark.usefixtures("no_polls")
@pytest.mark.parametrize("kind", ["lock", "reader", "semaphore", "election"])
def test_one_who_leaves_rings_the_next(home: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.locks.engines.file.locks.LockTicket.poll", lambda _: False)
    with vez.connect(f"file://{home}") as client, ThreadPoolExecutor(1) as pool:
        asked: dict[str, Callable[[], Any]] = {
            "lock": lambda: client.lock("x"),
            "reader": lambda: client.lock("x", shared=True),
            "semaphore": lambda: client.semaphore("x", 1),
            "election": lambda: client.election("x"),
        }
        holder = asked[kind]().acquire()
        waiting = pool.submit((asked["lock"] if kind == "reader" else asked[kind])().acquire, 40)
        eventually(lambda: len(client.inspect("x", "lock" if kind == "reader" else kind).queue) == 1)  # type: ignore[arg-type]
        time.sleep(0.05)  # it sleeps
        holder.release()
        waiting.result(60).release()


@pytest.mark.usefixtures("no_polls")
def test_one_who_dies_while_the_next_listens_for_a_moment_is_passed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waiter sleeps on its bell alone, and nobody rings. It must find another predecessor."""
    monkeypatch.setattr("vez.locks.engines.file.locks.POLL_MS", 400)
    program = f'import vez; vez.connect("file://{home}").lock("x").acquire()'
    with vez.connect(f"file://{home}") as client:
        holder, got = client.lock("x").acquire(), threading.Event()

        def follow() -> None:
            with client.lock("x"):
                got.set()

        between = subprocess.Popen([sys.executable, "-c", program])
        eventually(lambda: len(client.inspect("x").queue) == 1)
        last = threading.Thread(target=follow, daemon=True)
        last.start()
        eventually(lambda: len(client.inspect("x").queue) == 2)
        between.kill()
        between.wait(60)
        time.sleep(0.6)  # the moment is over
        holder.release()
        assert got.wait(60)


@pytest.mark.usefixtures("no_polls")
def test_one_who_waits_at_a_client_that_is_closed_rings_the_next(home: Path) -> None:
    for _ in range(5):
        with vez.connect(f"file://{home}") as first, vez.connect(f"file://{home}") as last:
            between, got = vez.connect(f"file://{home}"), threading.Event()

            def give_up(between: vez.Client = between) -> None:
                with pytest.raises(EngineUnavailable):
                    between.lock("x").acquire()

            def follow(last: vez.Client = last, got: threading.Event = got) -> None:
                with last.lock("x"):
                    got.set()

            holder = first.lock("x").acquire()
            threads = [threading.Thread(target=work, daemon=True) for work in (give_up, follow)]
            for waiting, thread in enumerate(threads):
                thread.start()
                eventually(lambda waiting=waiting: len(first.inspect("x").queue) == waiting + 1)  # type: ignore[misc]
            between.close()
            threads[0].join(60)
            holder.release()
            assert got.wait(60)
            threads[1].join(60)


@pytest.mark.usefixtures("no_polls", "_unraisable")
def test_a_release_that_is_interrupted_anywhere_rings_the_next(home: Path) -> None:
    with vez.connect(f"file://{home}") as client, vez.connect(f"file://{home}") as other:
        for point in range(1000):
            grant, got = client.lock("x").acquire(), threading.Event()

            def follow(got: threading.Event = got) -> None:
                with other.lock("x", on_wait=lambda _: None):
                    got.set()

            thread = threading.Thread(target=follow, daemon=True)
            thread.start()
            eventually(lambda: len(client.inspect("x").queue) == 1)
            struck = interrupted_at(point, grant.release)
            grant.release()  # completes it
            assert got.wait(60), f"struck at call {point}"
            thread.join(60)
            if not struck:
                break
        assert point > 5
        assert file_of(home).read_bytes()[layout.TAKEN_AT : layout.TAKEN_AT + 32] == bytes(32)


@pytest.fixture
def _unraisable() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pytest.PytestUnraisableExceptionWarning)
        yield


@pytest.mark.serial
def test_a_timeout_is_kept_though_signals_arrive_all_the_time(home: Path) -> None:
    program = f"""
import signal, threading, time, vez
client = vez.connect("file://{home}")
signal.signal(signal.SIGALRM, lambda *_: None)
for _ in range(4):
    with client.lock("a"): pass
    kept = []
    holder = threading.Thread(target=lambda: kept.append(client.lock("a").acquire())); holder.start(); holder.join()
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    begun = time.monotonic()
    try: client.lock("a").acquire(0.1)
    except vez.LockTimeout: pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(time.monotonic() - begun < 2)
    kept[0].release()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90)
    assert (done.stdout, done.stderr) == ("True\n" * 4, "")


def test_a_name_whose_file_was_made_anew_is_one_name_for_all_who_come_later(home: Path) -> None:
    """The holder of the old file has lost its lock, and is told. Later requests must meet in the new file."""
    with vez.connect(f"file://{home}") as client, vez.connect(f"file://{home}") as other:
        old = client.lock("x").acquire()
        file_of(home).unlink()
        with other.lock("x") as new, ThreadPoolExecutor(1) as pool:
            assert (old.lost, new.lost) == (True, False)
            assert pool.submit(client.lock("x").try_acquire).result(60) is None
            assert [holder.token for holder in client.inspect("x").holders] == [new.token]
        with client.lock("x") as later:
            assert later.token > new.token
            assert [holder.token for holder in other.inspect("x").holders] == [later.token]


def test_files_that_are_removed_again_and_again_leave_no_descriptors_behind(home: Path) -> None:
    first = len(os.listdir("/proc/self/fd"))
    with vez.connect(f"file://{home}") as client, ThreadPoolExecutor(4) as pool:

        def turn(_: int) -> None:
            with client.lock("x", timeout=20):
                pass

        for _ in range(100):
            list(pool.map(turn, range(4)))
            file_of(home).unlink(missing_ok=True)
        assert len(os.listdir("/proc/self/fd")) < first + 40
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= first + 8


def test_the_dead_are_not_shown_among_the_bytes_of_one_who_came_alone(home: Path) -> None:
    """A request that finds nobody before it locks all lower bytes too; the slot of a crashed one must not be shown."""
    program = f'import os, vez; g = vez.connect("file://{home}").lock("x").acquire(); os._exit(0)'
    with vez.connect(f"file://{home}") as client, vez.connect(f"file://{home}") as other:
        for _ in range(3):
            with client.lock("x"):
                pass
            subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        with client.lock("x") as grant:
            seen = other.inspect("x")
            assert ([holder.token for holder in seen.holders], seen.queue) == ([grant.token], ())
            assert other.lock("x").try_acquire() is None
            with other.lock("y"):
                pass
        assert other.inspect("x").holders == ()


@pytest.mark.usefixtures("no_polls")
def test_rings_that_nobody_took_do_not_drown_the_next(home: Path) -> None:
    """A turn that is granted without a sleep leaves its ring unread; the kernel keeps only so many of them."""
    with vez.connect(f"file://{home}") as client, vez.connect(f"file://{home}") as other:
        engine = client.engine.core  # type: ignore[attr-defined]
        for _ in range(3):
            number = ear.open().number
            for stale in range(40):
                engine.ringer.ring(number, stale + 1)
            inside, done = threading.Event(), threading.Event()

            def hold(inside: threading.Event = inside, done: threading.Event = done) -> None:
                with other.lock("x"):
                    inside.set()
                    done.wait(60)

            holder = threading.Thread(target=hold)
            holder.start()
            assert inside.wait(60)
            threading.Timer(0.05, done.set).start()
            with client.lock("x", timeout=20):
                assert done.is_set()
            holder.join()


@pytest.mark.usefixtures("no_polls")
def test_no_ring_is_lost_among_many_tasks_of_a_busy_loop(home: Path) -> None:
    """Readers behind a writer are rung one by one, while the loop is blocked and false rings fill its bell."""

    async def run() -> None:
        async with vez.aio.connect(f"file://{home}") as client:
            grants = [await client.lock(f"n{number}").acquire() for number in range(30)]

            async def want(number: int) -> None:
                async with client.lock(f"n{number}", timeout=20):
                    entered.append(number)

            entered: list[int] = []
            tasks = [asyncio.create_task(want(number)) for number in range(30)]
            await eventually_queued(client, *(f"n{number}" for number in range(30)))
            for grant in grants:  # thirty rings before the loop hears the first
                await grant._holding.release()
            await asyncio.gather(*tasks)
            assert sorted(entered) == list(range(30))

    asyncio.run(run())


@pytest.mark.parametrize("moment", [0, 0.005])
def test_no_ring_is_lost_among_processes(home: Path, moment: float) -> None:
    """A value that is being written into the map must never be read half written."""
    program = f"""
import vez
from vez.locks.engines.file import locks
locks.HEAD_POLL = locks.QUEUE_POLL = 3600.0
if {moment} == 0:
    locks.LockTicket.poll = lambda _: False
client = vez.connect("file://{home}")
for _ in range(1500):
    with client.lock("x", timeout=30):
        pass
"""
    workers = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(6)]
    assert [worker.wait(60) for worker in workers] == [0] * 6
