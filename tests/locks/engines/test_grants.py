"""Holdings with threads, forks and interrupts: permits of one owner, grants that were dropped, closed clients."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import vez
from tests.processes import is_alive
from vez import aio
from vez.errors import AlreadyHeld, CorruptState, Misuse, OwnershipLost
from vez.locks.engines.file.candidates import Candidate
from vez.locks.engines.memory import MemoryTicket
from vez.locks.engines.owners import REMEMBERED
from vez.testing import eventually

_spaces = count()


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/turns" if request.param == "file" else f"memory:grants-{next(_spaces)}"


def test_one_owner_holds_two_permits_through_one_object(url: str) -> None:
    with vez.connect(url) as client:
        permits = client.semaphore("s", 2)

        def inside() -> int:
            return len(client.inspect("s", "semaphore").holders)

        with permits:
            with permits as second:
                assert inside() == 2
                with pytest.raises(AlreadyHeld):
                    permits.acquire()
            assert second.released
            assert inside() == 1
        assert inside() == 0
        first, second = permits.acquire(), permits.acquire()
        first.release()
        permits.release()
        assert second.released
        with pytest.raises(Misuse):
            permits.release()


def test_one_task_holds_two_permits_through_one_object(url: str) -> None:
    async def run() -> list[int]:
        async with aio.connect(url) as client:
            permits, seen = client.semaphore("s", 2), []

            async def look() -> None:
                seen.append(len((await client.inspect("s", "semaphore")).holders))

            async with permits:
                async with permits:
                    await look()
                await look()
            await look()
            return seen

    assert asyncio.run(run()) == [2, 1, 0]


def test_many_threads_share_one_object(url: str) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with vez.connect(url) as client:
            shared, start = client.read_lock("shared", timeout=30), threading.Barrier(48)

            def work(_: int) -> None:
                start.wait(60)
                for _ in range(10):
                    with shared as grant:
                        assert not grant.lost

            with ThreadPoolExecutor(48) as pool:
                list(pool.map(work, range(48)))
            assert client.inspect("shared").holders == ()
    finally:
        sys.setswitchinterval(before)


def test_an_object_does_not_remember_all_threads_that_ever_used_it(url: str) -> None:
    with vez.connect(url) as client:
        lock = client.lock("many")

        def work() -> None:
            lock.acquire(20).release()  # directly: the lock object does not know of it

        for _ in range(100):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        assert len(lock._grants) <= REMEMBERED + 1
        with lock as grant:
            assert not grant.lost
            with pytest.raises(AlreadyHeld):
                lock.acquire()
        with pytest.raises(Misuse):
            lock.release()


def test_a_client_is_closed_while_threads_come_and_go(url: str) -> None:
    """Two threads release the same holding. Neither may fail, or unlock a lock that a third thread has acquired
    meanwhile."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    failures: list[BaseException] = []
    try:
        for _ in range(40):
            client = vez.connect(url)

            def work(client: vez.Client = client) -> None:
                try:
                    while True:
                        with client.lock("busy", timeout=20):
                            pass
                except vez.EngineUnavailable:
                    return
                except BaseException as error:
                    failures.append(error)

            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            client.close()
            for thread in threads:
                thread.join(30)
            assert not any(thread.is_alive() for thread in threads)
    finally:
        sys.setswitchinterval(before)
    assert failures == []
    with vez.connect(url) as other:
        assert other.inspect("busy").holders == other.inspect("busy").queue == ()


def test_a_grant_that_nobody_keeps_is_let_go(url: str) -> None:
    with vez.connect(url) as client, vez.connect(url) as other:
        token = client.lock("d").acquire().token
        gc.collect()
        with other.lock("d", timeout=5) as grant:
            assert grant.token > token

    async def run() -> None:
        async with aio.connect(url) as client, aio.connect(url) as other:
            token = await asyncio.create_task(_drop(client))
            gc.collect()
            async with other.lock("d", timeout=5) as grant:
                assert grant.token > token

    async def _drop(client: aio.Client) -> int:
        return (await client.lock("d").acquire()).token

    asyncio.run(run())


def test_looking_at_damaged_files_opens_nothing_for_good(tmp_path: Path) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client, client.lock("x"):
        pass
    os.truncate(tmp_path / "turns" / "lock.x", 100)
    with vez.connect(f"file://{tmp_path}/turns") as client:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            with pytest.raises(CorruptState):
                client.inspect("x")
        assert len(os.listdir("/proc/self/fd")) <= before  # fewer, if the collector closed what other tests left


