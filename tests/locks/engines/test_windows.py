"""Each window in which a process can die or be stopped, on files."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Any

import pytest

import vez
import vez.aio
from tests.processes import stop_outside_of_the_doorway
from vez.errors import AlreadyHeld, CorruptState, EngineUnavailable, LockTimeout, Misuse
from vez.locks.engines.base import Request
from vez.locks.engines.file import candidates, doorway, layout, leadership
from vez.locks.engines.file.core import FileCore
from vez.locks.engines.file.place import Place
from vez.testing import eventually

_owners = count(1 << 40)

Candidate = Callable[[str], subprocess.Popen[str]]
STORES = 6
"""Stores of an inauguration: counter, time, no leader, term, leader, state."""


@pytest.fixture
def stand(home: Path) -> Iterator[Candidate]:
    started: list[subprocess.Popen[str]] = []

    def one(label: str) -> subprocess.Popen[str]:
        program = f"""
import vez
client = vez.connect("file://{home}")
while True:
    try:
        with client.election("e", label="{label}") as leadership:
            print(leadership.term, flush=True)
            input()
    except vez.OwnershipLost:
        print("lost", flush=True)
"""
        arguments = [sys.executable, "-c", program]
        started.append(subprocess.Popen(arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def queued(client: vez.Client) -> list[str]:
    return [who.label for who in client.inspect("e", "election").queue]


def leader(client: vez.Client) -> str | None:
    found = client.inspect("e", "election").holders
    return found[0].label if found else None


class Killed(BaseException):
    """Stands for a kill: nothing is stored after it, and the descriptor is closed."""


@pytest.mark.parametrize("stores", range(STORES))
def test_an_elector_that_dies_at_any_store_does_not_hang_the_election(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch, stores: int
) -> None:
    engine = FileCore(Place(home))
    first = client.election("e", label="first").acquire()
    second = engine.enlist(Request("e", "election", label="second"), next(_owners), None, wait=True)
    assert isinstance(second, candidates.Candidate)
    first.resign()
    left, plain = iter(range(stores)), layout.store

    def store(shared: mmap, at: int, packed: bytes) -> None:
        if next(left, None) is None:
            raise Killed
        plain(shared, at, packed)

    with monkeypatch.context() as patch:
        patch.setattr(leadership, "store", store)
        with pytest.raises(Killed):
            engine.watch_election(Request("e", "election", label="elector"), None)

    def elected() -> bool:
        second.listen(0.01)
        return second.granted()

    eventually(elected, "the second leads")
    assert second.token > first.term
    third = engine.enlist(Request("e", "election", weight=9, label="third"), next(_owners), None, wait=True)
    assert third is not None
    assert not third.granted()
    assert second.why_lost() is None
    assert (leader(client), queued(client)) == ("second", ["third"])
    second.release()
    third.listen(0.01)
    eventually(third.granted, "the third leads")
    third.release()
    engine.close()


def test_a_candidate_elected_while_paused_and_deposed_is_told_and_can_stand_again(
    client: vez.Client, stand: Candidate, home: Path
) -> None:
    with client.election("e", label="first"):
        paused = stand("paused")
        eventually(lambda: queued(client) == ["paused"], "a candidate")
        stop_outside_of_the_doorway(paused, home / "election.e")
    assert next(client.election("e").observe()) is not None  # whoever looks elects
    assert leader(client) == "paused"
    assert client.break_lock("e", "it is paused", "election") is not None
    with client.election("e", label="other", timeout=10) as other:
        paused.send_signal(signal.SIGCONT)
        assert paused.stdout is not None
        assert paused.stdout.readline() == "lost\n"
        eventually(lambda: queued(client) == ["paused"], "a candidate again")
    assert int(paused.stdout.readline()) > other.term


def test_an_election_shows_terms_and_a_healthy_leader_is_not_lost(client: vez.Client, home: Path) -> None:
    engine = FileCore(Place(home))
    first = client.election("e", label="first").acquire()
    waiting = engine.enlist(Request("e", "election", label="second"), next(_owners), None, wait=True)
    assert waiting is not None
    assert [who.token for who in client.inspect("e", "election").holders] == [first.term]
    assert client.break_lock("e", "for the test", "election") is not None
    assert first.lost
    assert waiting.granted()
    (who,) = client.inspect("e", "election").holders
    assert (who.label, who.token, who.lost) == ("second", waiting.token, False)
    with pytest.raises(vez.OwnershipLost, match="force"):
        first.release()
    waiting.release()
    engine.close()


def test_a_thread_is_not_taken_for_one_that_ended(client: vez.Client) -> None:
    lock = client.lock("x")
    grants: list[vez.Grant] = []
    idents: list[int] = []
    errors: list[type[vez.VezError]] = []

    def first() -> None:
        idents.append(threading.get_ident())
        grants.append(lock.acquire())

    def second() -> None:
        idents.append(threading.get_ident())
        for ask in (lambda: lock.acquire(0), lock.release):
            try:
                ask()
            except vez.VezError as error:
                errors.append(type(error))

    _run(first)
    while idents.count(idents[0]) < 2 and len(idents) < 200:  # the system gives the number away again, soon
        errors.clear()
        _run(second)
    assert errors == [LockTimeout, Misuse]
    assert not grants[0].lost
    grants[0].release()


def _run(body: Callable[[], None]) -> None:
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


@pytest.mark.parametrize("kind", ["lock('x')", "semaphore('x', 2)", "election('x')"])
def test_a_file_truncated_under_a_waiter_is_reported_and_does_not_kill_it(
    home: Path, client: vez.Client, kind: str
) -> None:
    program = f"""
