"""What a turn of `file:` checks at its end, however short it was, and the slot that it uses."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vez
from vez.errors import CorruptState, OwnershipLost
from vez.locks.engines.base import Request
from vez.locks.engines.file import ticket
from vez.locks.engines.file.byte_locks import UNLOCK_ALL
from vez.locks.engines.file.core import FileCore
from vez.locks.engines.file.layout import CAPACITY_AT, COUNTER_AT, REVOKED_AT, TAIL_HALF, size_of
from vez.locks.engines.file.mapped_file import POOL
from vez.locks.engines.file.ticket_file import TicketFile
from vez.locks.engines.owners import here
from vez.locks.engines.wording import FORKED
from vez.locks.table.places import mean_with

if TYPE_CHECKING:
    from vez.locks.engines.file.core import Contender

_owners = count(1 << 42)


class Clock:
    """The time that tickets read. It stands still unless it is set."""

    def __init__(self) -> None:
        self.now = 2e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(ticket, "time", made)
    return made


@pytest.fixture
def core(client: vez.Client) -> FileCore:
    with client.lock("x"):
        pass
    found = client.engine.core  # type: ignore[attr-defined]
    assert isinstance(found, FileCore)
    return found


@pytest.fixture
def file(core: FileCore) -> TicketFile:
    return core.file("lock", "x")


def enlisted(core: FileCore, label: str = "") -> Contender:
    """A request of an owner of its own."""
    made = core.enlist(Request("x", label=label), next(_owners), None, wait=True)
    assert made is not None
    return made


def entered(client: vez.Client) -> vez.Lock:
    """A lock that this thread holds, as inside `with`."""
    lock = client.lock("x")
    lock.acquire()
    return lock


@contextmanager
def closing_descriptor(descriptor: int | None) -> Iterator[int]:
    assert descriptor is not None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def replace(home: Path) -> None:
    """Put another file in the place of the name's."""
    (home / "copy").write_bytes((home / "lock.x").read_bytes())
    (home / "copy").chmod(0o600)
    (home / "copy").rename(home / "lock.x")


def test_the_mean_of_stays_is_that_of_the_turn_table(client: vez.Client, clock: Clock) -> None:
    mean = None
    for stay in (2.0, 0.5, 0.0, 7.0):
        with client.lock("y"):
            clock.now += stay
        mean = mean_with(mean, stay)
        assert client.inspect("y").mean_hold_seconds == pytest.approx(mean)


@pytest.mark.parametrize("stay", [-1.0, 100_000.0], ids=["clock set back", "clock set forward"])
def test_a_stay_that_cannot_be_does_not_change_the_mean(client: vez.Client, clock: Clock, stay: float) -> None:
    for passed in (2.0, stay):
        with client.lock("y"):
            clock.now += passed
    assert client.inspect("y").mean_hold_seconds == 2.0


def test_a_waiter_that_gives_up_is_no_stay(client: vez.Client, core: FileCore, clock: Clock) -> None:
    before = client.inspect("x").mean_hold_seconds
    holder, waiter = enlisted(core), enlisted(core)
    clock.now += 5.0
    waiter.release()
    assert client.inspect("x").mean_hold_seconds == before
    holder.release()


@pytest.mark.parametrize("stay", [0.0, 100e-6, 1.0, -1.0])
def test_a_broken_holder_is_told_after_any_stay(client: vez.Client, clock: Clock, stay: float) -> None:
    lock = entered(client)
    client.break_lock("x", "test")
    clock.now += stay
    with pytest.raises(OwnershipLost, match="broken by force"):
        lock.__exit__(None, None, None)


@pytest.mark.parametrize("stay", [100e-6, 1.0, -1.0])
def test_a_holder_of_another_file_is_told_after_any_stay_in_which_it_can_matter(
    home: Path, client: vez.Client, clock: Clock, stay: float
) -> None:
    lock = entered(client)
    replace(home)
    clock.now += stay
    with pytest.raises(OwnershipLost, match="another file"):
        lock.__exit__(None, None, None)


@pytest.mark.parametrize("stay", [1.0, -1.0])
def test_a_holder_whose_byte_was_unlocked_is_told(client: vez.Client, clock: Clock, stay: float) -> None:
    lock = client.lock("x")
    with closing_descriptor(lock.acquire().lifeline()) as copy:
        fcntl.fcntl(copy, fcntl.F_OFD_SETLK, UNLOCK_ALL)
    clock.now += stay
    with pytest.raises(OwnershipLost, match="unlocked"):
        lock.__exit__(None, None, None)


@pytest.mark.usefixtures("clock")
def test_a_release_does_not_touch_a_truncated_map(home: Path, client: vez.Client) -> None:
    """It would be killed by SIGBUS."""
    with pytest.raises(OwnershipLost, match="truncated"), client.lock("x"):
        os.truncate(home / "lock.x", 0)


