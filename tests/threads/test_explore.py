"""Programs of threads, explored over all interleavings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from vez.cli.check_threads import mermaid
from vez.cli.parameters.thread_programs import load_program
from vez.errors import BadDeclaration, HandlerFailed, ProtocolBug, UnknownName
from vez.threads import Lock, Program, acquire, add, get, read, release, write
from vez.threads.deadlock import wait_for_lines
from vez.threads.program import Steps
from vez.threads.programs import PROGRAMS
from vez.threads.programs.classics import blocking_queue, counter, readers_writers, wait_notify
from vez.threads.programs.exercises import mslunch, two_locks
from vez.worlds.check.threads.interleavings import Found, explore


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
    assert shortest(found, "deadlock_freedom") == ["acquire lock2", "acquire lock1"]
    assert wait_for_lines(found.wait_for)[-1] == "a cycle: T1 → lock1 → T2 → lock2 → T1"
    assert "T1([T1]) -- waits for --> lock1[lock1]" in mermaid(two_locks(), found)
    assert not explore(two_locks(ordered=True)).broken


def test_independent_counters_need_no_common_lock() -> None:
    assert not explore(mslunch()).broken


def test_a_wake_up_before_the_sleep_is_lost() -> None:
    """The code of the text, in seven steps."""
    found = explore(wait_notify())
    assert shortest(found, "deadlock_freedom") == [
        "read condition: False", "write condition = True", "acquire synch", "notify all waiters of changed: nobody waits",
        "release synch", "acquire synch", "wait on changed, asleep",
    ]  # fmt: skip
    assert found.wait_for == {"waiter": ("changed", "")}
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

    found = explore(Program({"flag": False}, {"T": spins}))
    words, turns = found.broken["termination"]
    assert words == "the threads go round for ever"
    assert found.loop is not None
    assert [turn.words for turn in turns[found.loop :]] == ["read flag: False"]

    def sets() -> Steps:
        yield write("flag", True)

    assert not explore(Program({"flag": False}, {"T": spins, "U": sets})).broken  # a fair scheduler lets U run


def test_giving_back_what_one_does_not_hold_is_a_bug() -> None:
    def body() -> Steps:
        yield release("lock")

    with pytest.raises(ProtocolBug, match="without holding it"):
        explore(Program({"lock": Lock()}, {"T": body}))


def _raises() -> Steps:
    value = yield read("x")
    yield write("x", 1 // value)


def _one() -> Steps:
    yield add("x")


def test_a_body_that_raises_is_named_with_its_line() -> None:
    line = _raises.__code__.co_firstlineno + 2
    words = rf"test_explore.py:{line}: _raises raised ZeroDivisionError: .* \(thread T\)"
    with pytest.raises(HandlerFailed, match=words):
        explore(Program({"x": 0}, {"T": _raises}))


@pytest.mark.parametrize("claim", ["at_end", "always"])
def test_a_claim_that_raises_is_named_with_its_line(claim: str) -> None:
    def wrong(memory: Mapping[str, Any]) -> bool:
        return bool(memory["y"] == 1)

    line = wrong.__code__.co_firstlineno + 1
    with pytest.raises(HandlerFailed, match=rf"test_explore.py:{line}: wrong raised KeyError: 'y' \(in {claim}\)"):
        explore(Program({"x": 0}, {"T": _one}, **{claim: wrong}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shared", "operation", "words"),
    [
        ({"x": 0}, 3, "T yields 3"),
        ({"x": 0}, read("y"), "T uses 'y', which is not shared"),
        ({"x": 0}, acquire("x"), "x is 0, no Lock"),
        ({"x": 0}, get("x"), "x is 0, no Queue"),
        ({"x": Lock()}, read("x"), r"x is Lock\(\), no variable"),
        ({"x": 0}, write("x", []), "a value that can change in place"),
        ({"x": []}, read("x"), r"x is \[\]: a value that can change in place"),
        ({"x": None}, add("x"), "T adds 1 to x, which is None"),
    ],
)
def test_what_a_thread_cannot_do_is_told_in_words(shared: dict[str, Any], operation: Any, words: str) -> None:
    def body() -> Steps:
        yield operation

    with pytest.raises(ProtocolBug, match=words):
        explore(Program(shared, {"T": body}))


def test_a_body_must_be_a_generator_without_arguments() -> None:
    with pytest.raises(ProtocolBug, match="the body of thread T returns None and yields nothing"):
        explore(Program({"x": 0}, {"T": lambda: None}))  # type: ignore[dict-item, return-value]

    def needs(value: int) -> Steps:
        yield write("x", value)

    with pytest.raises(HandlerFailed, match=r"test_explore.py:\d+: needs: TypeError: .*missing 1 .*\(thread T\)"):
        explore(Program({"x": 0}, {"T": needs}))  # type: ignore[dict-item]


def test_a_program_with_its_parts_swapped_is_refused() -> None:
    with pytest.raises(BadDeclaration, match=r"thread 'x' is 0.*Program\(shared, threads\), in this order"):
        Program({"T": _one}, {"x": 0})  # type: ignore[dict-item]
    with pytest.raises(BadDeclaration, match="threads is a list, expected a mapping"):
        Program({"x": 0}, [_one])  # type: ignore[arg-type]
    with pytest.raises(BadDeclaration, match="at_end is True, expected a function"):
        Program({"x": 0}, {"T": _one}, "x", True)  # type: ignore[arg-type]


def test_a_function_that_fails_to_make_a_program_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def mine():\n    return {}['threads']\n")
    with pytest.raises(HandlerFailed, match=r"mine.py:2: mine raised KeyError: 'threads'"):
        load_program(f"{file}:mine", {})


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
