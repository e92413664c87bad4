"""The counts, bounds and means that the papers and the course notes state for elections on rings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, permutations
from math import ceil, floor, log2
from random import Random
from typing import Any

import pytest

from tests.runs import Broken, Elections, Unkept, trace_of
from vez.core.trace import Sent, Status
from vez.worlds.sim import Run


def rings(n: int) -> Iterator[tuple[int, ...]]:
    """Every arrangement of 1..n round a ring; rotations are the same ring."""
    return ((n, *rest) for rest in permutations(range(1, n)))


def random_rings(sizes: Iterable[int], count: int) -> Iterator[tuple[int, ...]]:
    for n in sizes:
        for seed in range(count):
            yield tuple(Random(f"{n}/{seed}").sample(range(1, 10 * n), n))


def statuses(run: Run) -> list[Status]:
    return [event for event in trace_of(run) if isinstance(event, Status)]


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_ring_collect_sends_n_squared_lists_of_up_to_n_names(elect: Elections, n: int) -> None:
    run = elect("ring-collect", n=n)
    lists = [
        len(event.fields["names"]) for event in trace_of(run) if isinstance(event, Sent) and event.kind == "Collect"
    ]
    assert len(lists) == n * n
    assert max(lists) == n
    assert run.messages["Elected"] == n
    assert set(run.leaders.values()) == {(1, 0)}


def test_ring_collect_with_one_starter_needs_two_laps(elect: Elections) -> None:
    run = elect("ring-collect", ids=(4, 9, 2, 7), starters=(9,))
    assert run.messages == {"Collect": 4, "Elected": 4}
    assert {process: leader for process, (leader, _) in run.leaders.items()} == dict.fromkeys((4, 9, 2, 7), 2)


@pytest.mark.parametrize("n", range(3, 8))
def test_franklin_keeps_its_bound_and_its_minimum_on_every_ring(elect: Elections, n: int) -> None:
    counts = [elect("franklin", ids=ring, record=False).messages["Candidate"] for ring in rings(n)]
    assert min(counts) == 4 * n
    assert max(counts) <= 2 * n * (floor(log2(n)) + 1)
    assert all(count % (2 * n) == 0 for count in counts)  # every round costs 2n


def test_franklin_reaches_its_bound(elect: Elections) -> None:
    """Alternate high and low at every level, and only half of the actives leave each round."""
    ring = [0]
    for _ in range(4):  # 16 processes, each level interleaves a lower half
        ring = [value for old in ring for value in (old + len(ring), ring.index(old))]
    n = len(ring)
    assert elect("franklin", ids=tuple(ring), record=False).messages["Candidate"] == 2 * n * (floor(log2(n)) + 1)


def test_franklin_at_most_half_stay_active_each_round(elect: Elections) -> None:
    for ring in random_rings((6, 11, 16), 20):
        run = elect("franklin", ids=ring)
        rounds = max(
            event.fields["round"] for event in trace_of(run) if isinstance(event, Sent) and "round" in event.fields
        )
        active = [
            sum(event.text == f"active, round {number}" for event in statuses(run)) for number in range(1, rounds + 1)
        ]
        assert all(later <= earlier / 2 for earlier, later in pairwise(active)), active
        assert active[-1] == 1


def test_franklin_six_processes_in_three_rounds(elect: Elections) -> None:
    """GBC074 slides, "Algoritmo de Franklin": half are out after round 1, one is left after round 2, and round 3 tells it so."""
    run = elect("franklin", ids=(6, 1, 5, 2, 4, 3))
    passive = [event.process for event in statuses(run) if event.text == "passive"]
    assert sorted(passive[:3]) == [1, 2, 3]
    assert sorted(passive[3:]) == [4, 5]
    assert [event.text for event in statuses(run) if event.process == 6] == [
        "active, round 1", "active, round 2", "active, round 3", "leader is 6",
    ]  # fmt: skip
    assert run.messages == {"Candidate": 3 * 2 * 6, "Elected": 6}


@pytest.mark.parametrize("n", range(2, 8))
def test_tournament_keeps_its_bound_on_every_ring(elect: Elections, n: int) -> None:
    for ring in rings(n):
        messages = elect("tournament", ids=ring, record=False).messages
        assert messages["Probe"] + messages["Reply"] <= 8 * n * (1 + ceil(log2(n)))
        assert messages["Elected"] == n


def test_tournament_keeps_its_bound_on_large_rings(elect: Elections) -> None:
    for ring in (*random_rings((33, 200), 5), tuple(range(1, 301)), tuple(range(300, 0, -1))):
        n = len(ring)
        messages = elect("tournament", ids=ring, record=False).messages
        assert messages["Probe"] + messages["Reply"] <= 8 * n * (1 + ceil(log2(n)))


def test_tournament_needs_logarithmically_many_phases_and_halves_the_competitors(elect: Elections) -> None:
    for ring in random_rings((8, 17, 32), 10):
        n = len(ring)
        probes = [
            event
            for event in trace_of(elect("tournament", ids=ring))
            if isinstance(event, Sent) and event.kind == "Probe"
        ]
        competitors: dict[int, set[int]] = {}
        for probe in probes:
            competitors.setdefault(probe.fields["phase"], set()).add(probe.fields["candidate"])
        assert max(competitors) <= ceil(log2(n))
        for phase, standing in competitors.items():
            # within 2^(k-1) of one another no two can have passed phase k-1
            assert phase == 0 or len(standing) <= n // (2 ** (phase - 1) + 1)


@pytest.mark.parametrize("n", range(2, 8))
def test_dolev_klawe_rodeh_keeps_its_bound_on_every_ring(elect: Elections, n: int) -> None:
    for ring in rings(n):
        run = elect("dolev-klawe-rodeh", ids=ring, record=False)
        assert run.messages["First"] + run.messages.get("Second", 0) <= 2 * n * floor(log2(n)) + n
        assert run.messages["Elected"] == n
        assert set(run.leaders.values()) == {(n, 0)}


def test_dolev_klawe_rodeh_beats_chang_roberts_on_the_worst_ring(elect: Elections) -> None:
    ring = tuple(range(128, 0, -1))
    ours = elect("dolev-klawe-rodeh", ids=ring, record=False).messages
    theirs = elect("chang-roberts", ids=ring, record=False).messages
    assert ours["First"] + ours["Second"] < theirs["Election"] / 4


def test_ring_anonymous_needs_two_laps_for_one_candidate(elect: Elections, broken: Broken) -> None:
    run = elect("ring-anonymous", n=5, starters=(3,))
    assert run.messages == {"HabemusLeader": 5, "VoteForMe": 5}
    assert run.leaders == {3: (3, 0)}
    assert "uniqueness" not in broken(run)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_ring_anonymous_puts_every_candidate_in_office(elect: Elections, broken: Broken, n: int) -> None:
    run = elect("ring-anonymous", n=n)
    assert run.leaders == {process: (process, 0) for process in range(1, n + 1)}
    assert "uniqueness" in broken(run)


@pytest.mark.parametrize("name", ["ring-anonymous", "itai-rodeh"])
def test_anonymous_processes_do_not_read_their_names(elect: Elections, name: str) -> None:
    """With other names the same messages flow, place by place."""

    def messages(ids: tuple[int, ...]) -> list[tuple[int, int, str, dict[str, Any]]]:
        place = {process: index for index, process in enumerate(ids)}
        run = elect(name, ids=ids, starters=(ids[0], ids[2]), seed=5)
        return [
            (event.at, place[event.process], event.kind, event.fields)
            for event in trace_of(run)
            if isinstance(event, Sent)
        ]

    assert messages((1, 2, 3, 4)) == messages((40, 7, 3, 12))


def test_itai_rodeh_cures_the_symmetric_ring(elect: Elections, unkept: Unkept) -> None:
    redrawn = 0
    for seed in range(150):
        run = elect("itai-rodeh", n=2 + seed % 7, seed=seed, parameters={"names": 2})
        assert not unkept(run), seed
        assert len(run.leaders) == 1
        redrawn += any(event.fields.get("round", 1) > 1 for event in trace_of(run) if isinstance(event, Sent))
    assert redrawn > 75  # with two names a tie at the top is the rule, and only dice can break it


def test_itai_rodeh_needs_n_log_n_messages_on_average(elect: Elections) -> None:
    def mean(n: int) -> float:
        return sum(sum(elect("itai-rodeh", n=n, seed=seed, record=False).messages.values()) for seed in range(60)) / 60

    for n in (8, 32, 128):
        assert 2 * n < mean(n) < 4 * n * log2(n)
