"""The figures of the papers: messages per entry, client delay, synchronization delay, bounds.

A message takes 1 ms, so milliseconds are message times. Messages to oneself are not counted.
"""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

from vez.catalogue.algorithms import find
from vez.core import voting_set
from vez.core.trace import Sent
from vez.judge.properties import Measurements, Status, judge, measure
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Network, Want, Workload

SIZES = (2, 3, 4, 5, 7, 9, 10)


def run(name: str, n: int, *wants: tuple[int, float, float], **changes: Any) -> Measurements:
    """Measure a run with these wants (process, time, duration). All promised properties must hold in it."""
    listed = tuple(Want(process=process, at_ms=at, inside_ms=inside) for process, at, inside in wants)
    scenario = Scenario(algorithm=name, n=n, want=listed, until_ms=100_000).but(**changes)
    found = simulate(scenario, find(name))
    assert found.trace is not None
    for verdict in judge(found.trace):
        assert not verdict.promised or verdict.status is Status.HOLDS_IN_RUNS, verdict.evidence
    cost = measure(found.trace)
    assert cost.entries == sum(event.__class__.__name__ == "Wanted" for event in found.trace)
    return cost


def saturated(name: str, n: int, requests: int = 6, **changes: Any) -> Measurements:
    """Everybody wants in all the time."""
    return run(name, n, workload=Workload(requests=requests, think_ms=0, inside_ms="constant(2)"), **changes)


def voters(n: int, process: int) -> int:
    """The members of the voting set other than the process itself."""
    return len(voting_set(process, tuple(range(1, n + 1)))) - 1


# Messages per entry.


@pytest.mark.parametrize("n", SIZES)
def test_lamport_3_for_each_other(n: int) -> None:
    expected = {"Acknowledge": n - 1, "Release": n - 1, "Request": n - 1}
    assert run("lamport", n, (1, 0, 2)).by_kind == expected
    assert saturated("lamport", n).by_kind == {kind: 6 * n * count for kind, count in expected.items()}


@pytest.mark.parametrize("name", ["ricart-agrawala", "ricart-agrawala-priority"])
@pytest.mark.parametrize("n", SIZES)
def test_ricart_agrawala_2_for_each_other(name: str, n: int) -> None:
    assert run(name, n, (1, 0, 2)).by_kind == {"Reply": n - 1, "Request": n - 1}
    if not find(name).wrong:
        assert saturated(name, n).messages_per_entry == 2 * (n - 1)


@pytest.mark.parametrize("coordinators", [1, 3, 4, 7])
@pytest.mark.parametrize("name", ["quorum", "quorum-retry"])
def test_quorum_3_for_each_coordinator(name: str, coordinators: int) -> None:
    first = coordinators + 1
    parameters = {"coordinators": coordinators} | ({"patience_ms": 100} if name == "quorum-retry" else {})
    cost = run(name, coordinators + 3, (first, 0, 2), parameters=parameters)
    assert cost.by_kind == dict.fromkeys(("Grant", "Release", "Request"), coordinators)
    # contention that every coordinator sees in the same order: still 3 for each
    queue = ((first, 0, 2), (first + 1, 0.25, 2), (first + 2, 0.5, 2))
    assert run(name, coordinators + 3, *queue, parameters=parameters).messages == 9 * coordinators


def test_quorum_retry_costs_more_under_contention() -> None:
    workload = Workload(requests=4, think_ms="uniform(0, 3)")
    cost = run("quorum-retry", 8, workload=workload, network=Network(delay="exponential(1)"), seed=4)
    assert cost.messages_per_entry is not None
    assert cost.messages_per_entry > 3 * 3


@pytest.mark.parametrize("n", SIZES)
def test_maekawa_3_for_each_voter(n: int) -> None:
    for process in range(1, n + 1):
        expected = dict.fromkeys(("Release", "Request", "Vote"), voters(n, process))
        assert run("maekawa", n, (process, 0, 2)).by_kind == {kind: count for kind, count in expected.items() if count}
        assert run("maekawa-fair", n, (process, 0, 2)).messages == 3 * voters(n, process)
    queue = [(process, 3.0 * process, 1) for process in range(1, n + 1)]
    total = 3 * sum(voters(n, process) for process in range(1, n + 1))
    assert run("maekawa", n, *queue).messages == total


@pytest.mark.parametrize("n", SIZES)
def test_maekawa_fair_at_most_6_for_each_voter(n: int) -> None:
    bound = 6 * sum(voters(n, process) for process in range(1, n + 1)) * 6  # 6 requests each
    assert saturated("maekawa-fair", n).messages <= bound
    for seed in range(10):
        network = Network(delay="exponential(1)")
        assert saturated("maekawa-fair", n, seed=seed, network=network).messages <= bound