import vez
client = vez.connect("file://{home}")
try:
    client.{kind}.acquire()
except vez.CorruptState:
    print("reported")
"""
    name = kind.partition("(")[0]
    makers: dict[str, Callable[[str], Any]] = {"lock": client.lock, "election": client.election}
    held = (
        [client.semaphore("x", 2).acquire(), _in_thread(client.semaphore("x", 2).acquire)]
        if name == "semaphore"
        else [makers[name]("x").acquire()]
    )
    waiter = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    eventually(lambda: len(client.inspect("x", name).queue) == 1, "it waits")  # type: ignore[arg-type]
    os.truncate(home / f"{name}.x", 0)
    out, _ = waiter.communicate(timeout=90)
    assert (waiter.returncode, out) == (0, "reported\n")
    for grant in held:
        assert grant.lost
        with pytest.raises(vez.OwnershipLost, match="truncated"):
            grant.release()


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_file_truncated_before_a_waiter_sleeps_is_reported(home: Path, kind: str) -> None:
    """The waiter has its ticket, and looks for its predecessors. Touching the map would be SIGBUS."""
    program = f"""
import os, pathlib
from vez.locks.engines.base import Request
from vez.locks.engines.file.core import FileCore
from vez.locks.engines.file.place import Place
from vez.errors import CorruptState
core = FileCore(Place(pathlib.Path("{home}")))
holder, waiter = (core.enlist(Request("x", "{kind}"), owner, None, wait=True) for owner in (1, 2))
os.truncate("{home}/{kind}.x", 0)
try:
    waiter.listen(0.01)
except CorruptState:
    print("reported")
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=90)
    assert (done.returncode, done.stdout) == (0, "reported\n")