def test_a_pipe_in_the_place_of_the_records_is_refused(tmp_path: Path) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client, client.lock("x"):
        os.mkfifo(tmp_path / "turns" / "breaks.jsonl")
        for look in (lambda: client.inspect("x"), lambda: client.break_lock("x", "a test")):
            with pytest.raises(vez.VezError, match=r"breaks\.jsonl"):
                look()


@pytest.mark.parametrize("url", ["file://[::1", "file:///tmp/%00x", f"file:///tmp/{'a' * 300}"])
def test_odd_urls(url: str) -> None:
    with pytest.raises(vez.VezError) as refused:
        vez.connect(url)
    assert refused.value.hint


RUN = [sys.executable, "-m", "vez", "run", "x"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "VEZ_URL": f"file://{tmp_path}/turns"}


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_a_command_runs_though_nobody_hears_what_is_said(
    tmp_path: Path, environment: dict[str, str], stderr: str
) -> None:
    command = ["sh", "-c", f'exec "$@" {stderr}', "sh", *RUN, "--", "touch", str(tmp_path / "ran")]
    with vez.connect(environment["VEZ_URL"]) as client:
        grant = client.lock("x").acquire()
        process = subprocess.Popen(command, env=environment)
        eventually(lambda: len(client.inspect("x").queue) == 1, "a waiter")
        grant.release()
        assert process.wait(60) == 0
    assert (tmp_path / "ran").exists()


