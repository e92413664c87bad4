"""The exercises of the text on real threads. The tests check the order and number of lines, never times."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from vez.threads.deadlock import cycle, wait_for_lines
from vez.threads.native import native_increments
from vez.threads.operations import join, start
from vez.threads.program import Program, Steps
from vez.threads.programs.classics import wait_notify
from vez.threads.programs.executors import fork_join, thread_pool
from vez.threads.programs.exercises import hello, joining, mslunch, printed_counter, ring, two_locks
from vez.threads.programs.tools import busy_wait, try_finally, volatile
from vez.threads.real import run
from vez.threads.recording import MOST, Recorder


@pytest.mark.parametrize("threads", [5, 200])
def test_hello_of_every_thread_and_of_main(threads: int) -> None:
    output = run(hello(threads)).memory["output"]
    assert sorted(output) == sorted(
        [("main", "Hello from the main thread")]
        + [(f"thread-{number}", f"Hello from thread {number} of {threads}") for number in range(threads)]
    )


def test_counter_10_times_20_prints_a_name_and_a_number_at_each_step() -> None:
    output = run(printed_counter(10, 20)).memory["output"]
    assert len(output) == 200
    assert {thread for thread, _ in output} == {f"T{number}" for number in range(1, 11)}
    assert all(1 <= int(line) <= 200 for _, line in output)


def test_what_is_printed_inside_is_in_order() -> None:
    program = printed_counter(10, 20, lock=True, inside=True)
    outcome = run(program, switch_us=5)
    inside = [line for _, line in outcome.memory["output"] if line.startswith("inside")]
    assert inside == [f"inside: {number}" for number in range(1, 201)]
    assert program.at_end is not None
    assert program.at_end(outcome.memory)


def test_mslunch_two_threads_1000_rounds_both_counters() -> None:
    outcome = run(mslunch(rounds=1000), switch_us=10)
    assert (outcome.variables["c1"], outcome.variables["c2"]) == (2000, 2000)
    lines = outcome.memory["output"]
    assert [sum(thread == name for thread, _ in lines) for name in ("T1", "T2")] == [1000, 1000]


def test_a_real_deadlock_is_seen_named_and_ended() -> None:
    outcome = run(two_locks(rounds=1_000_000), switch_us=1, patience_s=60)
    assert outcome.deadlock == {"T1": ("lock1", "T2"), "T2": ("lock2", "T1")}
    assert wait_for_lines(outcome.deadlock)[-1] == "a cycle: T1 → lock1 → T2 → lock2 → T1"
    assert outcome.blocked == ("T1", "T2")
    assert not {"T1", "T2"} & {thread.name for thread in threading.enumerate()}, "both have ended"


@pytest.mark.parametrize("final", [False, True])
def test_a_lock_that_nobody_will_release_is_seen(final: bool) -> None:
    program = try_finally(final=final)

    def main() -> Steps:
        yield start("T1")
        yield join("T1")
        yield start("T2")

    threads = {**program.threads, "main": main}
    outcome = run(Program(program.shared, threads, later=frozenset({"T1", "T2"})), patience_s=60)
    assert outcome.deadlock == ({} if final else {"T2": ("lock", "T1")})


def test_a_deadlock_without_a_cycle_is_seen() -> None:
    assert run(fork_join(), patience_s=60).deadlock == {"worker1": ("done", "")}
    assert run(thread_pool(workers=1, tasks=1, capacity=0, peek=True), patience_s=60).finished


def test_a_lost_notification_is_a_deadlock() -> None:
    """On real threads it is rare, so the waiter is led there: it is the only thread."""
    program = wait_notify()
    alone = Program(program.shared, {"waiter": program.threads["waiter"]})
    outcome = run(alone, patience_s=60)
    assert outcome.deadlock == {"waiter": ("changed", "")}
    assert cycle(outcome.deadlock) == []


def test_what_never_ends_is_stopped() -> None:
    """In one of these runs, the waiter has its copy of the flag before the setter runs."""
    for _ in range(200):
        outcome = run(volatile(), patience_s=0.05, switch_us=1)
        if not outcome.finished:
            break
    else:
        pytest.fail("the waiter always saw the flag at once")
    assert outcome.blocked == ("waiter",)
    assert not outcome.deadlock
    assert "waiter" not in {thread.name for thread in threading.enumerate()}


def test_the_ring_of_30_exactly() -> None:
    outcome = run(ring(threads=30, letters=80, seed=1), scale=0)
    assert outcome.finished
    lines = outcome.memory["output"]
    hops = [(thread, line) for thread, line in lines if not line.startswith("result: ")]
    sent = hops[0][1]
    lower = sum(letter.islower() for letter in sent)
    assert len(sent) == 80
    assert len(hops) == lower + 30, "one hop for each letter, and one in which each thread sees the end"
    assert [thread for thread, _ in hops] == [f"T{place % 30 + 1}" for place in range(len(hops))]
    for (_, before), (_, after) in pairwise(hops[: lower + 1]):
        first = next(place for place, letter in enumerate(before) if letter.islower())
        assert after == before[:first] + before[first].upper() + before[first + 1 :]
    results = [thread for thread, line in lines if line == f"result: {sent.upper()}"]
    assert sorted(results) == sorted(f"T{number}" for number in range(1, 31)), "every thread prints it and ends"


def test_join_waits_for_all_and_a_timed_join_may_not() -> None:
    lines = run(joining(rounds=3), scale=0.001).memory["output"]
    assert lines == (*(("hello", f"Hello at instant {number}") for number in range(3)), ("main", "Wait is over"))
    outcome = run(joining(rounds=50, wait="none"), scale=0.001)
    assert ("main", "Got tired of waiting") in outcome.memory["output"]
    assert len(outcome.memory["output"]) == 51, "no daemon: the program goes on until it has ended"


def test_a_daemon_ends_with_the_program() -> None:
    outcome = run(joining(rounds=1000, wait="none", daemon=True), scale=1)
    assert outcome.finished
    assert ("main", "Got tired of waiting") in outcome.memory["output"]
    assert len(outcome.memory["output"]) < 1000
    assert "hello" not in {thread.name for thread in threading.enumerate()}


def test_busy_waiting_takes_more_processor_time_than_sleeping() -> None:
    """The waiter spins while the other thread sleeps, and no third thread runs. The times are compared with each
    other."""
    busy, asleep = (run(busy_wait(busy=busy), scale=0.3).cpu_s["waiter"] for busy in (True, False))
    assert busy > asleep


def test_a_recording_holds_what_was_done_and_printed() -> None:
    said: list[tuple[str, str]] = []
    recorder = Recorder(lambda thread, line: said.append((thread, line)))
    outcome = run(printed_counter(2, 3, lock=True, inside=True), recorder=recorder)
    assert outcome.recording is not None
    assert outcome.recording.output == tuple(said) == outcome.memory["output"]
    kinds = [deed.kind for deed in outcome.recording.deeds]
    assert kinds.count("holds") == 6
    assert kinds.count("runs") == 2
    assert all(deed.start_us <= deed.end_us <= outcome.recording.end_us for deed in outcome.recording.deeds)


def test_a_recording_has_an_end() -> None:
    recorder = Recorder()
    for _ in range(MOST + 7):
        recorder.add("does", 1, "step", "T")
    recording = recorder.recording()
    assert (len(recording.deeds), recording.left_out) == (MOST, 7)
    recorder.say("the last line is kept", "T")
    assert recorder.recording().output == (("T", "the last line is kept"),)


def test_a_lock_or_an_atomic_call_keeps_every_update_in_plain_python() -> None:
    found = {what: outcome.variables["counter"] for what, outcome in native_increments(4, 500, 10).items()}
    assert found == {"bare counter += 1": found["bare counter += 1"], "the same, with a lock": 2000,
                     "atomic: next(count)": 2000, "one per thread, summed": 2000}  # fmt: skip