def test_a_second_release_gives_up_nothing(client: vez.Client, core: FileCore) -> None:
    first = enlisted(core)
    first.release()
    with client.lock("x") as grant:
        first.release()
        assert grant.token == client.inspect("x").holders[0].token
        assert client.lock("x").try_acquire() is None


def test_a_release_leaves_no_entry_of_its_owner(client: vez.Client) -> None:
    with client.lock("x"):
        assert len(here.owner.entries) == 1
    assert here.owner.entries == []


def test_an_owner_that_nobody_stands_for_can_ask(client: vez.Client) -> None:
    holding = client.engine.acquire(Request("x"), next(_owners), None)
    assert [who.token for who in client.inspect("x").holders] == [holding.token]
    holding.release()
    assert client.inspect("x").holders == ()


def test_only_some_idle_descriptors_are_kept(core: FileCore, file: TicketFile) -> None:
    for one in [enlisted(core) for _ in range(POOL + 3)]:
        one.release()
    assert len(file.pool) == POOL
    last = enlisted(core)
    file.close()  # as when many other names are used
    last.release()
    assert file.pool == []


def test_a_forked_child_releases_nothing_of_its_parent(client: vez.Client, core: FileCore) -> None:
    held, left = enlisted(core), enlisted(core)
    left.release()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            left.release()
            held.release()
            os._exit(0 if (left.lost, held.lost) == (None, FORKED) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert [who.token for who in client.inspect("x").holders] == [held.token]
    held.release()


# The slot of the tail


def test_a_request_that_finds_the_queue_empty_uses_the_slot_of_the_tail(core: FileCore, file: TicketFile) -> None:
    holder, waiter = enlisted(core), enlisted(core)
    assert (holder.number, waiter.number, file.halves[TAIL_HALF]) == (0, 1, 2)
    waiter.release()
    again = enlisted(core)
    assert not again.inside, "the tail has left, and the holder has not"
    assert (again.number, file.halves[TAIL_HALF]) == (1, 2)
    assert [who.token for who in core.inspect("x").queue] == [again.token]
    holder.release()
    assert again.granted()
    third = enlisted(core)
    assert (third.number, file.halves[TAIL_HALF]) == (0, 1)
    again.release()
    assert third.granted()
    third.release()


def test_a_slot_says_what_its_own_request_asked_for(client: vez.Client, core: FileCore) -> None:
    """Half of a slot is kept for the next request, which may ask for something else."""
    for label, shared in (("one", True), ("two", True), ("two", False), ("one", False)):
        with client.lock("x", label=label, shared=shared):
            holder = client.inspect("x").holders[0]
            assert (holder.label, holder.shared, holder.pid) == (label, shared, os.getpid())
            waiting = enlisted(core, label="w")
            assert [who.label for who in client.inspect("x").queue] == ["w"]
            waiting.release()


# The file to which the name leads


@pytest.mark.parametrize("passed", [0.5, -3600.0], ids=["later", "clock set back"])
def test_a_request_does_not_rely_on_an_old_check_of_the_name(
    home: Path, client: vez.Client, clock: Clock, passed: float
) -> None:
    with client.lock("x"):
        pass
    (home / "lock.x").rename(home / "moved")  # it keeps its link, so only its name tells
    clock.now += passed
    with client.lock("x"):
        assert (home / "lock.x").exists()


# The head of the file


def damage(at: int, change: Callable[[int], int], size: int = 8) -> Callable[[TicketFile], None]:
    def write(file: TicketFile) -> None:
        value = change(int.from_bytes(file.map[at : at + size], "little"))
        file.map[at : at + size] = value.to_bytes(size, "little")

    return write


@pytest.mark.parametrize(
    "spoil",
    [damage(0, lambda _: 7), damage(REVOKED_AT, lambda _: 0), damage(REVOKED_AT, lambda old: old + (1 << 40))],
    ids=["magic", "revoked below broken", "revoked above the next ticket"],
)
def test_a_damaged_head_grants_nothing(
    client: vez.Client, file: TicketFile, spoil: Callable[[TicketFile], None]
) -> None:
    spoil(file)
    with pytest.raises(CorruptState):
        client.lock("x").acquire()


def test_a_counter_whose_writer_died_is_replaced(client: vez.Client, file: TicketFile) -> None:
    before = client.inspect("x").last_token
    file.map[COUNTER_AT : COUNTER_AT + 8] = (before + 2).to_bytes(8, "little")  # and not its complement
    with client.lock("x") as grant:
        assert grant.token > before + 2


def test_a_file_that_has_grown_is_mapped_again(home: Path, client: vez.Client, file: TicketFile) -> None:
    capacity = file.capacity * 2
    os.truncate(home / "lock.x", size_of(capacity))
    file.map[CAPACITY_AT : CAPACITY_AT + 4] = capacity.to_bytes(4, "little")
    with client.lock("x"):
        assert file.capacity == capacity
