"""The exercises and the toolbox: every interleaving in the checker, and the same programs on real threads."""

from __future__ import annotations

from inspect import signature
from itertools import product
from typing import Any

import pytest

from vez.errors import BadDeclaration, Misuse, ProtocolBug, UnknownName
from vez.threads import Condition, Lock, Program, Queue, alive, get, join, poll, put, read, start, wait, write
from vez.threads.program import Steps
from vez.threads.programs import LESSONS
from vez.threads.programs.classics import LOCKS, counter
from vez.threads.programs.executors import fork_join, thread_pool
from vez.threads.programs.exercises import JOINS, MSLUNCH, hello, joining, mslunch
from vez.threads.real import run
from vez.worlds.check.threads.interleavings import Found, explore

FAST = 0.002
"""Seconds that a second of sleep takes here."""


def shortest(found: Found) -> list[str]:
    ((_, turns),) = found.broken.values()
    return [turn.words for turn in turns]


@pytest.mark.parametrize("name", LESSONS)
def test_the_right_version_holds_in_every_interleaving(name: str) -> None:
    lesson = LESSONS[name]
    found = explore(lesson.maker(**lesson.right))
    assert found.complete
    assert not found.broken


@pytest.mark.parametrize("name", [name for name, lesson in LESSONS.items() if lesson.wrong is not None])
def test_the_wrong_version_is_found(name: str) -> None:
    lesson = LESSONS[name]
    assert lesson.wrong is not None
    assert len(explore(lesson.maker(**lesson.wrong)).broken) == 1


CHOICES: dict[str, tuple[Any, ...]] = {"lock": LOCKS, "locks": MSLUNCH, "wait": JOINS, "objects": (1, 2)}
ENOUGH: dict[str, dict[str, Any]] = {
    "blocking-queue": {"producers": 2, "items": 1}, "thread-pool": {"capacity": 0}, "printed-counter": {"rounds": 1},
}  # fmt: skip
"""Sizes at which the checker finds what goes wrong, beside the default settings."""


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_promises_what_the_checker_finds(name: str) -> None:
    """Every combination of the switches of a program: its promise is compared with all interleavings."""
    lesson = LESSONS[name]
    switches: dict[str, tuple[Any, ...]] = {
        parameter.name: (False, True) if type(parameter.default) is bool else CHOICES.get(parameter.name, ())
        for parameter in signature(lesson.maker).parameters.values()
    }
    switches = {switch: values for switch, values in switches.items() if values}
    for values in product(*switches.values()):
        settings = {**ENOUGH.get(name, {}), **dict(zip(switches, values, strict=True))}
        missing = lesson.missing(settings)
        found = explore(lesson.maker(**settings))
        assert found.complete
        assert bool(found.broken) == bool(missing), (settings, missing)
        assert not lesson.missing({**settings, **missing})


@pytest.mark.parametrize("name", LESSONS)
def test_the_right_version_is_as_claimed_on_real_threads(name: str) -> None:
    lesson = LESSONS[name]
    program = lesson.maker(**lesson.right)
    outcome = run(program, patience_s=60, scale=FAST)
    assert outcome.failure is None
    assert outcome.finished
    assert program.at_end is None or program.at_end(outcome.memory)


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("put-if-absent", ["look up key in map: None", "look up key in map: None", "put T1 under key of map",
                           "print 'first'", "put T2 under key of map", "print 'first'"]),
        ("try-finally", ["acquire lock", "read counter: 0", "print 'failed'"]),
        ("reentrant", ["acquire lock"]),
        ("torn-long", ["write high = 1", "read high: 1", "read low: 0", "write low = 1", "write seen = (1, 0)"]),
        ("thread-local", ["write my_id = 1", "write my_id = 2", "read my_id: 2", "read my_id: 2", "print '1 is 2'",
                          "print '2 is 2'"]),
    ],
)  # fmt: skip
def test_the_shortest_way_to_what_goes_wrong(name: str, steps: list[str]) -> None:
    lesson = LESSONS[name]
    found = sorted(shortest(explore(lesson.maker(**(lesson.wrong or {})))))
    assert found == sorted(steps)


def test_a_copy_of_a_flag_is_asked_for_ever() -> None:
    found = explore(LESSONS["volatile"].maker())
    assert found.loop is not None
    assert [turn.words for turn in found.broken["termination"][1][found.loop :]] == ["sleep 0 s"]


def test_compare_and_set_keeps_every_update() -> None:
    found = explore(counter(threads=3, rounds=1, lock="cas"))
    assert not found.broken
    outcome = run(counter(threads=4, rounds=300, lock="cas"), switch_us=10)
    assert outcome.variables["counter"] == 1200