def _in_thread(ask: Callable[[], vez.Grant]) -> vez.Grant:
    found: list[vez.Grant] = []
    thread = threading.Thread(target=lambda: found.append(ask()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def blocked(home: Path, client: vez.Client) -> Iterator[Callable[[str], int]]:
    """A process that was stopped in the doorway of a file."""
    taken: list[int] = []

    def one(name: str) -> int:
        taken.append(os.open(home / name, os.O_RDWR | os.O_CREAT, 0o600))
        fcntl.flock(taken[-1], fcntl.LOCK_EX)
        return taken[-1]

    yield one
    for handle in taken:
        os.close(handle)


def test_a_break_does_not_wait_for_ever_for_one_who_is_paused_in_the_doorway(
    client: vez.Client, blocked: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = client.lock("x").acquire()
    blocked("lock.x")
    monkeypatch.setattr(doorway.doorway.__wrapped__, "__defaults__", (0.05,))  # type: ignore[attr-defined]
    with pytest.raises(EngineUnavailable, match="stopped while it was in the doorway"):
        client.break_lock("x", "why")
    assert not grant.lost
    assert client.inspect("x").breaks == ()
    grant.release()


def test_a_break_names_a_reader_that_has_not_noticed_its_turn(client: vez.Client, home: Path) -> None:
    """It waits before a reader that is inside, so it loses its turn with it, and is told so."""
    program = f"""
import vez
try:
    vez.connect("file://{home}").read_lock("x").acquire()
except vez.OwnershipLost as error:
    print(error)
"""
    writer = client.lock("x").acquire()
    with subprocess.Popen([sys.executable, "-c", program], text=True, stdout=subprocess.PIPE) as reader:
        try:
            eventually(lambda: bool(client.inspect("x").queue), "it waits")
            stop_outside_of_the_doorway(reader, home / "lock.x")
            writer.release()
            inside = client.read_lock("x").acquire()
            record = client.break_lock("x", "why")
            reader.send_signal(signal.SIGCONT)
            told, _ = reader.communicate(timeout=60)
        finally:
            reader.kill()
    with pytest.raises(vez.OwnershipLost):
        inside.release()
    assert record is not None
    missed, taken = record.tokens
    assert taken == inside.token
    assert f"(token {missed}) came and was broken by force before it was taken" in told
    assert [one.tokens for one in client.inspect("x").breaks] == [record.tokens]


def test_one_who_is_paused_while_looking_for_cycles_does_not_lengthen_a_timeout(
    client: vez.Client, blocked: Callable[[str], int]
) -> None:
    handle = blocked(".deadlocks")
    held, other = client.lock("held").acquire(), _in_thread(client.lock("x").acquire)
    with pytest.raises(LockTimeout):
        client.lock("x", timeout=0.05).acquire()

    async def task() -> None:
        async with vez.aio.connect(client.url) as tasks, tasks.lock("mine"):
            with pytest.raises(LockTimeout):
                await tasks.lock("x", timeout=0.05).acquire()

    asyncio.run(task())
    refused: list[str] = []

    def ask(name: str) -> None:
        try:
            client.lock(name, timeout=10).acquire().release()
        except vez.Deadlock:
            refused.append(name)

    def crosswise() -> None:
        with client.lock("second"):
            ask("held")

    waiter = threading.Thread(target=crosswise)
    waiter.start()
    eventually(lambda: len(client.inspect("held").queue) == 1, "it waits for what is held")
    threading.Timer(0.05, fcntl.flock, [handle, fcntl.LOCK_UN]).start()
    ask("second")  # the cycle is found as soon as it can be looked for, and one of the two is refused
    held.release()
    waiter.join(10)
    other.release()
    assert len(refused) == 1


def test_an_observing_task_does_not_stop_its_loop_for_a_busy_doorway(
    client: vez.Client, blocked: Callable[[str], int]
) -> None:
    client.election("e").acquire().resign()
    handle = blocked("election.e")

    async def task() -> object:
        async with vez.aio.connect(client.url) as tasks:
            asyncio.get_running_loop().call_later(0.05, fcntl.flock, handle, fcntl.LOCK_UN)
            return await anext(tasks.election("e").observe())

    assert asyncio.run(asyncio.wait_for(task(), 10)) is None


def test_a_semaphore_of_hundreds(home: Path) -> None:
    """The file grows four times. The kernel asks each lock for each, so a thousand would take ten times as long."""
    engine, many = FileCore(Place(home)), 8 * layout.FIRST_CAPACITY + 1
    request = Request("x", "semaphore", limit=many)
    held = [engine.enlist(request, next(_owners), None, wait=False) for _ in range(many)]
    assert all(holding is not None and holding.granted() for holding in held)
    assert engine.enlist(request, next(_owners), None, wait=False) is None
    for holding in held:
        assert holding is not None
        holding.release()
    engine.close()


@pytest.mark.parametrize("jump", [-3 * layout.RANGE, 3 * layout.RANGE, 1 << 63])
def test_a_counter_outside_its_range_is_damage(home: Path, client: vez.Client, jump: int) -> None:
    client.lock("x").acquire().release()
    with (home / "lock.x").open("r+b") as file:
        file.seek(layout.COUNTER_AT)
        wrong = int.from_bytes(file.read(8), "little") + jump
        file.seek(layout.COUNTER_AT)
        file.write(layout.COUNTER.pack(wrong, wrong ^ layout.ALL))
        file.seek(layout.BROKEN_AT)
        file.write(layout.BROKEN.pack(0))
    for ask in (lambda: client.lock("x").acquire(0), lambda: client.inspect("x")):
        with pytest.raises(CorruptState, match="next ticket"):
            ask()


def test_a_break_that_cannot_be_recorded_breaks_nothing(home: Path, client: vez.Client) -> None:
    (home / "breaks.jsonl").symlink_to("/dev/null")
    with client.lock("x") as grant:
        with pytest.raises(EngineUnavailable, match="nothing was broken"):
            client.break_lock("x", "why")
        assert not grant.lost


def test_errors_have_one_base_class(home: Path, client: vez.Client) -> None:
    with pytest.raises(Misuse, match="timeout"):
        client.lock("x", timeout="5")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="several names"), client.lock_all("abc"):
        pass
    assert client.break_lock("never", "why") is None
    assert client.locks() == []
    client.election("e").acquire().resign()
    (home / "election.e").unlink()
    assert next(client.election("e").observe()) is None
    client.close()
    with pytest.raises(EngineUnavailable, match="closed"):
        client.locks()


def test_an_observer_follows_a_file_that_was_removed(home: Path, client: vez.Client) -> None:
    client.election("e").acquire().resign()
    seen = client.election("e").observe(10)
    assert next(seen) is None
    (home / "election.e").unlink()
    with vez.connect(client.url) as other, other.election("e") as leadership:
        found = next(seen)
        assert found is not None
        assert found.term == leadership.term


def test_trying_for_what_one_holds_is_no_error(client: vez.Client) -> None:
    with client.lock("x"):
        assert client.lock("x").try_acquire() is None
        with pytest.raises(AlreadyHeld):
            client.lock("x").acquire()
