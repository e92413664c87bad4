"""One test for each claim about the first four mutual exclusion algorithms.

Conventions: messages to oneself are not counted; delays are in message times (constant delay of 1 ms).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.core.trace import Entered, Sent, Status, Trace
from vez.judge.properties import History, Measurements, judge, measure
from vez.judge.properties import Status as Word
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Network, Want, Workload

NAMES = ("coordinator", "coordinator-lease", "token-ring", "ricart-agrawala")
SIZES = (2, 3, 5, 8, 13)


def run(name: str, n: int, **parts: Any) -> Trace:
    return trace_of(simulate(Scenario(algorithm=name, n=n, until_ms=10_000, **parts), find(name)))


def alone(name: str, n: int) -> Measurements:
    """Every contender enters once, long after the one before it."""
    contenders = find(name).contenders(tuple(range(1, n + 1)))  # type: ignore[attr-defined]
    return measure(run(name, n, want=tuple(Want(process=p, at_ms=50.25 * p, inside_ms=1) for p in contenders)))


def crowded(name: str, n: int, requests: int = 3) -> Measurements:
    """Everybody always wants in."""
    return measure(run(name, n, workload=Workload(requests=requests, think_ms=0.0, inside_ms=2.0), parameters={}))


def broken(trace: Trace) -> set[str]:
    return {verdict.name for verdict in judge(trace) if verdict.status is Word.BROKEN}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("name", "cost"),
    [("coordinator", lambda n: 3), ("coordinator-lease", lambda n: 3), ("ricart-agrawala", lambda n: 2 * (n - 1))],
)
def test_messages_per_entry(name: str, cost: Callable[[int], int], n: int) -> None:
    expected = cost(n)
    assert alone(name, n).messages_per_entry == expected
    assert crowded(name, n).messages_per_entry == expected


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["coordinator", "coordinator-lease", "ricart-agrawala"])
def test_client_delay_is_two_message_times(name: str, n: int) -> None:
    delay = alone(name, n).client_delay
    assert delay.count >= 1
    assert (delay.least, delay.most) == (2.0, 2.0)


@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize(
    ("name", "expected"), [("coordinator", 2.0), ("coordinator-lease", 2.0), ("ricart-agrawala", 1.0)]
)
def test_synchronization_delay(name: str, expected: float, n: int) -> None:
    delay = crowded(name, n).synchronization_delay
    assert delay.count > n
    assert (delay.least, delay.most) == (expected, expected)


def test_ricart_agrawala_sends_as_many_requests_as_replies() -> None:
    assert crowded("ricart-agrawala", 6, requests=2).by_kind == {"Request": 60, "Reply": 60}


@pytest.mark.parametrize("n", SIZES)
def test_token_ring_client_delay_is_between_nothing_and_n(n: int) -> None:
    trace = run("token-ring", n, workload=Workload(requests=1, think_ms="uniform(0, 400)", inside_ms=1.0))
    delay = measure(trace).client_delay
    assert delay.most is not None
    assert 0 <= (delay.least or 0) <= delay.most <= n


@pytest.mark.parametrize("n", [3, 5, 8])
def test_token_ring_synchronization_delay_is_between_one_and_n(n: int) -> None:
    full = crowded("token-ring", n).synchronization_delay
    assert (full.least, full.most) == (1.0, 1.0)  # the right neighbour always wants
    far = measure(
        run("token-ring", n, want=(Want(process=2, at_ms=0, inside_ms=30), Want(process=1, at_ms=3, inside_ms=1)))
    ).synchronization_delay
    assert (far.least, far.most) == (n - 1, n - 1)


def test_token_ring_costs_one_message_at_best_and_without_end_when_idle() -> None:
    full = run("token-ring", 5, workload=Workload(requests=10, think_ms=0.0, inside_ms=2.0))
    first, last = (event.at for event in (full.events[0], [e for e in full if isinstance(e, Entered)][-1]))
    hops = sum(isinstance(event, Sent) and first <= event.at <= last for event in full)
    assert hops == 50  # one before each entry
    idle = run("token-ring", 5, want=(Want(process=2, at_ms=5000, inside_ms=1),))
    assert measure(idle).messages > 5000


def test_token_ring_nobody_enters_twice_while_another_waits() -> None:
    stays = History(run("token-ring", 6, workload=Workload(requests=5, think_ms="uniform(0, 3)", inside_ms=2.0))).stays
    for stay in stays:
        meanwhile = [o.process for o in stays if stay.wanted_index < (o.entered_index or 0) < (stay.entered_index or 0)]
        assert len(meanwhile) == len(set(meanwhile))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("delay", ["constant(1)", "uniform(0.5, 1.5)", "exponential(1)"])
def test_guarantees_hold_over_seeds(name: str, delay: str) -> None:
    """150 seeds for each delay, n = 2 to 7, contention from none to full."""
    lease = {"lease_ms": 1000.0} if name == "coordinator-lease" else {}
    for seed in range(150):
        load = Workload(requests=3, think_ms=("uniform(0, 20)", "constant(0)", "exponential(5)")[seed % 3])
        trace = run(name, 2 + seed % 6, seed=seed, network=Network(delay=delay), workload=load, parameters=lease)
        bad = [verdict for verdict in judge(trace) if verdict.promised and verdict.status is not Word.HOLDS_IN_RUNS]
        assert not bad, f"seed {seed}: {bad}"


def test_coordinator_crash_nobody_gets_in() -> None:
    trace = run("coordinator", 4, crash=(Crash(process=1, at_ms=0.5),), workload=Workload(requests=1, think_ms=1.0))
    assert not any(isinstance(event, Entered) for event in trace)
    assert {"deadlock_freedom", "starvation_freedom"} <= broken(trace)


def test_coordinator_holder_crash_nobody_else_gets_in() -> None:
    want = (Want(process=2, at_ms=0, inside_ms=5), Want(process=3, at_ms=1), Want(process=4, at_ms=1))
    trace = run("coordinator", 4, want=want, crash=(Crash(process=2, at_ms=4),))
    assert [event.process for event in trace if isinstance(event, Entered)] == [2]
    assert {"deadlock_freedom", "starvation_freedom"} <= broken(trace)


def test_coordinator_tolerates_the_crash_of_one_who_does_not_want() -> None:
    trace = run(
        "coordinator", 4, want=(Want(process=3, at_ms=5), Want(process=4, at_ms=5)), crash=(Crash(process=2, at_ms=1),)
    )
    assert not broken(trace)


def test_token_ring_holder_crash_loses_the_token() -> None:
    want = (Want(process=2, at_ms=0, inside_ms=5), Want(process=3, at_ms=1), Want(process=4, at_ms=1))
    trace = run("token-ring", 4, want=want, crash=(Crash(process=2, at_ms=3),))
    assert {"deadlock_freedom", "starvation_freedom"} <= broken(trace)


def test_token_ring_any_crash_cuts_the_ring() -> None:
    for victim in (1, 2, 3, 4):
        trace = run(
            "token-ring",
            4,
            want=tuple(Want(process=p, at_ms=10) for p in (1, 2, 3, 4)),
            crash=(Crash(process=victim, at_ms=5.5),),
        )
        assert "starvation_freedom" in broken(trace)


@pytest.mark.parametrize("victim", [1, 2, 3])
def test_ricart_agrawala_no_process_may_crash(victim: int) -> None:
    want = tuple(Want(process=p, at_ms=5) for p in (1, 2, 3) if p != victim)
    trace = run("ricart-agrawala", 3, want=want, crash=(Crash(process=victim, at_ms=1),))
    assert {"deadlock_freedom", "starvation_freedom"} <= broken(trace)


def test_ricart_agrawala_ties_are_broken_by_identifier() -> None:
    trace = run("ricart-agrawala", 4, want=tuple(Want(process=p, at_ms=0, inside_ms=1) for p in (4, 3, 2, 1)))
    assert [event.process for event in trace if isinstance(event, Entered)] == [1, 2, 3, 4]


def test_lease_tokens_never_repeat_and_never_fall() -> None:
    trace = run("coordinator-lease", 6, workload=Workload(requests=5, think_ms=0.0, inside_ms="uniform(1, 30)"))
    tokens = [event.token or 0 for event in trace if isinstance(event, Entered)]
    assert tokens == sorted(set(tokens))


def test_lease_a_slow_holder_breaks_exclusion_and_never_fencing() -> None:
    """100 seeds with stays up to three leases long."""
    seen = 0
    for seed in range(100):
        load = Workload(requests=3, think_ms="uniform(0, 5)", inside_ms="uniform(1, 30)")
        trace = run("coordinator-lease", 5, seed=seed, workload=load)
        seen += "exclusion" in broken(trace)
        assert "fenced_exclusion" not in broken(trace)
    assert seen == 100


def test_lease_a_late_release_does_not_free_the_next_ones_lease() -> None:
    want = (
        Want(process=2, at_ms=0, inside_ms=15),
        Want(process=3, at_ms=1, inside_ms=9),
        Want(process=4, at_ms=2, inside_ms=1),
    )
    stays = History(run("coordinator-lease", 4, want=want)).stays
    third, fourth = stays[1], stays[2]
    assert fourth.entered_at is not None
    assert third.left_at is not None
    assert fourth.entered_at > third.left_at


def test_status_shows_the_queue() -> None:
    trace = run("coordinator", 4, want=tuple(Want(process=p, at_ms=p, inside_ms=10) for p in (2, 3, 4)))
    assert "busy, queue [3, 4]" in [event.text for event in trace if isinstance(event, Status)]
