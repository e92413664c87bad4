"""The contract among real processes that are killed, paused, interrupted and forked."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vez.locks.engines.base import Kind
from vez.locks.turns.client import Client, connect
from vez.testing.actors import eventually
from vez.testing.conformance_base import Base, needs
from vez.testing.workers import PATIENCE, Worker

Hire = Callable[[], Worker]


def wait_in_queue(client: Client, worker: Worker, name: str = "x", kind: Kind = "lock") -> None:
    """Wait until the worker is in the queue."""
    eventually(lambda: any(who.pid == worker.pid for who in client.inspect(name, kind).queue), "queueing")


@needs("token", "queue_visible")
class ProcessConformance(Base):
    """Crash, pause, interrupt, fork, exec; for engines that processes share."""

    @pytest.fixture
    def hire(self, url: str) -> Iterator[Hire]:
        """Starts workers, and ends them."""
        hired: list[Worker] = []

        def one() -> Worker:
            hired.append(Worker(url))
            return hired[-1]

        yield one
        for worker in hired:
            worker.close()

    @pytest.fixture
    def client(self, url: str) -> Iterator[Client]:
        """A client of the test itself."""
        with connect(url) as made:
            yield made

    def test_processes_exclude_each_other(self, hire: Hire, client: Client, tmp_path: Path) -> None:
        shared = tmp_path / "counter"
        shared.write_text("")
        workers = [hire() for _ in range(4)]
        times = 25 if client.engine.traits.reaches == "network" else 200  # a turn on a server waits for its disk
        for worker in workers:
            worker.tell("hammer", "x", shared, times)
        assert [worker.hear(3 * PATIENCE) for worker in workers] == ["hammered"] * 4
        assert shared.read_text() == str(4 * times)

    @needs(frees="kernel")
    def test_killed_holder_gives_way_at_once(self, hire: Hire, client: Client) -> None:
        """The contract says 100 ms. This is measured over several rounds; one slow round is allowed."""
        delays = []
        for _ in range(5):
            holder = hire()
            token = holder.acquire()
            waiter = hire()
            waiter.tell("acquire", "x")
            wait_in_queue(client, waiter)
            killed = holder.kill()
            assert int(waiter.hear().split()[1]) > token
            delays.append(time.monotonic() - killed)
            waiter.close()
        assert sorted(delays)[1] < 0.1, delays

    @pytest.mark.parametrize("options", [("limit=1",), ("weight=0",), ("timeout=15",)])
    def test_killed_holder_of_any_kind(self, hire: Hire, client: Client, options: tuple[str, ...]) -> None:
        kinds: dict[str, Kind] = {"limit=1": "semaphore", "weight=0": "election"}
        kind = kinds.get(options[0], "lock")
        holder, waiter = hire(), hire()
        token = holder.acquire("x", *options)
        waiter.tell("acquire", "x", *options)
        wait_in_queue(client, waiter, "x", kind)
        holder.kill()
        assert int(waiter.hear().split()[1]) > token

    def test_killed_waiter_is_passed_over(self, hire: Hire, client: Client) -> None:
        holder, victim, last = hire(), hire(), hire()
        holder.acquire()
        for worker in (victim, last):
            worker.tell("acquire", "x")
            wait_in_queue(client, worker)
        victim.kill()
        eventually(lambda: len(client.inspect("x").queue) == 1, "the victim's going")
        assert last.silent()
        assert holder.ask("release", "x") == "released"
        assert last.hear().startswith("got")

    def test_holder_and_waiters_killed_together(self, hire: Hire, client: Client) -> None:
        holder, *victims, last = (hire() for _ in range(5))
        holder.acquire()
        for worker in (*victims, last):
            worker.tell("acquire", "x")
            wait_in_queue(client, worker)
        for worker in (*victims, holder):
            worker.kill()
        assert last.hear().startswith("got")

    @needs("breaks", frees="kernel")
    def test_paused_holder_keeps_its_turn_and_a_break_passes_it(self, hire: Hire, client: Client) -> None:
        holder, waiter = hire(), hire()
        token = holder.acquire()
        waiter.tell("acquire", "x")
        wait_in_queue(client, waiter)
        holder.signal(signal.SIGSTOP)
        assert waiter.silent()
        record = client.break_lock("x", "paused for too long")
        assert record is not None
        assert record.tokens == (token,)
        later = int(waiter.hear().split()[1])
        assert later > token
        holder.signal(signal.SIGCONT)
        assert holder.ask("check", "x") == "lost"
        assert holder.ask("release", "x") == "error OwnershipLost"
        assert waiter.ask("check", "x") == "held"

    @needs(frees="kernel")
    def test_paused_waiter_keeps_its_place_and_its_death_frees_it(self, hire: Hire, client: Client) -> None:
        holder, paused, last = hire(), hire(), hire()
        holder.acquire()
        for worker in (paused, last):
            worker.tell("acquire", "x")
            wait_in_queue(client, worker)
        paused.signal(signal.SIGSTOP)
        assert holder.ask("release", "x") == "released"
        assert last.silent()  # it is the turn of the paused worker
        paused.kill()
        assert last.hear().startswith("got")

    @needs("breaks", frees="kernel")
    def test_a_paused_waiter_whose_turn_has_come_can_be_broken(self, hire: Hire, client: Client) -> None:
        holder, paused, last = hire(), hire(), hire()
        holder.acquire()
        for worker in (paused, last):
            worker.tell("acquire", "x")
            wait_in_queue(client, worker)
        paused.signal(signal.SIGSTOP)
        assert holder.ask("release", "x") == "released"
        assert last.silent()
        assert client.break_lock("x", "it is stopped") is not None
        assert last.hear().startswith("got")
        paused.signal(signal.SIGCONT)
        assert paused.hear() == "error OwnershipLost"
        assert last.ask("check", "x") == "held"

    def test_interrupt_while_waiting_leaves_nothing(self, hire: Hire, client: Client) -> None:
        holder, waiter = hire(), hire()
        holder.acquire()
        waiter.tell("acquire", "x")
        wait_in_queue(client, waiter)
        waiter.signal(signal.SIGINT)
        assert waiter.hear() == "interrupted"
        assert client.inspect("x").queue == ()
        holder.ask("release", "x")
        assert waiter.ask("acquire", "x", "timeout=0").startswith("got")

    def test_forked_child_neither_holds_nor_keeps_the_lock(self, hire: Hire, client: Client) -> None:
        parent, waiter = hire(), hire()
        parent.acquire()
        parent.tell("fork", "x")
        answers = dict(parent.hear().split(maxsplit=1) for _ in range(2))
        child = int(answers["forked"])
        try:
            assert answers["child"] == f"{child} believes=False free=False"
            assert parent.ask("check", "x") == "held"
            waiter.tell("acquire", "x")
            wait_in_queue(client, waiter)
            assert waiter.silent()
            parent.kill()
            assert waiter.hear().startswith("got")  # although the child is alive
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)

    def test_executed_child_does_not_keep_the_lock(self, hire: Hire, client: Client) -> None:
        parent, waiter = hire(), hire()
        parent.acquire()
        child = int(parent.ask("spawn").split()[1])
        try:
            waiter.tell("acquire", "x")
            wait_in_queue(client, waiter)
            parent.kill()
            assert waiter.hear().startswith("got")
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)

    @needs(cycles="all")
    def test_one_of_two_processes_in_a_deadlock_is_refused(self, hire: Hire) -> None:
        one, other = hire(), hire()
        one.acquire("a")
        other.acquire("b")
        one.tell("acquire", "b")
        other.tell("acquire", "a")
        eventually(lambda: not one.silent(0) or not other.silent(0), "a refusal")
        refused, served, held = (other, one, "b") if one.silent(0) else (one, other, "a")
        assert refused.hear() == "error Deadlock"
        assert served.silent()
        assert refused.ask("release", held) == "released"
        assert served.hear().startswith("got")

    @needs(cycles="all")
    def test_cycle_through_a_dead_process_is_none(self, hire: Hire, client: Client) -> None:
        one, other = hire(), hire()
        one.acquire("a")
        other.acquire("b")
        one.tell("acquire", "b")
        wait_in_queue(client, one, "b")
        one.kill()
        one.process.wait(PATIENCE)
        assert other.ask("acquire", "a").startswith("got")
