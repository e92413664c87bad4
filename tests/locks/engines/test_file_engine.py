"""The state of the file engine on disk: durable tokens, refused directories, damage that is reported."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import vez
from tests.expectations import expect_no_error
from vez.errors import CorruptState, EngineUnavailable, Misuse, OwnershipLost, UnknownName
from vez.locks.engines.file import layout
from vez.locks.engines.file.directory import NETWORK_FILE_SYSTEMS, refuse_network
from vez.testing import eventually


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "turns"


def file_of(home: Path, name: str = "x") -> Path:
    return home / f"lock.{name}"


def token_of(home: Path) -> int:
    with vez.connect(f"file://{home}") as client, client.lock("x") as grant:
        return grant.token


def test_the_url_is_chosen_in_order(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("VEZ_URL", "memory:chosen")
    assert vez.connect().url == "memory:chosen"
    assert vez.connect(f"file://{home}").url == f"file://{home}"
    monkeypatch.delenv("VEZ_URL")
    monkeypatch.setenv("VEZ_DIR", str(home))
    assert vez.connect().url == f"file://{home}"
    assert home.is_dir()


@pytest.mark.parametrize(("url", "error"), [
    ("nightly", Misuse), ("flie:///x", UnknownName), ("file://host/x", Misuse), ("file:///x?lease=3", Misuse),
])  # fmt: skip
def test_wrong_urls_are_refused(url: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        vez.connect(url)


def test_the_directory_is_private(home: Path) -> None:
    vez.connect(f"file://{home}").close()
    assert home.stat().st_mode & 0o777 == 0o700
    home.chmod(0o750)
    with pytest.raises(EngineUnavailable, match="0750"):
        vez.connect(f"file://{home}")


def test_a_symbolic_link_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    home.symlink_to(tmp_path / "real")
    with pytest.raises(EngineUnavailable, match="symbolic link"):
        vez.connect(f"file://{home}")


def test_a_symbolic_link_in_place_of_a_lock_is_refused(home: Path, tmp_path: Path) -> None:
    token_of(home)
    file_of(home).rename(tmp_path / "moved")
    file_of(home).symlink_to(tmp_path / "moved")
    with pytest.raises(EngineUnavailable):
        token_of(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(home: Path) -> None:
    home.mkdir(mode=0o700)
    os.chown(home, 12345, 12345)
    with pytest.raises(EngineUnavailable, match="12345"):
        vez.connect(f"file://{home}")


@pytest.mark.parametrize(("magic", "name"), sorted(NETWORK_FILE_SYSTEMS.items()))
def test_network_file_systems_are_refused(magic: int, name: str) -> None:
    with pytest.raises(EngineUnavailable, match=name):
        refuse_network(magic, Path("/net"))


def test_a_mounted_file_system_of_somebody_else_is_refused(foreign: Path) -> None:
    with pytest.raises(EngineUnavailable, match="is on FUSE"):
        vez.connect(f"file://{foreign}/turns")
    assert [entry.name for entry in foreign.iterdir()] in ([], ["turns"])
    assert not list((foreign / "turns").iterdir())


@pytest.mark.parametrize("magic", [0xEF53, 0x01021994, 0x58465342, 0x9123683E, 0x794C7630, 0x2FC12FC1])
def test_local_file_systems_are_not(magic: int) -> None:
    with expect_no_error("a local file system is refused"):
        refuse_network(magic, Path("/here"))


def test_tokens_survive_a_reboot_with_stale_pages(home: Path) -> None:
    """After a power loss the counter on disk may be old; only the durable record counts."""
    first = token_of(home)
    with file_of(home).open("r+b") as file:
        file.seek(layout.COUNTER_AT)
        file.write(layout.COUNTER.pack(first - 5, (first - 5) ^ layout.ALL))  # as if never written back
        file.seek(layout.BOOT_AT)
        file.write(bytes(16))
    assert token_of(home) >= first + layout.RANGE - 5


def test_tokens_go_on_when_the_clock_does_not(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = token_of(home)
    with file_of(home).open("r+b") as file:
        file.seek(layout.BOOT_AT)
        file.write(bytes(16))
    monkeypatch.setattr("time.time", lambda: layout.EPOCH + 1.0)
    assert token_of(home) > first


def test_a_removed_file_does_not_repeat_tokens(home: Path) -> None:
    with vez.connect(f"file://{home}") as client:
        grant = client.lock("x").acquire()
        first = grant.token
        file_of(home).unlink()
        assert grant.lost
        with pytest.raises(OwnershipLost, match="removed"):
            grant.release()
        with client.lock("x") as grant:
            assert grant.token > first
            assert file_of(home).exists()


def test_a_range_is_reserved_before_it_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.locks.engines.file.ticket_file.RANGE", 4)
    monkeypatch.setattr("vez.locks.engines.file.layout.RANGE", 4)
    with vez.connect(f"file://{home}") as client:
        for _ in range(20):
            with client.lock("x") as grant:
                reserved, _ = layout.read_durable(file_of(home).read_bytes()[: layout.SLOTS_AT], "here")
                assert grant.token < reserved


def test_a_counter_torn_by_a_crash_jumps_ahead(home: Path) -> None:
    first = token_of(home)
    with file_of(home).open("r+b") as file:
        file.seek(layout.COUNTER_AT)
        file.write((first - 100).to_bytes(8, "little"))  # without its complement
    assert token_of(home) > first


def test_one_whole_durable_record_is_enough_and_none_is_damage(home: Path) -> None:
    token_of(home)
    for place in layout.DURABLE_AT:
        with file_of(home).open("r+b") as file:
            file.seek(place)
            file.write(b"\xff" * 8)
        if place == layout.DURABLE_AT[0]:
            token_of(home)
    with pytest.raises(CorruptState, match="durable"):
        token_of(home)


@pytest.mark.parametrize(("place", "content", "complaint"), [
    (0, b"GARBAGE!", "begins with"), (layout.IDENTITY_AT + 12, b"other", "not the file of"),
    (layout.CAPACITY_AT, b"\xff\xff\xff\xff", "slots"), (layout.BROKEN_AT, b"\xff" * 8, "void"),
])  # fmt: skip
def test_damage_is_reported_and_nothing_is_granted(home: Path, place: int, content: bytes, complaint: str) -> None:
    token_of(home)
    with file_of(home).open("r+b") as file:
        file.seek(place)
        file.write(content)
    with pytest.raises(CorruptState, match=complaint):
        token_of(home)


@pytest.mark.parametrize("size", [0, 100, 4096, 5000])
def test_truncation_is_reported(home: Path, size: int) -> None:
    token_of(home)
    os.truncate(file_of(home), size)
    with pytest.raises(CorruptState, match="damaged"):
        token_of(home)


def test_truncation_in_use_is_reported_and_nobody_is_killed(home: Path) -> None:
    """A mapped file that shrinks would end the process with SIGBUS."""
    program = f"""
