"""Split-brain: the elections in which it can occur, those in which it cannot, and why a vote must be durable."""

from __future__ import annotations

import pytest

from tests.runs import Broken, Elections, Unkept, trace_of
from vez.core.trace import Elected
from vez.judge.properties import History
from vez.worlds.sim import Run
from vez.worlds.sim.scenario import Crash, Detector, Elect, Fate, Nemesis, Network, Partition, Suspicion

CUT = Partition(at_ms=60, until_ms=160, groups=((1, 2), (3, 4, 5)))
HEARTBEATS = Detector(kind="heartbeat")


@pytest.mark.parametrize("name", ["bully", "bully-stable", "luis", "chang-roberts"])
def test_a_partition_gives_two_leaders(elect: Elections, broken: Broken, name: str) -> None:
    run = elect(name, n=5, partition=(CUT,), detector=HEARTBEATS, until_ms=300)
    assert "uniqueness" in broken(run)


@pytest.mark.parametrize("name", ["bully", "bully-stable", "luis", "chang-roberts"])
def test_and_one_again_when_it_heals(elect: Elections, broken: Broken, name: str) -> None:
    run = elect(name, n=5, partition=(CUT,), detector=HEARTBEATS, until_ms=300)
    assert "agreement" not in broken(run)
    assert {leader for leader, _ in run.leaders.values()} == {5}


@pytest.mark.parametrize("name", ["franklin", "tournament", "dolev-klawe-rodeh", "itai-rodeh", "ring-collect"])
def test_a_ring_that_is_cut_elects_nobody_rather_than_two(elect: Elections, broken: Broken, name: str) -> None:
    """These algorithms wait for every process, so a partition can delay the end of the election, but gives no second
    leader."""
    cut = Partition(groups=((1, 2), (3, 4, 5)))
    run = elect(name, n=5, partition=(cut,))
    assert broken(run) >= {"termination"}
    assert "uniqueness" not in broken(run)


def test_invitation_has_a_leader_on_each_side_and_merges(elect: Elections, unkept: Unkept) -> None:
    run = elect(
        "invitation", n=5, partition=(Partition(at_ms=100, until_ms=300, groups=((1, 2), (3, 4, 5))),), until_ms=500
    )
    assert not unkept(run)
    assert views_at(run, 95) == dict.fromkeys(range(1, 6), 5)
    assert views_at(run, 290) == {1: 2, 2: 2, 3: 5, 4: 5, 5: 5}
    assert views_at(run, 500) == dict.fromkeys(range(1, 6), 5)


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_invitation_agrees_a_while_after_the_last_fault(elect: Elections, unkept: Unkept, seed: int) -> None:
    for offset in range(10):
        run = elect(
            "invitation", n=2 + (seed + offset) % 6, seed=seed + offset, until_ms=900,
            network=Network(delay="uniform(0.5, 1.5)"),
            nemesis=Nemesis(crashes=1, recoveries=1, partitions=2, within_ms=150),
        )  # fmt: skip
        assert not unkept(run), seed + offset
        assert len({leader for leader, _ in run.leaders.values()}) == 1, seed + offset


def test_majority_has_one_leader_per_term_whatever_happens(elect: Elections, broken: Broken) -> None:
    leaders = 0
    for seed in range(300):
        run = elect(
            "majority", n=3 + seed % 5, seed=seed, until_ms=350,
            network=Network(delay="exponential(1.5)", loss=0.15, duplicate=0.1, reorder=0.1),
            nemesis=Nemesis(crashes=2, recoveries=2, pauses=1, partitions=2, within_ms=150),
        )  # fmt: skip
        assert "uniqueness" not in broken(run), seed
        leaders += len(History(trace_of(run)).reigns)
    assert leaders > 600  # the sweep would prove nothing if hardly anybody ever led


