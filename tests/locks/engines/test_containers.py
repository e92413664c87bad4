"""Containers that share the directory: each may have a boot identifier, process numbers and a network of its own."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vez
from vez.errors import EngineUnavailable, OwnershipLost
from vez.locks.engines.file import layout
from vez.locks.engines.file.byte_locks import UNLOCK_ALL
from vez.testing import eventually

Container = Callable[..., subprocess.Popen[str]]
OWN_BOOT_ID = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'


@pytest.fixture
def booted(tmp_path: Path) -> Iterator[Container]:
    """Run a program as systemd-nspawn does: with another file in place of the boot identifier."""
    identifier = tmp_path / "boot_id"
    identifier.write_text(f"{uuid.uuid4()}\n")
    begin = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", OWN_BOOT_ID, str(identifier)]
    if subprocess.run([*begin, "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("this machine does not let us make a mount namespace")
    started: list[subprocess.Popen[str]] = []

    def one(program: str) -> subprocess.Popen[str]:
        command = [*begin, sys.executable, "-c", program]
        started.append(subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def boot_id_of(home: Path, name: str) -> bytes:
    return (home / name).read_bytes()[layout.BOOT_AT : layout.BOOT_AT + 16]


@pytest.mark.parametrize("kind", ["lock('x')", "lock('x', shared=True)", "semaphore('x', 1)", "election('x')"])
def test_a_container_with_its_own_boot_id_does_not_get_in_beside_a_holder(
    home: Path, client: vez.Client, booted: Container, kind: str
) -> None:
    made = {"lock": client.lock, "semaphore": lambda name: client.semaphore(name, 1), "election": client.election}
    wanted = kind.replace(", shared=True", "")
    name = kind.partition("(")[0]
    program = f"""
import vez
from vez.locks.engines.file.layout import boot_id
client = vez.connect("file://{home}")
print(boot_id().hex(), client.{wanted}.try_acquire() is None)
grant = client.{wanted}.acquire(20)
print(grant.token)
input()
"""
    shared = kind != wanted
    with client.lock("x", shared=True) if shared else made[name]("x") as grant:
        other = booted(program)
        assert other.stdout is not None
        theirs, refused = other.stdout.readline().split()
        assert bytes.fromhex(theirs) != layout.boot_id()
        assert refused == "True"
        assert not grant.lost
        assert boot_id_of(home, f"{name}.x") == layout.boot_id()
    assert int(other.stdout.readline()) > grant.token
    assert made[name]("x").try_acquire() is None


@pytest.mark.parametrize("content", [None, b"", b"garbage\n", b"\xff\xfe", b"0" * 40])
def test_a_boot_identifier_that_cannot_be_read_is_an_error_of_the_engine(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    found = tmp_path / "boot_id"
    if content is not None:
        found.write_bytes(content)
    with vez.connect(f"file://{home}") as client:
        client.lock("used").acquire().release()
    monkeypatch.setattr(layout, "BOOT_ID", found)
    layout.boot_id.cache_clear()
    with vez.connect(f"file://{home}") as client:
        for name in ("new", "used"):
            with pytest.raises(EngineUnavailable, match="identifier of this boot"):
                client.lock(name).acquire()
    monkeypatch.undo()
    with vez.connect(f"file://{home}") as client:
        client.lock("new").acquire().release()


def test_tokens_grow_when_containers_of_two_boot_ids_take_turns(home: Path, booted: Container) -> None:
    program = f"""
import vez
while True:
    input()
    with vez.connect("file://{home}") as client, client.lock("x", timeout=20) as grant:
        print(grant.token, flush=True)