@pytest.mark.parametrize("n", SIZES)
def test_suzuki_kasami_0_or_n(n: int) -> None:
    assert run("suzuki-kasami", n, (1, 0, 2)).messages == 0
    assert run("suzuki-kasami", n, (2, 0, 2)).by_kind == {"Request": n - 1, "Token": 1}
    cost = saturated("suzuki-kasami", n)
    assert cost.by_kind["Request"] == (n - 1) * cost.by_kind["Token"]
    assert cost.messages_per_entry is not None
    assert n - 1 < cost.messages_per_entry <= n  # all but the first entry cost N


@pytest.mark.parametrize(("arity", "diameter"), [(1, 6), (2, 4), (6, 2)])
def test_raymond_at_most_twice_the_diameter(arity: int, diameter: int) -> None:
    seven = range(1, 8)
    costs = {
        (one, other): run("raymond", 7, (one, 0, 1), (other, 50, 1), parameters={"arity": arity}).messages
        - run("raymond", 7, (one, 0, 1), parameters={"arity": arity}).messages
        for one in seven
        for other in seven
    }
    assert max(costs.values()) == 2 * diameter
    assert all(costs[one, one] == 0 for one in seven)


@pytest.mark.parametrize("n", [7, 15, 31])
def test_raymond_about_4_when_saturated(n: int) -> None:
    cost = saturated("raymond", n, requests=10)
    assert cost.messages_per_entry is not None
    assert 3 <= cost.messages_per_entry <= 4


@pytest.mark.parametrize("n", [8, 32, 128])
def test_naimi_trehel_logarithmic_on_average_and_never_more_than_n(n: int) -> None:
    changes: dict[str, Any] = {"workload": Workload(requests=5, think_ms="uniform(0, 3000)"), "seed": 1}
    found = simulate(Scenario(algorithm="naimi-trehel", n=n, until_ms=1e6, **changes), find("naimi-trehel"))
    assert found.trace is not None
    hops: dict[tuple[int, int], int] = {}
    number: dict[int, int] = {}
    for event in found.trace:
        if isinstance(event, Sent) and event.kind == "Request":
            origin = event.fields["origin"]
            number[origin] = number.get(origin, 0) + (event.process == origin)
            hops[origin, number[origin]] = hops.get((origin, number[origin]), 0) + 1
    assert max(hops.values()) <= n - 1
    cost = measure(found.trace)
    assert cost.messages_per_entry is not None
    assert 1 < cost.messages_per_entry <= log2(n) + 1


# Delays.


@pytest.mark.parametrize(
    ("name", "process", "delay"),
    [
        ("quorum", 5, 2),
        ("quorum-retry", 5, 2),
        ("lamport", 5, 2),
        ("ricart-agrawala", 5, 2),
        ("maekawa", 5, 2),
        ("maekawa-fair", 5, 2),
        ("suzuki-kasami", 1, 0),
        ("suzuki-kasami", 5, 2),
        ("naimi-trehel", 1, 0),
        ("naimi-trehel", 5, 2),
        ("raymond", 1, 0),
        ("raymond", 2, 2),  # one edge away from the token
        ("raymond", 5, 4),  # two edges
    ],
)
def test_client_delay(name: str, process: int, delay: float) -> None:
    assert run(name, 9, (process, 0, 2)).client_delay.mean == delay


@pytest.mark.parametrize(
    ("name", "delay"),
    [
        ("quorum", 2),
        ("quorum-retry", 2),
        ("lamport", 1),
        ("ricart-agrawala", 1),
        ("maekawa", 2),
        ("maekawa-fair", 2),
        ("suzuki-kasami", 1),
        ("naimi-trehel", 1),
    ],
)
def test_synchronization_delay(name: str, delay: float) -> None:
    """The second process has waited for a long time when the first leaves."""
    parameters = {"patience_ms": 100} if name == "quorum-retry" else {}
    summary = run(name, 9, (5, 0, 6), (9, 2, 1), (4, 3, 1), parameters=parameters).synchronization_delay
    assert (summary.count, summary.least, summary.most) == (2, delay, delay)


@pytest.mark.parametrize(("arity", "most"), [(1, 6), (2, 4), (6, 2)])
def test_raymond_synchronization_delay_is_a_distance(arity: int, most: int) -> None:
    found = [
        run("raymond", 7, (one, 0, 30), (other, 5, 1), parameters={"arity": arity}).synchronization_delay.mean
        for one in range(1, 8)
        for other in range(1, 8)
        if one != other
    ]
    delays = [delay for delay in found if delay is not None]
    assert len(delays) == len(found)
    assert (min(delays), max(delays)) == (1, most)


@pytest.mark.parametrize("name", ["lamport", "ricart-agrawala", "suzuki-kasami", "naimi-trehel"])
def test_synchronization_delay_stays_1_when_saturated(name: str) -> None:
    summary = saturated(name, 7).synchronization_delay
    assert (summary.least, summary.most) == (1, 1)