import os, vez
client = vez.connect("file://{home}")
grant = client.lock("x").acquire()
os.truncate("{file_of(home)}", 0)
assert grant.lost
try:
    grant.release()
except vez.OwnershipLost:
    print("lost")
try:
    client.lock("x").acquire()
except vez.CorruptState:
    print("reported")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "lost\nreported\n"


def test_a_file_that_grows_beside_a_look_is_not_taken_for_truncated(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other threads enlarge and map the file while its size is being read."""
    with vez.connect(f"file://{home}") as client, vez.connect(f"file://{home}") as other:
        grant = client.lock("x").acquire()
        assert len(other.inspect("x").holders) == 1
        waiting = [
            threading.Thread(target=lambda: other.lock("x").acquire().release()) for _ in range(layout.FIRST_CAPACITY)
        ]
        seek = os.lseek

        def grow_then_answer(handle: int, position: int, whence: int) -> int:
            size = seek(handle, position, whence)
            monkeypatch.undo()
            for thread in waiting:
                thread.start()
            eventually(lambda: len(client.inspect("x").queue) == len(waiting), "all waiting")
            assert file_of(home).stat().st_size > size
            return size

        monkeypatch.setattr(os, "lseek", grow_then_answer)
        try:
            assert len(other.inspect("x").queue) == len(waiting)
        finally:
            grant.release()
            for thread in waiting:
                thread.join(60)


def test_more_waiters_than_slots_make_the_file_grow(home: Path) -> None:
    count = layout.FIRST_CAPACITY * 2 + 5
    with vez.connect(f"file://{home}") as client, vez.connect(f"file://{home}") as other:
        grant = client.lock("x").acquire()
        tokens: list[int] = []

        def want() -> None:
            with other.lock("x") as mine:
                tokens.append(mine.token)

        threads = [threading.Thread(target=want) for _ in range(count)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(client.inspect("x").queue) == count, "all waiting")
        grant.release()
        for thread in threads:
            thread.join(60)
        assert len(tokens) == count
        assert tokens == sorted(tokens)
        assert client.inspect("x").queue == ()


def test_slots_of_the_dead_are_used_again(home: Path) -> None:
    program = f"""
import os, vez
grants = [vez.connect("file://{home}").lock("x", shared=True).acquire() for _ in range({layout.FIRST_CAPACITY - 1})]
os._exit(0)
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert token_of(home) > 0
    assert file_of(home).stat().st_size == layout.size_of(layout.FIRST_CAPACITY)


def test_a_dead_holder_is_dead_although_its_pid_is_used_again(home: Path) -> None:
    """A process id is used again, and after a restart by any process. Only the lock counts, which the kernel ends with
    the process."""
    program = f'import os, vez; grant = vez.connect("file://{home}").lock("x").acquire(); os._exit(0)'
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    with file_of(home).open("r+b") as file:
        raw = bytearray(file.read())
        held = [
            at
            for at in range(layout.SLOTS_AT, len(raw), layout.SLOT_BYTES)
            if raw[at + layout.STATE_IN_SLOT] == layout.HELD
        ]
        assert len(held) == 1
        file.seek(held[0] + 4 * layout.PID_HALF)
        file.write(os.getpid().to_bytes(4, "little"))
    with vez.connect(f"file://{home}") as client:
        assert client.inspect("x").holders == ()
        assert client.lock("x").try_acquire() is not None


def test_an_unreleased_grant_that_nobody_knows_is_freed(home: Path) -> None:
    with vez.connect(f"file://{home}") as client:
        client.lock("x").acquire()
        assert client.lock("x").try_acquire() is not None


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_descriptors_do_not_pile_up(home: Path, few_descriptors: None) -> None:
    first = len(os.listdir("/proc/self/fd"))
    with vez.connect(f"file://{home}") as client:
        for number in range(300):
            with client.lock(f"n{number}"):
                pass
        assert len(os.listdir("/proc/self/fd")) < first + 150
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with vez.connect(f"file://{home}") as client, client.lock("x"):
            pass
    assert len(os.listdir("/proc/self/fd")) <= before  # fewer, if the collector closed what other tests left


def test_vez_lock_uses_the_default_engine(home: Path) -> None:
    program = "import vez\nwith vez.lock('nightly') as grant:\n    print(grant.token)"
    environment = {**os.environ, "VEZ_DIR": str(home), "VEZ_URL": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert int(done.stdout) > 0
    assert file_of(home, "nightly").exists()


def test_a_forked_child_waits_with_ears_of_its_own_and_harms_no_other_descriptor(home: Path) -> None:
    """A child closes the descriptors of its parent; collecting the objects there must not close a reused number."""
    program = f"""
import gc, os, threading, vez

def contend(client):
    grant = client.lock("x").acquire()
    got = []
    thread = threading.Thread(target=lambda: got.append(client.lock("x").acquire(10)))
    thread.start()
    while not client.inspect("x").queue:
        pass
    late = threading.Timer(0.05, grant.release)
    late.start()
    thread.join()
    late.join()
    got[0].release()
    other = vez.connect("file://{home}")
    hold = other.lock("y").acquire()
    threading.Timer(0.05, hold.release).start()
    mine = []
    waiter = threading.Thread(target=lambda: mine.append(client.lock("y").acquire(10)))
    waiter.start(); waiter.join()
    mine[0].release()
    a = client.lock("z").acquire()
    try:
        client.lock("z2").acquire(0).release()
    finally:
        a.release()

client = vez.connect("file://{home}")
contend(client)
held = client.lock("main").acquire()
try:
    vez.connect("file://{home}").lock("main").acquire(0.01)  # this thread gets ears
except vez.VezError:
    pass
child = os.fork()
if child == 0:
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(40)]
    try:
        vez.connect("file://{home}").lock("main").acquire(0.05)
    except vez.LockTimeout:
        pass
    gc.collect()
    for file in files:
        os.fstat(file)
    contend(client)
    for file in files:
        os.fstat(file)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
held.check()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("7\n", "")
