"""The course notes' own versions do what docs/explanation/where-the-texts-differ.md says of them."""

from __future__ import annotations

import threading
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.catalogue.load import load_algorithm
from vez.catalogue.zoo import ZOO
from vez.core.trace import Sent
from vez.judge.properties import Status, judge
from vez.study.quorum.chances import risk
from vez.worlds.check import Configuration, check
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Detector, Elect


def run(name: str, **parts: object) -> Run:
    return simulate(Scenario(algorithm=name, **parts), load_algorithm(name))  # type: ignore[arg-type]


def count(name: str, **parts: object) -> int:
    return sum(run(name, **parts).messages.values())


@pytest.mark.parametrize(
    ("name", "broken", "steps"),
    [
        ("answers-only", "termination", 3),
        ("drops-smaller", "termination", 2),
        ("no-pruning", "termination", 5),
    ],
)
def test_the_shortest_run(name: str, broken: str, steps: int) -> None:
    specimen = ZOO[name]
    world = specimen.world.but(elect=(Elect(process=1),), n=2, patience_ms=None)
    report = check(Configuration(world, specimen.algorithm), (broken,))
    assert report.broken == (broken,)
    assert report.counterexamples[broken].steps == steps


def test_bully_of_the_text_elects_only_if_the_next_suspects_too() -> None:
    alone = run("zoo:answers-only", n=3, detector=Detector(kind="none"), elect=(Elect(process=1),))
    assert not alone.leaders
    everybody = run("zoo:answers-only", n=3)
    assert {leader for leader, _ in everybody.leaders.values()} == {3}


def test_chang_roberts_of_the_text_sends_one_message_for_a_small_starter() -> None:
    ring = {"ids": (17, 24, 1, 28), "elect": (Elect(process=17),)}
    assert count("zoo:drops-smaller", **ring) == 1
    assert count("chang-roberts", **ring) == 11


def test_chang_roberts_of_the_early_version_sends_the_largest_round_for_every_starter() -> None:
    for name, elections in (("zoo:always-replaces", 51), ("chang-roberts", 11)):
        found = run(name, n=6)
        assert found.messages["Election"] == elections
        assert {leader for leader, _ in found.leaders.values()} == {6}


def test_franklin_with_minus_p_is_right_and_sends_several_times_as_much() -> None:
    counts = set()
    for rest in permutations(range(2, 7)):
        found = run("zoo:franklin-minus", ids=(1, *rest))
        assert found.leaders == {6: (6, 0)}
        counts.add((sum(found.messages.values()), count("franklin", ids=(1, *rest))))
    assert counts == {(114, 30), (114, 42), (126, 42)}


def test_franklin_sends_2n_in_every_round() -> None:
    """The text counts 4n in the first phase and 8n · n/2 in the second; it is 2n in each."""
    sent = [event for event in trace_of(run("franklin", ids=(1, 6, 5, 3, 4, 2))) if isinstance(event, Sent)]
    rounds = [event.fields["round"] for event in sent if event.kind == "Candidate"]
    assert [rounds.count(number) for number in (1, 2, 3)] == [12, 12, 12]


def test_some_yes_is_right_on_every_graph_of_five_and_costs_more_on_six_of_them() -> None:
    graphs = _graphs(5)
    assert len(graphs) == 728
    dearer = {}
    for edges in graphs:
        ours, theirs = (run(name, n=5, edges=edges) for name in ("yoyo", "zoo:some-yes"))
        assert ours.leaders == theirs.leaders
        if ours.messages != theirs.messages:
            dearer[edges] = sum(theirs.messages.values()), sum(ours.messages.values())
    assert len(dearer) == 6
    assert all(theirs > ours for theirs, ours in dearer.values())
    assert max(dearer.values()) == dearer[(1, 5), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)] == (52, 42)


def _graphs(n: int) -> list[tuple[tuple[int, int], ...]]:
    every = list(combinations(range(1, n + 1), 2))
    return [edges for size in range(n - 1, len(every) + 1) for edges in combinations(every, size) if _joined(edges, n)]


def _joined(edges: tuple[tuple[int, int], ...], n: int) -> bool:
    reached = {1}
    for _ in range(n):
        reached |= {end for edge in edges if reached & set(edge) for end in edge}
    return len(reached) == n


@pytest.mark.parametrize(("n", "m"), [(3, 2), (8, 5), (32, 24)])
def test_the_sum_to_n_is_the_sum_to_m(n: int, m: int) -> None:
    """P_v: the text adds up to k = n, vez up to k = m. No more than m of m coordinators can fail."""
    p = Fraction(1, 10_000)
    to_n = sum(comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(2 * m - n, n + 1))
    assert to_n == risk(n, m, p, Fraction(0)).violation


def test_exactly_one_of_n_fails_n_times_as_often_as_a_given_one() -> None:
    """Every outcome of four coordinators, counted: the formula of the text is the chance of one set of them."""
    n, p = 4, Fraction(1, 10)
    for k in range(n + 1):
        given = p**k * (1 - p) ** (n - k)
        outcomes = [failed for failed in product((False, True), repeat=n) if sum(failed) == k]
        assert len(outcomes) * given == comb(n, k) * given
    assert sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)) == 1
    assert sum(p**k * (1 - p) ** (n - k) for k in range(n + 1)) < 1, "as the text has it, something is missing"


def test_one_minute_in_ten_days_is_less_than_the_text_says() -> None:
    p = Fraction(1, 10 * 24 * 60)
    assert f"{float(p):.5f}" == "0.00007"
    assert risk(32, 24, p, Fraction(0)).violation < risk(32, 24, Fraction(1, 10_000), Fraction(0)).violation


def test_a_sleep_until_a_moment_that_is_still_to_come_is_of_0_ms() -> None:
    """The formula of the text, while time is left; and as it was meant."""
    before, timeout = 5_000, 1_000
    for now in range(before, before + timeout):
        assert max(0, now - (before + timeout)) == 0
        assert max(0, (before + timeout) - now) > 0


def test_a_thread_starts_once() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError, match="once"):
        thread.start()


def test_those_that_cost_more_keep_what_they_promise() -> None:
    for name in ("zoo:always-replaces", "zoo:some-yes", "zoo:franklin-minus"):
        verdicts = judge(trace_of(run(name, n=5)))
        assert not [verdict for verdict in verdicts if verdict.promised and verdict.status is Status.BROKEN]
    assert find("franklin").name == "franklin"
