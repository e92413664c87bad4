"""A holder proves by itself that it still holds: its byte is locked, and the name still leads to its file."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import vez
import vez.aio
from tests.expectations import eventually_queued
from vez.errors import OwnershipLost
from vez.locks.engines.file.byte_locks import UNLOCK_ALL
from vez.testing import eventually


def rename_the_directory(home: Path) -> None:
    home.rename(home.with_name("elsewhere"))


def rename_the_file(home: Path) -> None:
    (home / "lock.x").rename(home / "moved")


def leave_a_hard_link(home: Path) -> None:
    os.link(home / "lock.x", home / "link")
    (home / "lock.x").unlink()


def replace_the_file(home: Path) -> None:
    (home / "copy").write_bytes((home / "lock.x").read_bytes())
    (home / "copy").chmod(0o600)
    (home / "copy").rename(home / "lock.x")


def remove_the_directory(home: Path) -> None:
    shutil.rmtree(home)


WAYS = [rename_the_directory, rename_the_file, leave_a_hard_link, replace_the_file, remove_the_directory]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@each_way
def test_a_holder_whose_file_is_not_the_names_any_more_has_lost_it(
    home: Path, client: vez.Client, way: Callable[[Path], None]
) -> None:
    grant = client.lock("x").acquire()
    assert not grant.lost
    way(home)
    with vez.connect(f"file://{home}") as other, other.lock("x", timeout=0) as second:
        assert (grant.lost, second.lost) == (True, False)
    with pytest.raises(OwnershipLost, match=r"leads to another|removed"):
        grant.release()


@each_way
def test_leaving_the_block_tells_it(home: Path, client: vez.Client, way: Callable[[Path], None]) -> None:
    with pytest.raises(OwnershipLost), client.lock("x"):
        way(home)


@each_way
@pytest.mark.parametrize("quiet", [0.0, 0.05])
def test_an_open_client_and_a_new_one_exclude_each_other_afterwards(
    home: Path, client: vez.Client, way: Callable[[Path], None], quiet: float
) -> None:
    """A client notices at once after a moment without turns, and otherwise after some milliseconds."""
    client.lock("x").acquire().release()
    way(home)

    def excluded() -> bool:
        with vez.connect(f"file://{home}") as other, other.lock("x"), ThreadPoolExecutor(1) as pool:
            return pool.submit(client.lock("x").try_acquire).result(60) is None

    if quiet:
        time.sleep(quiet)  # the moment without turns
        assert excluded()
    else:
        eventually(excluded, "it has noticed")


def test_an_open_client_recovers_when_a_removed_directory_is_made_again(home: Path, client: vez.Client) -> None:
    with client.lock("x") as before:
        pass
    shutil.rmtree(home)
    home.mkdir(mode=0o700)
    with client.lock("other", timeout=0):
        pass
    time.sleep(0.05)  # after a moment without turns a client looks at the directory again
    with client.lock("x", timeout=0) as after:
        assert after.token > before.token
        assert [who.token for who in vez.connect(f"file://{home}").inspect("x").holders] == [after.token]
    assert client.locks() == ["other", "x"]


def test_inspections_and_breaks_follow_the_name(home: Path, client: vez.Client) -> None:
    client.lock("x").acquire().release()
    rename_the_directory(home)
    with vez.connect(f"file://{home}") as other, other.lock("x") as grant:
        assert [who.token for who in client.inspect("x").holders] == [grant.token]
        assert client.break_lock("x", "a test") is not None
        assert grant.lost
        with pytest.raises(OwnershipLost):
            grant.release()


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_waiter_moves_to_the_file_to_which_the_name_leads(home: Path, client: vez.Client, kind: Any) -> None:
    """The old holder never releases. A waiter behind it must not wait for it, nor be granted in a file that nobody else
    uses."""

    def request(of: vez.Client) -> vez.Lock:
        if kind == "semaphore":
            return of.semaphore("x", 1, timeout=20)
        return of.election("x", timeout=20) if kind == "election" else of.lock("x", timeout=20)

    old = request(client).acquire()
    with ThreadPoolExecutor(1) as pool, vez.connect(f"file://{home}") as waits:
        waiting = pool.submit(lambda: request(waits).acquire())
        eventually(lambda: len(client.inspect("x", kind).queue) == 1, "it waits")
        rename_the_directory(home)
        grant = waiting.result(60)
        with vez.connect(f"file://{home}") as other:
            assert [who.token for who in other.inspect("x", kind).holders] == [grant.token]
            grant.release()
    assert old.lost


def test_a_waiting_task_moves_too(home: Path) -> None:
    async def run() -> None:
        async with vez.aio.connect(f"file://{home}") as one, vez.aio.connect(f"file://{home}") as two:
            old = await one.lock("x").acquire()

            async def wait() -> vez.aio.Grant:
                return await two.lock("x").acquire()

            waiting = asyncio.create_task(wait())
            await eventually_queued(one, "x")
            rename_the_directory(home)
            grant = await asyncio.wait_for(waiting, 20)
            assert not grant.lost
            assert old.lost

    asyncio.run(run())


def test_a_holder_whose_byte_was_unlocked_has_lost_it(client: vez.Client) -> None:
    """A copy of the descriptor can do that: a child of C code that forked without Python's hooks has one."""
    grant = client.lock("x").acquire()
    fcntl.fcntl(grant._holding.handle, fcntl.F_OFD_SETLK, UNLOCK_ALL)  # type: ignore[attr-defined]
    with vez.connect(client.url) as other, ThreadPoolExecutor(1) as pool:
        second = pool.submit(other.lock("x").acquire, 0).result(60)
        assert grant.lost
        assert not second.lost
        pool.submit(second.release).result(60)
    with pytest.raises(OwnershipLost, match="unlocked"):
        grant.release()


def test_shared_holders_and_ranges_are_proved_too(client: vez.Client) -> None:
    with vez.connect(client.url) as other, client.lock("x", shared=True) as one:
        two = other.lock("x", shared=True)
        with ThreadPoolExecutor(1) as pool:
            second = pool.submit(two.acquire).result(60)
            assert not one.lost
            assert not second.lost
            pool.submit(second.release).result(60)
        assert not one.lost
    with client.semaphore("s", 3) as permit, client.election("e") as leadership, client.lock("x") as grant:
        assert not permit.lost
        assert not leadership.lost
        assert not grant.lost


def test_a_mount_over_the_directory_is_a_loss(home: Path, tmp_path: Path) -> None:
    program = f"""
import subprocess, vez
client = vez.connect("file://{home}")
grant = client.lock("x").acquire()
print(grant.lost)
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700", "none", "{home}"], check=True)
print(grant.lost)
print(vez.connect("file://{home}").lock("x").try_acquire() is not None)
"""
    command = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-c", program]
    if subprocess.run([*command[:4], "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("this machine does not let us make a mount namespace")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split()[:3] == ["False", "True", "True"], done.stderr
