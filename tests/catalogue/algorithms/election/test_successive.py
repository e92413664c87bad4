"""Elections on rings and graphs are held again when the leader has died, and leave dead processes out."""

from __future__ import annotations

import sys

import pytest

from tests.runs import Elections, Unkept, trace_of
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.core import Election
from vez.core.trace import Elected, Sent
from vez.errors import Misuse
from vez.study.sweep import sweep
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.sim import Scenario
from vez.worlds.sim.scenario import Crash, Elect, Network, Suspicion

LARGEST = ("franklin", "tournament")
ON_RINGS = ("ring-collect", *LARGEST)
TRIANGLE = ((1, 2), (2, 3), (1, 3))
CYCLE = ((1, 2), (2, 3), (3, 4), (4, 5), (5, 1))
EDGES = {"yoyo": CYCLE}


def ranking(name: str) -> list[int]:
    """Of five processes, the leaders one after the other, as each dies."""
    return [5, 4, 3, 2, 1] if name in LARGEST else [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", [*ON_RINGS, "yoyo"])
def test_a_new_leader_when_the_leader_dies(elect: Elections, unkept: Unkept, name: str) -> None:
    first, second = ranking(name)[:2]
    run = elect(name, n=5, edges=EDGES.get(name, ()), crash=(Crash(process=first, at_ms=60),))
    assert not unkept(run)
    named = [event.leader for event in trace_of(run) if isinstance(event, Elected) and event.process == event.leader]
    assert named == [first, second]


@pytest.mark.parametrize("name", ON_RINGS)
def test_leaders_die_one_after_the_other_until_one_is_left(elect: Elections, unkept: Unkept, name: str) -> None:
    deaths = tuple(Crash(process=leader, at_ms=60.0 * turn) for turn, leader in enumerate(ranking(name)[:4], 1))
    run = elect(name, n=5, crash=deaths)
    assert not unkept(run)
    assert {leader for leader, _ in run.leaders.values()} == {ranking(name)[4]}


@pytest.mark.parametrize("name", ON_RINGS)
def test_a_neighbour_that_is_dead_from_the_start_is_skipped(elect: Elections, unkept: Unkept, name: str) -> None:
    run = elect(name, n=5, crash=(Crash(process=3),), elect=(Elect(process=2, at_ms=5),))
    assert not unkept(run)
    assert 3 not in {event.to for event in trace_of(run) if isinstance(event, Sent)}


def test_messages_name_whom_they_leave_out(elect: Elections) -> None:
    run = elect("ring-collect", n=3, crash=(Crash(process=1, at_ms=20),))
    stages = {tuple(event.fields.get("stage", ())) for event in trace_of(run) if isinstance(event, Sent)}
    assert stages == {(), (1,)}


@pytest.mark.parametrize("name", [*ON_RINGS, "yoyo"])
def test_asked_again_with_a_live_leader_it_sends_nothing(elect: Elections, name: str) -> None:
    once = elect(name, n=5, elect=(Elect(process=2),))
    twice = elect(name, n=5, elect=(Elect(process=2), Elect(process=2, at_ms=100), Elect(process=4, at_ms=100)))
    assert once.messages == twice.messages


@pytest.mark.parametrize("name", [*ON_RINGS, "yoyo"])
def test_crashes_at_random_moments(name: str) -> None:
    scenario = Scenario(
        algorithm=name, n=5, edges=EDGES.get(name, ()), network=Network(delay="uniform(0.2, 3)"), until_ms=500
    )
    for deaths in ((1,), (5,), (2,)) if name == "yoyo" else ((1,), (5, 3), (1, 2, 4)):
        crash = tuple(Crash(process=process, at_ms=4.0 + 3 * turn) for turn, process in enumerate(deaths))
        result = sweep(scenario.but(crash=crash), 25, jobs=1)
        assert result.first_broken is None, (deaths, result.first_broken)


def test_two_who_know_of_different_crashes_begin_again_together(elect: Elections, unkept: Unkept) -> None:
    early = (Suspicion(process=2, peer=1, at_ms=5.5), Suspicion(process=4, peer=5, at_ms=5.5))
    run = elect("franklin", n=5, crash=(Crash(process=1, at_ms=5), Crash(process=5, at_ms=5)), suspect=early)
    assert not unkept(run)
    stages = {tuple(event.fields.get("stage", ())) for event in trace_of(run) if isinstance(event, Sent)}
    assert stages == {(), (1,), (5,), (1, 5)}


@pytest.mark.parametrize(
    ("name", "n", "edges", "states"),
    [
        ("ring-collect", 3, (), 33_547),
        ("franklin", 2, (), 1_299),
        ("tournament", 2, (), 3_659),
        ("yoyo", 3, TRIANGLE, 51_979),
    ],
)
def test_every_moment_of_a_crash(name: str, n: int, edges: tuple[tuple[int, int], ...], states: int) -> None:
    scenario = Scenario(algorithm=name, n=n, edges=edges)
    report = check(Configuration(scenario, find(name), budget=Budget(crashes=1)))
    assert not report.broken
    assert not report.undecided
    assert report.states == states


ONCE = [name for name, kind in ALGORITHMS.items() if issubclass(kind, Election) and kind.one_election]


def test_those_who_hold_one_election_say_so_first() -> None:
    assert ONCE == ["ring-anonymous", "dolev-klawe-rodeh", "itai-rodeh"]
    for name in ONCE:
        module = sys.modules[ALGORITHMS[name].__module__]
        assert (module.__doc__ or "").startswith("One election")


@pytest.mark.parametrize("name", ONCE)
def test_they_refuse_a_second_one(elect: Elections, name: str) -> None:
    with pytest.raises(Misuse, match="holds one election only, and process 2 is asked twice"):
        elect(name, n=3, elect=(Elect(process=2), Elect(process=2, at_ms=50)))
    with pytest.raises(Misuse, match="holds one election only, and each process would be asked again"):
        Configuration(Scenario(algorithm=name, n=3), find(name), requests=2)
