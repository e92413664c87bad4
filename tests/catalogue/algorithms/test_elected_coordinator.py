"""The coordinator that can be replaced: the elections that it can use, and the guarantees with each of them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.catalogue.mutex.elected_coordinator import ELECTIONS, TERM_STEP
from vez.core.trace import Delivered, Elected, Entered, Sent, Wrote
from vez.errors import BadData
from vez.judge.properties import Status, judge
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Nemesis, Network, Partition, Want, Workload

NAMES = sorted(ELECTIONS)


def play(election: str, *, debug: bool = False, **parts: Any) -> Run:
    scenario = Scenario(algorithm="elected-coordinator", parameters={"election": election}, **parts)
    return simulate(scenario, find("elected-coordinator"), debug=debug)


def broken(run: Run, *, promised: bool = True) -> set[str]:
    return {v.name for v in judge(trace_of(run)) if v.status == Status.BROKEN and (v.promised or not promised)}


@pytest.mark.parametrize("election", NAMES)
def test_three_messages_per_entry_once_elected(election: str) -> None:
    run = play(election, n=4, workload=Workload(requests=3), until_ms=500)
    entries = sum(isinstance(event, Entered) for event in trace_of(run))
    own = [
        event for event in trace_of(run) if isinstance(event, Sent) and event.kind in ("Request", "Grant", "Release")
    ]
    assert entries == 12
    assert len(own) == 3 * entries
    assert not broken(run)


@pytest.mark.parametrize(
    ("election", "recoveries"), [*((name, 0) for name in NAMES), ("bully-stable", 1), ("majority", 1)]
)
def test_crashes_of_anybody_are_survived(election: str, recoveries: int) -> None:
    """The coordinator's, the holder's, a waiter's; `bully` and `luis` assume that nobody comes back."""
    for seed in range(60):
        chance = Random(f"elected/{seed}")
        n = chance.randint(3, 6)
        run = play(
            election, n=n, seed=seed, until_ms=600,
            network=Network(delay=chance.choice(("constant(1)", "uniform(0.2, 1)"))),
            nemesis=Nemesis(crashes=chance.randint(1, (n - 1) // 2), recoveries=recoveries, within_ms=chance.choice((4, 15, 40))),
            detector=Detector(delay_ms=chance.choice((1, 2, 5))),
        )  # fmt: skip
        assert not broken(run), (seed, broken(run))


def test_the_new_coordinator_asks_before_it_grants() -> None:
    """2 is inside when the coordinator dies; 1 gets in only after 2 has left."""
    run = play(
        "bully", n=4, until_ms=200, crash=(Crash(process=4, at_ms=12),),
        want=(Want(process=2, at_ms=8, inside_ms=20), Want(process=1, at_ms=9)), debug=True,
    )  # fmt: skip
    assert not broken(run)
    assert [event.process for event in trace_of(run) if isinstance(event, Entered)] == [2, 1]
    assert [
        event.leader for event in trace_of(run) if isinstance(event, Elected) and event.process == event.leader
    ] == [
        4,
        3,
    ]
    sent = trace_of(run).messages()
    reports = [sent[event.message].fields for event in trace_of(run) if isinstance(event, Delivered) and sent[event.message].to == 3
               and sent[event.message].kind == "Holding"]  # fmt: skip
    assert any(report["held"] for report in reports)
    assert any(report["wants"] for report in reports)


def test_tokens_carry_the_term_and_a_counter() -> None:
    run = play("majority", n=3, until_ms=300, crash=(Crash(process=1, at_ms=40),), workload=Workload(requests=4))
    tokens = [event.token or 0 for event in trace_of(run) if isinstance(event, Entered)]
    assert tokens == sorted(set(tokens))
    assert [token % TERM_STEP for token in tokens if token // TERM_STEP == 1] == list(
        range(1, 1 + sum(t < 2 * TERM_STEP for t in tokens))
    )
    assert tokens[-1] // TERM_STEP > 1


def partitioned(election: str, seed: int) -> Run:
    chance = Random(f"cut/{seed}")
    n = chance.randint(3, 5)
    start = chance.uniform(10, 60)
    side = tuple(chance.sample(range(1, n + 1), chance.randint(1, n - 1)))
    return play(
        election, n=n, seed=seed, until_ms=400,
        network=Network(delay="uniform(0.5, 1.5)"), detector=Detector(kind="heartbeat"),
        partition=(Partition(at_ms=start, until_ms=start + chance.uniform(30, 120), groups=(side,)),),
        workload=Workload(requests=4, think_ms="uniform(0, 20)", inside_ms="uniform(1, 30)"),
    )  # fmt: skip


def test_majority_and_tokens_are_safe_under_partitions_and_wrong_suspicions() -> None:
    two_inside = refused = 0
    for seed in range(120):
        run = partitioned("majority", seed)
        found = broken(run)
        assert "fenced_exclusion" not in found, seed
        two_inside += "exclusion" in found
        refused += sum(isinstance(event, Wrote) and not event.accepted for event in trace_of(run))
    assert two_inside  # the resource had something to do
    assert refused


def test_bully_under_partition_breaks_exclusion_and_fencing() -> None:
    found = [broken(partitioned("bully", seed)) for seed in range(60)]
    assert any("exclusion" in names for names in found)
    assert any("fenced_exclusion" in names for names in found)


def test_the_same_with_every_handler_run_twice() -> None:
    for election in NAMES:
        plain, twice = (
            play(election, n=3, until_ms=80, crash=(Crash(process=3, at_ms=20),), debug=debug)
            for debug in (False, True)
        )
        assert plain.trace == twice.trace


def test_an_unknown_election_is_refused() -> None:
    with pytest.raises(BadData, match="election"):
        play("coin-toss")
