"""Damaged words of a file in use: they are reported, and nothing is granted from them."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import vez
from tests.locks.engines.conftest import Start
from vez.errors import CorruptState, LockTimeout
from vez.locks.engines.file import layout, memos
from vez.locks.engines.file.doorway import doorway as real_doorway
from vez.testing import eventually


def request(client: vez.Client, kind: str) -> Any:
    made = {"lock": client.lock, "semaphore": lambda name: client.semaphore(name, 1), "election": client.election}
    return made[kind]("x")


def damage(home: Path, kind: str, place: int, content: bytes) -> None:
    with (home / f"{kind}.x").open("r+b") as file:
        file.seek(place)
        file.write(content)


def word(number: int) -> bytes:
    return struct.pack("<Q", number)


@pytest.mark.parametrize("kind", ["lock", "semaphore"])
@pytest.mark.parametrize(("place", "above"), [
    (layout.BROKEN_AT, 1), (layout.BROKEN_AT, 5), (layout.REVOKED_AT, 5),
    (layout.REVOKED_AT, 1 << 62),
])  # fmt: skip
def test_tickets_that_nobody_has_broken_are_not_void(
    home: Path, client: vez.Client, kind: str, place: int, above: int
) -> None:
    grant = request(client, kind).acquire()
    damage(home, kind, place, word(grant.token + above))
    with vez.connect(f"file://{home}") as other, ThreadPoolExecutor(1) as pool:
        for one in (client, other):
            with pytest.raises(CorruptState):
                pool.submit(request(one, kind).acquire, 0).result(60)


@pytest.mark.parametrize("kind", ["lock", "semaphore"])
def test_a_waiter_is_not_granted_by_a_damaged_word(home: Path, client: vez.Client, kind: str) -> None:
    grant = request(client, kind).acquire()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(request(client, kind).acquire, 20)
        eventually(lambda: len(client.inspect("x", kind).queue) == 1, "it waits")  # type: ignore[arg-type]
        damage(home, kind, layout.BROKEN_AT, word(grant.token + 1))
        with pytest.raises(CorruptState, match="void"):
            waiting.result(60)


@pytest.mark.parametrize("tail", [layout.FIRST_CAPACITY + 1, 5000, 0xFFFF_FFFF])
def test_a_tail_beyond_the_slots_is_damage(home: Path, client: vez.Client, tail: int) -> None:
    client.lock("x").acquire().release()
    damage(home, "lock", layout.TAIL_AT, struct.pack("<I", tail))
    with pytest.raises(CorruptState, match="slot"):
        client.lock("x").acquire(0)


@pytest.mark.parametrize("ticket", [1 << 61, layout.ALL])
def test_a_ticket_in_the_queue_that_was_not_drawn_is_damage(home: Path, client: vez.Client, ticket: int) -> None:
    grant = client.lock("x").acquire()
    damage(home, "lock", layout.SLOTS_AT, word(ticket))
    with ThreadPoolExecutor(1) as pool, pytest.raises(CorruptState, match="ticket"):
        pool.submit(client.lock("x").acquire, 1).result(60)
    grant.check()


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_process_number_that_nobody_can_have_frees_nothing(home: Path, client: vez.Client, kind: str) -> None:
    """The process id is only shown to users and used to wait for less time; the locked byte decides."""
    grant = request(client, kind).acquire()
    for number in range(4):
        damage(home, kind, layout.SLOTS_AT + number * layout.SLOT_BYTES + 4 * layout.PID_HALF + 3, b"\xff")
    with vez.connect(f"file://{home}") as other, ThreadPoolExecutor(1) as pool:
        for one in (client, other):
            with pytest.raises(LockTimeout):
                pool.submit(request(one, kind).acquire, 0.2).result(60)
            assert [who.token for who in one.inspect("x", kind).holders] == [grant.token]  # type: ignore[arg-type]
    grant.check()


def test_a_damaged_label_does_not_reach_the_terminal(home: Path, client: vez.Client) -> None:
    with client.lock("x", label="nightly é"):
        assert client.inspect("x").holders[0].label == "nightly é"
        damage(home, "lock", layout.SLOTS_AT + layout.SLOT.size - layout.LABEL_BYTES, b"\x1b[2J\n")
        assert client.inspect("x").holders[0].label == "�[2J�ly é"


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_release_does_not_fail_on_a_damaged_number_of_slots(home: Path, client: vez.Client, kind: str) -> None:
    """Earlier, the release raised in the middle: the error of the body was hidden, and the owner kept the holding."""
    lock = request(client, kind)

    def body() -> None:
        with lock:
            damage(home, kind, layout.CAPACITY_AT, struct.pack("<I", 5))
            raise LookupError("of the body")

    with pytest.raises(LookupError):
        body()
    assert not lock.owned
    with pytest.raises(CorruptState):
        lock.acquire(0)
    (home / f"{kind}.x").unlink()
    lock.acquire(0).release()


@pytest.mark.parametrize(("place", "content"), [
    (layout.BROKEN_AT, word(1 << 61)), (layout.REVOKED_AT, word(1 << 61)), (layout.TAIL_AT, word(5000)[:4]),
])  # fmt: skip
@pytest.mark.parametrize("held", [True, False])
def test_what_a_request_refuses_is_not_shown_as_free(
    home: Path, client: vez.Client, held: bool, place: int, content: bytes
) -> None:
    """Earlier, `vez status` showed the name as free, and `vez prune` removed the file."""
    grant = client.lock("x").acquire()
    if not held:
        grant.release()
    damage(home, "lock", place, content)
    with vez.connect(f"file://{home}") as other:
        for one in (client, other):
            with pytest.raises(CorruptState):
                one.inspect("x")
            with ThreadPoolExecutor(1) as pool, pytest.raises(CorruptState):
                pool.submit(one.lock("x").acquire, 1).result(60)
            assert one.prune() == 0
    assert (home / "lock.x").exists()


def test_a_grace_that_nobody_can_have_asked_for_is_damage(home: Path, client: vez.Client, start: Start) -> None:
    """Otherwise `vez break` would wait for up to 49 days."""
    with client.lock("x") as grant:
        damage(home, "lock", layout.SLOTS_AT + 60, struct.pack("<I", 3_600_001))
        process = start("break", "x")
        _, err = process.communicate(timeout=40)
        assert (process.returncode, "grace" in err) == (65, True)
        grant.check()
        assert client.inspect("x").breaks == ()


def test_a_memo_under_the_name_of_another_is_damage(home: Path, client: vez.Client) -> None:
    """Somebody has copied or renamed files by hand: a job must not count as done because another one is."""
    for name in ("x", "y"):
        with client.lock(name) as grant:
            client.engine.write_memo(name, f"the text of {name}", grant.token)
    (home / "memo.lock.x").replace(home / "memo.lock.y")
    with pytest.raises(CorruptState, match="it is the memo of 'x'"):
        client.engine.memo("y")
    assert client.engine.memo("x") is None


def test_a_memo_is_written_inside_the_present_doorway(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of the name is pruned after the writer has opened it: whoever writes next would use another doorway."""
    with client.lock("x") as grant:
        token = grant.token
    entered: list[int] = []

    @contextlib.contextmanager
    def doorway(handle: int, where: str) -> Iterator[None]:
        if not entered:
            (home / "lock.x").unlink()
        with real_doorway(handle, where):
            entered.append(os.fstat(handle).st_ino)
            yield

    monkeypatch.setattr(memos, "doorway", doorway)
    client.engine.write_memo("x", "the text", token)
    assert client.engine.memo("x") == "the text"
    assert entered[1:] == [(home / "lock.x").stat().st_ino]