def test_majority_agrees_after_the_last_fault(elect: Elections, unkept: Unkept) -> None:
    for seed in range(40):
        run = elect(
            "majority", n=3 + seed % 5, seed=seed, until_ms=400, network=Network(delay="uniform(0.5, 1.5)"),
            nemesis=Nemesis(crashes=1, recoveries=1, partitions=1, within_ms=100),
        )  # fmt: skip
        assert not unkept(run), seed


def test_majority_without_durable_votes_has_two_leaders_in_one_term(elect: Elections, broken: Broken) -> None:
    """Process 2 votes for 1, forgets it, and votes for 3, which has not heard of 1."""
    cut = Partition(one_way=((1, 3), (3, 1)))
    crash = Crash(process=2, at_ms=2.5, recover_ms=3.5, memory=False)
    scenario = {"n": 3, "partition": (cut,), "until_ms": 14}
    forgetful = elect("majority", **scenario, crash=(crash,), elect=elections(1, 3))
    assert "uniqueness" in broken(forgetful)
    first, second = History(trace_of(forgetful)).reigns
    assert (first.leader, second.leader) == (1, 3)
    assert first.term == second.term == 1
    mindful = elect("majority", **scenario, crash=(Crash(process=2, at_ms=2.5, recover_ms=3.5),), elect=elections(1, 3))
    assert "uniqueness" not in broken(mindful)


def test_the_nemesis_finds_the_forgotten_vote_by_chance(elect: Elections, broken: Broken) -> None:
    found = [
        seed
        for seed in range(150)
        if "uniqueness" in broken(
            elect(
                "majority", n=3, seed=seed, until_ms=120,
                network=Network(delay="exponential(2)", loss=0.2),
                nemesis=Nemesis(crashes=2, recoveries=2, memory=False, partitions=1, within_ms=40),
            )
        )
    ]  # fmt: skip
    assert found


def test_majority_counts_weight_not_heads(elect: Elections) -> None:
    """Process 1 weighs more than all others together: it needs no other vote, and no majority exists without it."""
    alone = elect(
        "majority", n=3, parameters={"weights": [[1, 3]]}, crash=(Crash(process=2), Crash(process=3)), until_ms=50
    )
    assert alone.leaders == {1: (1, 1)}
    others = elect("majority", n=3, parameters={"weights": [[1, 3]]}, crash=(Crash(process=1),), until_ms=200)
    assert others.leaders == {}


def test_majority_drops_old_terms(elect: Elections) -> None:
    """A heartbeat of term 1 that arrives in term 2 deposes nobody."""
    late = Fate(sender=1, to=3, number=2, delay_ms=60)  # the first heartbeat of 1 to 3
    run = elect(
        "majority", n=3, elect=elections(1), message=(late,), crash=(Crash(process=1, at_ms=3),), until_ms=100,
    )  # fmt: skip
    views = [(event.leader, event.term) for event in trace_of(run) if isinstance(event, Elected) and event.process == 3]
    assert views
    assert all(term > 1 for _, term in views)


def test_luis_agrees_once_the_detector_stops_erring(elect: Elections, broken: Broken) -> None:
    lies = tuple(Suspicion(process=one, peer=5, at_ms=10 + one, until_ms=40 + one) for one in (1, 3, 4))
    run = elect("luis", n=5, suspect=lies)
    assert "uniqueness" in broken(run)
    assert views_at(run, 30) == {1: 4, 2: 5, 3: 4, 4: 4, 5: 5}
    assert views_at(run, 60) == dict.fromkeys(range(1, 6), 5)


def elections(*starters: int) -> tuple[Elect, ...]:
    return tuple(Elect(process=process, at_ms=4.0 * place) for place, process in enumerate(starters))


def views_at(run: Run, ms: float) -> dict[int, int | None]:
    views: dict[int, int | None] = {}
    for event in trace_of(run):
        if isinstance(event, Elected) and event.at <= ms * 1000:
            views[event.process] = event.leader
    return dict(sorted(views.items()))