def test_a_killed_run_takes_along_the_runs_within_it(environment: dict[str, str]) -> None:
    inner = [sys.executable, "-m", "vez", "run", "inner", "--kill-after", "60", "--"]
    command = [*RUN, "--kill-after", "60", "--", *inner, "sh", "-c", "sleep 1000 & echo $!; wait"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    left = int(process.stdout.readline())
    with vez.connect(environment["VEZ_URL"]) as client:
        process.kill()
        process.wait(60)
        for name in ("x", "inner"):
            client.lock(name).acquire(20).release()
    assert not is_alive(left)
    process.stdout.close()


def test_a_child_forked_while_other_threads_come_and_go_can_take_turns(tmp_path: Path) -> None:
    program = f"""
import os, sys, threading, vez
sys.setswitchinterval(1e-5)
client = vez.connect("file://{tmp_path}/turns")
done = threading.Event()
def busy():
    while not done.is_set():
        with client.lock("y"): pass
threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        with client.lock("x", timeout=20), client.lock("y", timeout=20):
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
done.set()
for thread in threads: thread.join(60)
with client.lock("y", timeout=20): print("fine")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=90)
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_many_who_hold_through_one_object_do_not_disturb_those_who_come_and_go(url: str) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with vez.connect(url) as client:
            permits, stay, ready = client.semaphore("s", 100, timeout=30), threading.Event(), threading.Barrier(37)

            def hold(_: int) -> None:
                grant = permits.acquire()
                ready.wait(30)
                stay.wait(30)
                grant.release()

            def come_and_go() -> int:
                ready.wait(30)
                for _ in range(300):
                    with permits as grant:
                        assert not grant.lost
                return 300

            with ThreadPoolExecutor(40) as pool:
                holders = [pool.submit(hold, number) for number in range(33)]
                others = [pool.submit(come_and_go) for _ in range(4)]
                try:
                    assert sum(other.result(60) for other in others) == 1200
                finally:
                    stay.set()
                for holder in holders:
                    holder.result(30)
            assert client.inspect("s", "semaphore").holders == ()
    finally:
        sys.setswitchinterval(before)


def test_it_can_be_asked_whether_it_is_lost_while_the_client_is_closed(url: str) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as pool:
            for _ in range(60):
                client = vez.connect(url)
                grant = client.lock("asked").acquire()

                def ask(grant: vez.Grant = grant) -> None:
                    with contextlib.suppress(OwnershipLost):
                        while not grant.lost:
                            grant.check()
                    assert not grant.lost

                asking = pool.submit(ask)
                client.close()
                asking.result(30)
    finally:
        sys.setswitchinterval(before)


def test_a_grant_finalised_while_a_file_is_opened_does_not_stop_one_who_leaves(tmp_path: Path) -> None:
    """With two locks it would, in opposite orders: here the garbage collector runs at the worst point."""
    program = f"""
import gc, os, threading, vez
from vez.locks.engines import handles
gc.disable()
client = vez.connect("file://{tmp_path}/turns")
class Ring: pass
ring = Ring(); ring.me = ring; ring.grant = client.semaphore("s", 20).acquire()
many = [client.semaphore("s", 20).acquire() for _ in range(6)]
opening, leaving, plain_open, plain_close = threading.Event(), threading.Event(), os.open, handles.close_handle
def slow_open(*args, **options):
    if threading.current_thread().name == "opener":
        opening.set(); leaving.wait(1); gc.collect()
    return plain_open(*args, **options)
def telling_close(descriptor):
    leaving.set()
    return plain_close(descriptor)
os.open, handles.close_handle = slow_open, telling_close
del ring
def opener(): client.lock("new").acquire().release()
def leaver():
    opening.wait(5)
    for grant in many: grant.release()
threads = [threading.Thread(target=work, name=work.__name__, daemon=True) for work in (opener, leaver)]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
print([thread.name for thread in threads if thread.is_alive()])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_threads_of_a_forked_child_use_the_client_at_once(tmp_path: Path) -> None:
    program = f"""
import os, sys, threading, vez
sys.setswitchinterval(1e-5)
client = vez.connect("file://{tmp_path}/turns")
for name in "abc":
    with client.lock(name): pass
reading, writing = os.pipe()
for _ in range(20):
    child = os.fork()
    if child == 0:
        start = threading.Barrier(4)
        def work(name):
            start.wait()
            try:
                for _ in range(5):
                    with client.lock(name, timeout=20): pass
            except BaseException as error:
                os.write(writing, repr(error).encode() + b"\\n")
        threads = [threading.Thread(target=work, args=(name,)) for name in "abca"]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os._exit(0)
    os.waitpid(child, 0)
os.close(writing)
print(os.fdopen(reading).read())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_a_candidate_that_waits_does_not_look_again_and_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    for kind in (MemoryTicket, Candidate):
        plain = kind.granted

        def counting(self: Any, plain: Any = plain) -> bool:
            nonlocal looks
            looks += 1
            return bool(plain(self))

        monkeypatch.setattr(kind, "granted", counting)
    with vez.connect(url) as client:
        leader = client.election("office", label="first").acquire()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.election("office", label="second").acquire, 20)
            eventually(lambda: len(client.inspect("office", "election").queue) == 1)
            time.sleep(0.3)  # a candidate that waits looks rarely: that is counted
            seen = looks
            leader.resign()
            waiting.result(60).resign()
    assert seen < 30


def test_a_broken_holder_has_its_grace_before_another_is_in(url: str) -> None:
    with vez.connect(url) as client, ThreadPoolExecutor(2) as pool:
        grant = client.lock("graced", grace=30).acquire()
        breaking = pool.submit(client.break_lock, "graced", "a test")
        following = pool.submit(client.lock("graced").acquire, 20)
        eventually(lambda: grant.lost)
        time.sleep(0.1)  # nothing happens in the grace
        assert not following.done()
        assert not breaking.done()
        with pytest.raises(OwnershipLost):
            grant.release()
        assert breaking.result(60) is not None
        assert following.result(60).token > grant.token


def test_transfer_by_one_who_leads_no_longer(url: str) -> None:
    with vez.connect(url) as client:
        leadership = client.election("e", label="a").acquire()
        leadership.resign()
        with pytest.raises(Misuse, match="'e'"):
            leadership.transfer("b")


def test_labels_reasons_and_kinds_are_checked(url: str) -> None:
    with vez.connect(url) as client:
        for label in ("x" * 49, "é" * 25, 5):
            with pytest.raises(Misuse, match="48 bytes"):
                client.election("e", label=label)  # type: ignore[arg-type]
        held = client.lock("b").acquire()
        for reason in ("x" * 1001, 5):
            with pytest.raises(Misuse, match="1000 characters"):
                client.break_lock("b", reason)  # type: ignore[arg-type]
        assert client.inspect("b").breaks == ()
        record = client.break_lock("b", "caf\udce9 \x1b[31m")
        assert record is not None
        assert record.reason == "caf? ?[31m"
        assert held.lost
        assert [one.reason for one in client.inspect("b").breaks] == ["caf? ?[31m"]
        with pytest.raises(Misuse, match="nonsense"):
            client.inspect("b", "nonsense")  # type: ignore[arg-type]


def test_looking_at_a_name_does_not_make_it_known(url: str) -> None:
    with vez.connect(url) as client:
        assert client.inspect("never").last_token == 0
        assert client.locks() == []


def test_clients_that_nobody_closes_leave_no_descriptors(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    async def turn(url: str) -> None:
        async with aio.connect(url).lock("a"):
            pass

    for number in range(10):
        with vez.connect(f"file://{tmp_path}/turns").lock(f"n{number}"):
            pass
        asyncio.run(turn(f"file://{tmp_path}/turns"))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 8


def test_the_default_client_of_each_event_loop_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEZ_URL", f"file://{tmp_path}/turns")
    before = len(os.listdir("/proc/self/fd"))

    async def turn() -> None:
        async with aio.lock("a"):
            pass

    for _ in range(20):
        asyncio.run(turn())
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 10
