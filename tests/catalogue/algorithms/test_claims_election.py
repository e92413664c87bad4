"""One test for each claim about `chang-roberts` and `bully`."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import factorial
from typing import Any

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.catalogue.election.chang_roberts import ExtremaFinding
from vez.core.trace import Elected, Started, Trace
from vez.judge.properties import Status, judge
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Elect, Nemesis, Network, Partition, Suspicion


def run(name: str, **parts: Any) -> Run:
    return simulate(Scenario(algorithm=name, **parts), find(name))


def traced(name: str, **parts: Any) -> Trace:
    return trace_of(run(name, **parts))


def verdicts(trace: Trace) -> dict[str, Status]:
    return {verdict.name: verdict.status for verdict in judge(trace)}


def ring_messages(ids: tuple[int, ...]) -> tuple[int, int]:
    messages = simulate(Scenario(algorithm="chang-roberts", ids=ids), find("chang-roberts"), record=False).messages
    return messages["Election"], messages["Elected"]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_chang_roberts_over_all_rings_when_all_start(n: int) -> None:
    """Chang and Roberts 1979: mean exactly n·H_n, minimum 2n-1, maximum n(n+1)/2, then n to announce."""
    counts = []
    for order in permutations(range(2, n + 1)):
        election, announcement = ring_messages((1, *order))
        assert announcement == n
        counts.append(election)
    assert len(counts) == factorial(n - 1)
    assert Fraction(sum(counts), len(counts)) == n * sum(Fraction(1, k) for k in range(1, n + 1))
    assert min(counts) == 2 * n - 1
    assert max(counts) == n * (n + 1) // 2


@pytest.mark.parametrize("n", [2, 5, 20, 60])
def test_chang_roberts_worst_and_best_arrangements(n: int) -> None:
    """The exercise in Camargos, Coordenação, "Algoritmos em Anéis": ids that fall to the right make every candidacy travel as far as it can."""
    falling = tuple(range(n, 0, -1))
    assert ring_messages(falling)[0] == n * (n + 1) // 2
    assert ring_messages(falling[::-1])[0] == 2 * n - 1


@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
def test_chang_roberts_one_starter_needs_at_most_3n_minus_1(n: int) -> None:
    worst = 0
    for starter in range(1, n + 1):
        found = run("chang-roberts", n=n, elect=(Elect(process=starter),))
        total = sum(found.messages.values())
        assert total <= 3 * n - 1
        worst = max(worst, total)
    assert worst == 3 * n - 1  # started right after the largest


def test_chang_roberts_elects_the_largest_over_seeds() -> None:
    """200 seeds, n = 2 to 9, random starters and delays."""
    for seed in range(200):
        n = 2 + seed % 8
        ids = tuple((7 * k + seed) % 101 for k in range(n))
        elect = tuple(Elect(process=ids[k], at_ms=k * (seed % 5)) for k in range(1 + seed % n))
        trace = traced("chang-roberts", ids=ids, seed=seed, elect=elect, network=Network(delay="exponential(1)"))
        assert not [v for v in judge(trace) if v.promised and v.status is not Status.HOLDS_IN_RUNS], f"seed {seed}"
        assert {event.leader for event in trace if isinstance(event, Elected)} == {max(ids)}


def test_chang_roberts_without_crashes_is_the_algorithm_of_the_paper() -> None:
    """Whatever the delays and starters, the part that handles crashes changes nothing."""
    for seed in range(40):
        ids = tuple((7 * k + seed) % 101 for k in range(2 + seed % 6))
        elect = tuple(Elect(process=ids[k], at_ms=k * (seed % 5)) for k in range(1 + seed % len(ids)))
        scenario = Scenario(algorithm="chang-roberts", ids=ids, seed=seed, elect=elect, network=Network(delay="exponential(1)"))  # fmt: skip
        paper, product = (simulate(scenario, algorithm).trace for algorithm in (ExtremaFinding, find("chang-roberts")))
        assert paper is not None
        assert product is not None
        events = [[event for event in trace if not isinstance(event, Started)] for trace in (paper, product)]
        assert events[0] == events[1]  # `Started` lists the fields, which differ


@pytest.mark.parametrize("victim", range(1, 7))
def test_chang_roberts_skips_the_dead(victim: int) -> None:
    """A neighbour that the detector suspects is skipped, before an election and during one."""
    for at in (0.0, 0.5, 2.5, 30.0):
        trace = traced(
            "chang-roberts",
            n=6,
            crash=(Crash(process=victim, at_ms=at),),
            elect=(Elect(process=1 if victim != 1 else 2, at_ms=5),),
        )
        words = verdicts(trace)
        assert words["agreement"] is Status.HOLDS_IN_RUNS, (victim, at)
        assert words["validity"] is Status.HOLDS_IN_RUNS, (victim, at)


def test_chang_roberts_a_wrong_suspicion_splits_the_ring() -> None:
    """Without a perfect detector the largest is passed over and another leads too."""
    trace = traced(
        "chang-roberts", ids=(3, 1, 2), elect=(Elect(process=1, at_ms=1),), suspect=(Suspicion(process=2, peer=3),)
    )
    assert Status.BROKEN in verdicts(trace).values()


@pytest.mark.parametrize("n", [3, 4, 5, 8, 12])
def test_bully_best_case_is_n_minus_2(n: int) -> None:
    """Resumos LEIC: the second largest is told of the crash and elects itself at once. All had followed N before."""
    before = run("bully", n=n)
    after = run("bully", n=n, crash=(Crash(process=n, at_ms=30),), detector=Detector(kind="none"))
    assert before.messages == after.messages
    scenario = Scenario(
        algorithm="bully",
        n=n,
        crash=(Crash(process=n, at_ms=0),),
        initial={str(n - 1): {"suspected": [n]}},
        elect=(Elect(process=n - 1),),
        detector=Detector(kind="none"),
    )
    found = simulate(scenario, find("bully"))
    assert found.messages == {"Coordinator": n - 2}
    assert set(found.leaders.values()) == {(n - 1, 0)}


@pytest.mark.parametrize("n", [3, 4, 5, 8, 12])
def test_bully_worst_case_is_n_squared_minus_n_minus_1(n: int) -> None:
    """The smallest starts and the largest is dead; probes to the dead are counted."""
    found = run(
        "bully", n=n, crash=(Crash(process=n, at_ms=0),), elect=(Elect(process=1),), detector=Detector(kind="none")
    )
    assert sum(found.messages.values()) == n * n - n - 1
    assert set(found.leaders.values()) == {(n - 1, 0)}


def test_bully_elects_the_largest_live_over_seeds() -> None:
    """200 seeds, n = 2 to 8, up to two crashes, delays within the bound that the timeouts assume."""
    for seed in range(200):
        n = 2 + seed % 7
        crash = tuple(
            Crash(process=1 + (seed * 3 + k) % n, at_ms=4.3 * k + seed % 11) for k in range(min(seed % 3, n - 1))
        )
        crash = tuple({item.process: item for item in crash}.values())
        trace = traced("bully", n=n, seed=seed, crash=crash, network=Network(delay="uniform(0.1, 1)"))
        assert not [v for v in judge(trace) if v.promised and v.status is not Status.HOLDS_IN_RUNS], f"seed {seed}"


def test_bully_a_leader_that_crashes_is_replaced() -> None:
    trace = traced("bully", n=5, crash=(Crash(process=5, at_ms=20),))
    words = verdicts(trace)
    assert words["agreement"] is words["uniqueness"] is words["stability"] is Status.HOLDS_IN_RUNS
    assert [event.leader for event in trace if isinstance(event, Elected)][-1] == 4


def test_bully_a_returning_process_deposes_the_leader() -> None:
    """Camargos, Coordenação, "Estabilidade": it becomes leader again, although the leader has not failed."""
    trace = traced("bully", n=5, crash=(Crash(process=5, at_ms=20, recover_ms=40),))
    assert verdicts(trace)["stability"] is Status.BROKEN
    assert [event.leader for event in trace if isinstance(event, Elected)][-1] == 5


def test_bully_too_short_a_timeout_makes_two_leaders() -> None:
    """A candidate that does not wait long enough for an answer declares itself leader too early (split-brain)."""
    trace = traced("bully", n=4, parameters={"answer_ms": 1.5}, elect=(Elect(process=2),))
    assert verdicts(trace)["uniqueness"] is Status.BROKEN


def test_bully_a_partition_makes_two_leaders() -> None:
    trace = traced("bully", n=5, partition=(Partition(groups=((1, 2), (3, 4, 5))),), detector=Detector(kind="none"))
    words = verdicts(trace)
    assert words["uniqueness"] is Status.BROKEN
    assert words["agreement"] is Status.BROKEN


@pytest.mark.parametrize("crashes", [1, 2, 3])
def test_chang_roberts_survives_crashes_under_a_perfect_detector(crashes: int) -> None:
    """300 seeds: crashes at any moment, during elections and announcements too; nothing goes round for ever."""
    for seed in range(300):
        trace = traced(
            "chang-roberts",
            n=5,
            seed=seed,
            nemesis=Nemesis(crashes=crashes, within_ms=25),
            network=Network(delay="uniform(0.5, 1.5)"),
        )
        bad = [v for v in judge(trace) if v.promised and v.status is not Status.HOLDS_IN_RUNS]
        assert not bad, f"seed {seed}: {bad}"
        assert trace.header.end == "quiet"