"""
    other = booted(program)
    assert other.stdin is not None
    assert other.stdout is not None
    tokens = []
    for _ in range(5):
        with vez.connect(f"file://{home}") as client, client.lock("x", timeout=20) as grant:
            tokens.append(grant.token)
        other.stdin.write("\n")
        other.stdin.flush()
        tokens.append(int(other.stdout.readline()))
    assert tokens == sorted(set(tokens))


def test_a_reset_leaves_the_slot_of_one_who_is_releasing(home: Path, client: vez.Client, booted: Container) -> None:
    """A releasing holder unlocks its byte first and frees its slot last. If the slot belonged to another by then, that
    one would vanish."""
    grant = client.lock("x").acquire()
    number = grant._holding.number  # type: ignore[attr-defined]
    file = client.engine.core.file("lock", "x")  # type: ignore[attr-defined]
    file.map[layout.SLOTS_AT + number * layout.SLOT_BYTES + layout.STATE_IN_SLOT] = layout.LEAVING
    fcntl.fcntl(grant._holding.handle, fcntl.F_OFD_SETLK, UNLOCK_ALL)  # type: ignore[attr-defined]
    other = booted(f"import vez; grant = vez.connect('file://{home}').lock('x').acquire(20); print(1); input()")
    assert other.stdout is not None
    assert other.stdout.readline() == "1\n"
    with pytest.raises(OwnershipLost):
        grant.release()  # it continues, and frees its slot
    eventually(lambda: len(client.inspect("x").holders) == 1, "the other is seen")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_reset_that_was_cut_short_leaves_a_file_that_others_can_use(home: Path, moment: str) -> None:
    """A process with another boot identifier is killed in its reset, when more tickets are reserved already; one with
    the identifier of the file does not reset it."""
    with vez.connect(f"file://{home}") as client, client.lock("x") as grant:
        pass
    program = f"""
import os, signal, vez
import vez.locks.engines.file.ticket_file as ticket_file
ticket_file.boot_id = lambda: bytes(16)
real = os.fsync
def fsync(descriptor):
    if "{moment}" == "after":
        real(descriptor)
    os.kill(os.getpid(), signal.SIGKILL)
os.fsync = fsync
vez.connect("file://{home}").lock("x").acquire()
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == -signal.SIGKILL
    assert boot_id_of(home, "lock.x") == layout.boot_id()
    with vez.connect(f"file://{home}") as client, client.lock("x", timeout=5) as later:
        assert later.token > grant.token


def test_a_reset_that_could_not_be_made_durable_leaves_a_file_that_others_can_use(home: Path) -> None:
    with vez.connect(f"file://{home}") as client, client.lock("x") as grant:
        pass
    program = f"""
import errno, os, vez
import vez.locks.engines.file.ticket_file as ticket_file
ticket_file.boot_id = lambda: bytes(16)
def fsync(descriptor):
    raise OSError(errno.EIO, "Input/output error")
os.fsync = fsync
try:
    vez.connect("file://{home}").lock("x").acquire()
except vez.EngineUnavailable as error:
    print("durable" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr
    with vez.connect(f"file://{home}") as client, client.lock("x", timeout=5) as later:
        assert later.token > grant.token


def in_another_network(program: str) -> list[str]:
    """The command for a Python program in a network namespace of its own."""
    begin = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*begin, "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("this machine does not let us make a network namespace")
    return [*begin, sys.executable, "-c", program]


@pytest.mark.parametrize("kind", ["lock('x')", "semaphore('x', 1)", "election('x')"])
def test_turns_are_handed_over_between_networks_without_a_bell(home: Path, client: vez.Client, kind: str) -> None:
    """The usual polls are switched off. A waiter that cannot be woken must poll by itself, soon."""
    program = f"""
import sys, vez
from vez.locks.engines.file import candidates, locks, permits
for module in (candidates, locks, permits):
    module.HEAD_POLL = 1000.0
locks.QUEUE_POLL, locks._POLLS = 1000.0, 1
client = vez.connect("file://{home}")
print("ready", flush=True)
for _ in range(5):
    input()
    with client.{kind} as grant:
        print(grant.token, flush=True)
"""
    made = {"lock": client.lock, "semaphore": lambda name: client.semaphore(name, 1), "election": client.election}
    name = kind.partition("(")[0]
    with subprocess.Popen(
        in_another_network(program), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        tokens = []
        for _ in range(5):
            with made[name]("x") as grant:
                other.stdin.write("\n")
                other.stdin.flush()
                eventually(lambda: len(client.inspect("x", name).queue) == 1, "it waits")  # type: ignore[arg-type]
                tokens.append(grant.token)
            tokens.append(int(other.stdout.readline()))
        assert tokens == sorted(set(tokens))


def test_a_task_in_another_network_knows_of_a_break_before_another_is_granted(home: Path, client: vez.Client) -> None:
    program = f"""
import asyncio, vez.aio
async def main():
    async with vez.aio.connect("file://{home}") as client:
        try:
            async with client.lock("x"):
                print("held", flush=True)
                await asyncio.sleep(60)
        except vez.OwnershipLost:
            print("lost", flush=True)
            await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen(in_another_network(program), text=True, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert client.break_lock("x", "a test") is not None
        assert client.inspect("x").holders == ()  # it has released by itself, within its grace
        assert other.stdout.readline() == "lost\n"
        other.kill()
