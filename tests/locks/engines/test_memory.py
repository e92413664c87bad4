"""The memory engine around its turn table: wake-ups, interrupts, finalisers, graces and the cost of a command."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from types import FrameType
from typing import Any

import pytest

import vez
from vez.locks.engines.base import Request
from vez.locks.engines.memory import MemoryTicket, core, line
from vez.locks.table import Command, Table, machine
from vez.locks.table.machine import Outcome
from vez.testing import eventually
from vez.testing.interrupts import interrupted_at

_spaces = count()


@pytest.fixture
def client() -> Iterator[vez.Client]:
    with vez.connect(f"memory:shell-{next(_spaces)}") as made:
        yield made


def waiting(client: vez.Client, name: str, kind: Any = "lock") -> int:
    return len(client.inspect(name, kind).queue)


def test_a_release_wakes_one_waiter_of_many(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    right = MemoryTicket.wake

    def wake(ticket: MemoryTicket) -> None:
        woken.append(ticket.number)
        right(ticket)

    held = client.lock("x").acquire()
    with ThreadPoolExecutor(20) as pool:
        entered = threading.Semaphore(0)
        leave = threading.Semaphore(0)

        def turn() -> int:
            with client.lock("x") as grant:
                entered.release()
                leave.acquire()
                return grant.token

        turns = [pool.submit(turn) for _ in range(20)]
        eventually(lambda: waiting(client, "x") == 20)
        monkeypatch.setattr(MemoryTicket, "wake", wake)
        held.release()
        assert entered.acquire(timeout=20)
        assert woken == [held.token + 1]
        monkeypatch.undo()
        for _ in turns:
            leave.release()
        assert sorted(one.result(60) for one in turns) == [held.token + 1 + place for place in range(20)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("work", ["release", "break", "transfer"])
def test_an_interrupted_command_strands_nobody_who_waits(client: vez.Client, work: str) -> None:
    """The work is interrupted at every call. Dropped requests are finalised, and the waiter is granted."""
    kind = "election" if work == "transfer" else "lock"

    def asked(label: str) -> Any:
        if kind == "election":
            return client.election("x", label=label, timeout=20, grace=0)
        return client.lock("x", label=label, timeout=20, grace=0)

    def other() -> None:
        with asked("other"):
            pass

    with ThreadPoolExecutor(1) as elsewhere:
        for point in range(2000):
            grant = asked("mine").acquire()
            waits = elsewhere.submit(other)
            eventually(lambda: waiting(client, "x", kind) == 1)

            def command(grant: Any = grant) -> None:
                if work == "release":
                    grant.release()
                elif work == "break":
                    client.break_lock("x", "a test")
                else:
                    grant.transfer("other")

            struck = interrupted_at(point, command)
            del command
            with suppress(vez.OwnershipLost):
                grant.release()
            waits.result(60)
            del grant
            if not struck:
                break
        assert point > 5


def test_a_request_that_is_finalised_in_the_middle_of_a_command_is_not_forgotten(
    client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector may run at any allocation, in the thread that has the mutex."""
    held: list[Any] = [client.lock("x").acquire()]
    right, steps = machine.step, []

    def step(table: Table, command: Command, now_ns: int) -> Outcome:
        outcome = right(table, command, now_ns)
        steps.append(type(command).__name__)
        held.clear()  # the table that was just computed still has it
        return outcome

    monkeypatch.setattr(line, "step", step)
    with ThreadPoolExecutor(1) as elsewhere:
        token = elsewhere.submit(lambda: client.lock("x").acquire().token).result(60)
    assert steps[:3] == ["Enlist", "Leave", "Enlist"]
    assert token == 2
    eventually(lambda: not client.inspect("x").holders)


def test_a_waiter_gets_in_after_the_grace_although_the_breaker_was_interrupted(
    client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    held = client.lock("x", grace=0.2).acquire()
    with ThreadPoolExecutor(1) as elsewhere:
        waits = elsewhere.submit(lambda: client.lock("x").acquire().token)
        eventually(lambda: waiting(client, "x") == 1)
        monkeypatch.setattr(core, "give_grace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            client.break_lock("x", "a test")
        assert held.lost
        assert [holder.lost for holder in client.inspect("x").holders] == [True]
        try:  # its sleep has no end of its own: the alarm has to cut it short
            assert waits.result(20) == held.token + 1
        finally:
            client.close()


def test_a_grant_whose_finaliser_was_interrupted_keeps_nobody_out(
    client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder is not told. The next request notices it, on its arrival and when its turn comes."""
    monkeypatch.setattr(MemoryTicket, "__del__", lambda ticket: None)
    lost = [client.lock("x").acquire(), client.semaphore("s", 2).acquire()]
    lost.clear()
    assert client.lock("x").try_acquire() is not None
    assert len(client.inspect("s", "semaphore").holders) == 1, "a permit is free, so nobody looks"
    with client.semaphore("s", 2):
        permit = client.semaphore("s", 2).try_acquire()
        assert permit is not None
        permit.release()
    assert not client.inspect("s", "semaphore").holders
    engine: Any = client.engine
    held = client.lock("y").acquire()
    dropped = [engine.core.enlist(Request("y"), 0, None, wait=True)]
    dropped.clear()
    assert waiting(client, "y") == 1
    held.release()
    assert (waiting(client, "y"), client.inspect("y").holders) == (0, ())


def counted(work: Callable[[], object]) -> int:
    """Instructions of the interpreter that `work` takes in this thread. Garbage is not collected meanwhile: hypothesis
    has a callback in the collector, whose instructions would count."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        frame.f_trace_opcodes = True
        seen += event == "opcode"
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return seen


def test_what_the_garbage_collector_runs_does_not_count() -> None:
    def called(phase: str, information: dict[str, int]) -> None:
        sum(range(10))

    def work() -> list[list[int]]:
        return [[] for _ in range(1000)]

    before = gc.get_threshold()
    quiet = counted(work)
    gc.callbacks.append(called)
    gc.set_threshold(10)
    try:
        assert counted(work) == quiet
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(called)


def test_a_command_costs_the_same_with_100_000_names(client: vez.Client) -> None:
    """Counted, not timed: a name that was used before, and one that is new."""

    def turn(name: str) -> None:
        with client.lock(name):
            pass

    for name in ("used", "warm"):
        turn(name)
    few = counted(lambda: turn("used")), counted(lambda: turn("new1"))
    engine: Any = client.engine
    for number in range(100_000):
        engine.core.space.line("lock", f"name-{number}")
    assert len(engine.names("name-")) == 100_000
    assert (counted(lambda: turn("used")), counted(lambda: turn("new2"))) == few
    assert few[0] > 100
