"""Few descriptors, datagrams of strangers, and clocks that jump."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import vez
from vez.locks.engines.file.bell import Bell, the_ringer

FILL = """
files = []
try:
    while True:
        files.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
"""
"""Lines of a program that takes all descriptors that are left."""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_few_descriptors_are_enough_for_many_names(home: Path) -> None:
    """Earlier, two dozen names were too many for a process that may open 64 files, and it did not recover."""
    program = f"""
import resource, threading, vez
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
client = vez.connect("file://{home}")
for number in range(200):
    with client.lock(f"n{{number}}"):
        pass
for kind in (client.election, lambda name: client.semaphore(name, 2)):
    for number in range(60):
        with kind(f"m{{number}}"):
            pass
held = [client.lock(f"h{{number}}").acquire() for number in range(12)]
def want(number):
    with client.lock(f"h{{number}}"):
        pass
threads = [threading.Thread(target=want, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for grant in held:
    grant.release()
for thread in threads:
    thread.join()
print(len(client.locks()))
"""
    assert run(program) == "212\n"


def test_the_limit_itself_is_an_error_of_the_engine_and_passes(home: Path) -> None:
    program = f"""
import asyncio, os, resource, threading, vez, vez.aio
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
client = vez.connect("file://{home}")
held = []
try:
    for number in range(100):
        held.append(client.lock(f"n{{number}}").acquire())
except vez.EngineUnavailable as error:
    print("ulimit" in error.hint, error.definite)
print(len(held) > 10, all(not grant.lost for grant in held))
for grant in held:
    grant.release()
client.lock("after").acquire().release()
{FILL}
def wait():
    try:
        client.lock("after").acquire(5)
    except vez.VezError as error:
        print(type(error).__name__)
grant = client.lock("after").acquire()
thread = threading.Thread(target=wait)
thread.start()
thread.join()
while files:
    os.close(files.pop())
grant.release()
"""
    assert run(program) == "True True\nTrue True\nEngineUnavailable\n"


@pytest.mark.parametrize("free", range(5))
def test_a_wait_with_few_descriptors_left_ends_by_itself(home: Path, free: int) -> None:
    """Earlier, with three left, the file that was just opened was closed to make room, and opened again, for ever."""
    program = f"""
import faulthandler, os, resource, threading, vez
faulthandler.dump_traceback_later(30, exit=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
grant = vez.connect("file://{home}").lock("x").acquire()
client = vez.connect("file://{home}")
{FILL}
for _ in range({free}):
    os.close(files.pop())
def wait():
    try:
        client.lock("x").acquire(0.2)
    except (vez.EngineUnavailable, vez.LockTimeout):
        print("ended")
thread = threading.Thread(target=wait)
thread.start()
thread.join()
grant.release()
"""
    assert run(program) == "ended\n"


@pytest.mark.parametrize("free", range(4))
def test_a_client_that_cannot_open_enough_is_refused(home: Path, free: int) -> None:
    """Earlier, the socket that wakes waiters was not refused, and an `OSError` reached the caller."""
    program = f"""
import os, resource, vez, vez.locks.engines.file.core, vez.locks.engines.file.upgrade
vez.EngineUnavailable, vez.connect("memory:").close()  # all that is imported late
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
{FILL}
for _ in range({free}):
    os.close(files.pop())
try:
    with vez.connect("file://{home}"):
        print("open")
except vez.EngineUnavailable as error:
    print("ulimit" in error.hint)
os.close(files.pop())
os.close(files.pop())
vez.connect("file://{home}").close()
"""
    assert run(program) == ("True\n" if free < 2 else "open\n")


@pytest.mark.parametrize("most", range(7, 19))
def test_run_with_few_descriptors_is_no_bug_of_ours(home: Path, most: int) -> None:
    words = [sys.executable, "-m", "vez", "run", "--url", f"file://{home}", "x", "--", "true"]
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (0, 69, 126), done.stderr
    assert (done.returncode == 0) == ("ulimit" not in done.stderr)


def test_strangers_neither_ring_nor_fill_a_bell() -> None:
    """Every process sees the address; only participants can read the secret."""
    bell = Bell()
    try:
        address = bell.socket.getsockname()
        assert bell.number not in address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            stranger.setblocking(False)
            for text in (b"", b"x", bytes(8), bytes(16), address[5:] + bytes(12)) * 50:
                stranger.sendto(text, address)
        assert bell.heard() == []
        the_ringer().ring(bell.number, 7)
        assert bell.heard() == [7]
    finally:
        bell.close()


def test_rings_are_read_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.locks.engines.file.bell._MOST_AT_ONCE", 3)
    bell = Bell()
    try:
        for ticket in range(1, 6):
            the_ringer().ring(bell.number, ticket)
        assert [bell.heard(), bell.heard(), bell.heard()] == [[1, 2, 3], [4, 5], []]
    finally:
        bell.close()


def test_a_clock_that_jumps_does_not_spoil_the_estimate_of_the_wait(home: Path) -> None:
    """The mean of the stays is kept in the file; one stay of ten years would count for a hundred turns."""
    program = f"""
import threading, time, vez
from vez.locks.engines.file import ticket, waiter
jump = 0.0
ticket.time = lambda: time.time() + jump
client = vez.connect("file://{home}")
for _ in range(5):
    with client.lock("x"):
        time.sleep(0.01)
for years in (-10, 10):
    with client.lock("x"):
        jump += years * 365 * 86400
places = []
def wait():
    with vez.connect("file://{home}") as other, other.lock("x", on_wait=places.append):
        pass
with client.lock("x"):
    thread = threading.Thread(target=wait)
    thread.start()
    while not places:
        time.sleep(0.001)
thread.join()
estimate = places[0].estimated_seconds
print(estimate is None or estimate < 60, estimate)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("True"), done.stdout + done.stderr


def test_a_search_for_cycles_without_descriptors_names_the_limit(home: Path) -> None:
    """Earlier, the error advised to remove a file that all processes use for the search."""
    program = f"""
import os, resource, threading, vez
client = vez.connect("file://{home}")
held, over = threading.Event(), threading.Event()
def other():
    with client.lock("y"):
        held.set()
        over.wait()
threading.Thread(target=other).start()
held.wait()
try:
    client.lock("y").acquire(0.2)  # this thread can wait from now on
except vez.LockTimeout:
    pass
grant = client.lock("x").acquire()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
{FILL}
try:
    client.lock("y").acquire(5)
except vez.EngineUnavailable as error:
    print("raise the limit of open files" in str(error))
over.set()
"""
    assert run(program) == "True\n"


UNLOADABLE = """
import os, sys, vez
with vez.lock("free"):
    pass
sys.path[:] = []  # as after a change of the root directory: no module can be loaded any more
sys.path_importer_cache.clear()
for package in [name for name in sys.modules if name.startswith("vez")]:
    getattr(sys.modules[package], "__path__", []).clear()
"""
"""Lines of a program that has taken a turn and can load nothing more."""


def test_a_wait_for_which_nothing_can_be_loaded_leaves_nothing_behind(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEZ_DIR", str(home))
    program = f"""
{UNLOADABLE}
with vez.lock("free"):  # a turn at once needs nothing
    pass
try:
    vez.lock("x").acquire(30)
except vez.EngineUnavailable as error:
    print(error.hint)
"""
    with client.lock("x"):
        assert "call vez.connect() before" in run(program)
        assert not client.inspect("x").queue


def test_a_client_loads_all_that_its_waits_need(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEZ_DIR", str(home))
    program = f"""
import vez
client = vez.connect()
{UNLOADABLE}
try:
    client.lock("x").acquire(0.2)
except vez.LockTimeout:
    print("in time")
print(client.break_lock("x", "a test").reason, client.inspect("x").holders[0].lost)
with client.semaphore("s", 2), client.election("e"):
    print("all kinds")
"""
    grant = client.lock("x").acquire()
    assert run(program) == "in time\na test True\nall kinds\n"
    assert grant.lost