def test_a_fixed_pool_does_every_task_with_the_workers_that_it_has() -> None:
    program = thread_pool(workers=2, tasks=4)
    assert sorted(program.threads) == ["acceptor", "worker1", "worker2"]
    found = explore(program)
    assert found.complete
    assert not found.broken
    outcome = run(thread_pool(workers=3, tasks=50), patience_s=60)
    assert outcome.finished
    assert (outcome.variables["done"], outcome.variables["left"]) == (50, 0)


def test_a_pool_as_large_as_the_tree_is_deep_needs_no_help() -> None:
    """Four numbers: a worker can wait for a half while another waits for a quarter; two workers may both wait."""
    assert "deadlock_freedom" in explore(fork_join(workers=1, numbers=2)).broken
    assert not explore(fork_join(workers=2, numbers=2)).broken
    assert not explore(fork_join(workers=2, numbers=3, helping=True)).broken


def test_what_a_timed_join_can_end_in() -> None:
    assert not explore(joining()).broken
    found = explore(joining(wait="timed"))
    assert "join hello for 2 s at most: the time is up" in shortest(found)
    found = explore(joining(wait="none", daemon=True))
    assert shortest(found)[-1] == "print 'Got tired of waiting'", "the daemon is stopped with main"


def test_settings_outside_of_what_is_known_are_refused() -> None:
    with pytest.raises(UnknownName, match="locks"):
        mslunch(locks="three")
    with pytest.raises(Misuse, match="threshold"):
        fork_join(threshold=0)
    with pytest.raises(BadDeclaration, match="later names U, and there is no such thread"):
        Program({}, {"T": _ends}, later=frozenset({"U"}))


def _ends() -> Steps:
    yield write("x", 1)


def test_threads_that_are_never_started_are_not_waited_for() -> None:
    def main() -> Steps:
        assert not (yield alive("T"))

    found = explore(Program({"x": 0}, {"main": main, "T": _ends}, later=frozenset({"T"})))
    assert not found.broken
    assert found.states == 2


@pytest.mark.parametrize(
    ("operation", "words"),
    [(start("U"), "uses thread 'U', which does not exist"), (start("main"), "which was started before")],
)
def test_what_cannot_be_started_is_told(operation: object, words: str) -> None:
    def main() -> Steps:
        yield operation  # type: ignore[misc]

    with pytest.raises(ProtocolBug, match=words):
        explore(Program({"x": 0}, {"main": main}))


def test_a_condition_needs_a_plain_lock() -> None:
    program = Program({"lock": Lock(reentrant=True), "c": Condition("lock"), "x": 0}, {"T": _ends})
    with pytest.raises(Misuse, match="reentrant"):
        explore(program)
    with pytest.raises(Misuse, match="not a plain lock"):
        run(program)


def test_a_join_on_a_thread_that_waits_is_part_of_the_deadlock() -> None:
    def main() -> Steps:
        yield start("T")
        yield join("T")

    def body() -> Steps:
        yield get("queue")

    program = Program({"queue": Queue()}, {"main": main, "T": body}, later=frozenset({"T"}))
    assert explore(program).wait_for == {"main": ("the end", "T"), "T": ("queue", "")}
    assert run(program).deadlock == {"main": ("the end", "T"), "T": ("queue", "")}


def test_poll_never_blocks() -> None:
    def body() -> Steps:
        first = yield poll("queue")
        yield put("queue", 1)
        second = yield poll("queue")
        yield write("x", (first, second))

    program = Program({"queue": Queue(), "x": 0}, {"T": body}, "x", lambda memory: bool(memory["x"] == (None, 1)))
    assert not explore(program).broken
    assert run(program).variables["x"] == (None, 1)


def test_hello_with_a_lost_greeting_would_be_seen() -> None:
    """The claim looks at the threads and their order, not only at the number of lines."""
    claim = hello(threads=2).at_end
    assert claim is not None
    lines = [("thread-0", "x"), ("main", "y"), ("thread-1", "z")]
    assert claim({"output": tuple(lines)})
    assert not claim({"output": tuple(lines[:2])})
    assert not claim({"output": tuple(lines[::-1])})


def test_reading_between_two_waits_is_one_thread_at_a_time() -> None:
    def body() -> Steps:
        yield wait("c")

    with pytest.raises(ProtocolBug, match="without holding it"):
        explore(Program({"lock": Lock(), "c": Condition("lock")}, {"T": body}))

    def reads() -> Steps:
        yield read("lock")

    with pytest.raises(ProtocolBug, match="no variable"):
        explore(Program({"lock": Lock()}, {"T": reads}))
