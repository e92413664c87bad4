"""Programs of threads, over all interleavings."""

from __future__ import annotations

from pathlib import Path

import pytest

from vez.check.threads import Found, explore
from vez.cli.check_threads import load_program, mermaid, wait_for
from vez.errors import ProtocolBug, UnknownName
from vez.threads import Lock, Program, acquire, read, release, write
from vez.threads.programs import (
    PROGRAMS,
    Steps,
    blocking_queue,
    counter,
    mslunch,
    readers_writers,
    two_locks,
    wait_notify,
)


def shortest(found: Found, kind: str) -> list[str]:
    return [turn.words for turn in found.broken[kind][1]]


def test_the_lost_update_needs_four_steps() -> None:
    found = explore(counter())
    assert shortest(found, "claim") == ["read counter: 0", "read counter: 0", "write counter = 1", "write counter = 1"]
    assert found.broken["claim"][0] == "expected counter is 2, and counter is 1"
    assert (found.states, found.transitions) == (12, 14)


@pytest.mark.parametrize("lock", ["step", "loop", "atomic"])
def test_a_lock_or_an_atomic_step_keeps_every_update(lock: str) -> None:
    assert not explore(counter(threads=3, rounds=2, lock=lock)).broken


def test_a_loop_whose_rounds_look_alike_is_not_cut_short() -> None:
    """The position of the loop's iterator is part of the state, though it is no variable."""

    def body() -> Steps:
        for step in (1, 1, 1):
            value = yield read("x")
            yield write("x", value + step)
            del value

    found = explore(Program({"x": 0}, {"T": body}, claim="x is 3", at_end=lambda memory: bool(memory["x"] == 3)))
    assert not found.broken
    assert found.depth == 6


def test_two_locks_in_opposite_order_deadlock_and_the_cycle_is_drawn() -> None:
    found = explore(two_locks())
    assert shortest(found, "deadlock_freedom") == ["acquire lock1", "acquire lock2"]
    assert wait_for(found)[-1] == "a cycle: T1 → lock2 → T2 → lock1 → T1"
    assert "T1([T1]) -- waits for --> lock2[lock2]" in mermaid(two_locks(), found)
    assert not explore(two_locks(ordered=True)).broken


def test_independent_counters_need_no_common_lock() -> None:
    assert not explore(mslunch()).broken


def test_a_wake_up_before_the_sleep_is_lost() -> None:
    found = explore(wait_notify())
    assert shortest(found, "deadlock_freedom")[-1] == "wait on changed, asleep"
    assert found.wait_for == {"consumer": ("changed", "")}
    assert not explore(wait_notify(careful=True)).broken


def test_a_bounded_queue_needs_a_condition_for_each_side() -> None:
    assert not explore(blocking_queue()).broken
    assert "deadlock_freedom" in explore(blocking_queue(producers=2, items=1, one_condition=True)).broken


def test_readers_share_and_writers_are_alone() -> None:
    assert not explore(readers_writers()).broken


def test_a_lock_that_is_taken_twice_blocks_its_own_holder() -> None:
    def body() -> Steps:
        yield acquire("lock")
        yield acquire("lock")

    found = explore(Program({"lock": Lock()}, {"T": body}))
    assert found.wait_for == {"T": ("lock", "T")}


def test_a_thread_that_spins_for_ever_is_found() -> None:
    def spins() -> Steps:
        while not (yield read("flag")):
            pass

    assert "termination" in explore(Program({"flag": False}, {"T": spins})).broken

    def sets() -> Steps:
        yield write("flag", True)

    assert not explore(Program({"flag": False}, {"T": spins, "U": sets})).broken  # a fair scheduler lets U run


def test_giving_back_what_one_does_not_hold_is_a_bug() -> None:
    def body() -> Steps:
        yield release("lock")

    with pytest.raises(ProtocolBug, match="without holding it"):
        explore(Program({"lock": Lock()}, {"T": body}))


def test_a_program_of_ones_own_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from vez.threads import Program, read, write\n"
        "def mine(limit=1):\n"
        "    def body():\n"
        "        value = yield read('x')\n"
        "        yield write('x', value + limit)\n"
        "    return Program({'x': 0}, {'A': body, 'B': body}, 'x is 2', lambda memory: memory['x'] == 2)\n"
    )
    assert "claim" in explore(load_program(f"{file}:mine", {})).broken
    with pytest.raises(UnknownName, match="did you mean mine"):
        load_program(f"{file}:min", {})


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_program_is_explored_to_the_end(name: str) -> None:
    assert explore(load_program(name, {})).complete
