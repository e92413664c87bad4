"""Stability of the leader when a process crashes and comes back again and again, and when leaders die."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from tests.runs import Broken, Elections, Unkept, trace_of
from vez.judge.properties import History
from vez.worlds.sim import Run
from vez.worlds.sim.scenario import Crash, Elect, Network

FLAPS = tuple(Crash(process=5, at_ms=50 * number, recover_ms=50 * number + 25) for number in range(1, 7))


def leaders(run: Run) -> list[int]:
    return [reign.leader for reign in sorted(History(trace_of(run)).reigns, key=lambda reign: reign.start_index)]


def test_a_flapping_process_makes_bully_elect_every_time(elect: Elections, broken: Broken) -> None:
    run = elect("bully", n=5, crash=FLAPS)
    assert leaders(run) == [5] + [4, 5] * 6
    assert "stability" in broken(run)


def test_and_bully_stable_not_at_all(elect: Elections, broken: Broken, unkept: Unkept) -> None:
    run = elect("bully-stable", n=5, crash=FLAPS)
    assert leaders(run) == [5, 4]  # the first crash was the leader's; after that 5 is the youngest
    assert not unkept(run)
    assert run.leaders == dict.fromkeys(range(1, 6), (4, 0))


def test_seniority_is_regained_as_others_fail(elect: Elections, unkept: Unkept) -> None:
    """5 comes back youngest; when 4, 3 and 2 have come back after it, only 1 is older."""
    crashes = tuple(Crash(process=6 - number, at_ms=60 * number, recover_ms=60 * number + 30) for number in range(1, 5))
    run = elect("bully-stable", n=5, crash=(*crashes, Crash(process=1, at_ms=400)))
    assert not unkept(run)
    assert leaders(run)[-2:] == [1, 5]


def test_bully_stable_survives_random_crashes_and_returns(elect: Elections, unkept: Unkept) -> None:
    for seed in range(80):
        chance = Random(f"flap/{seed}")
        n = chance.randint(2, 7)
        crashes = []
        for process in range(1, n):  # process n may stay up, so that somebody is always there
            at = chance.uniform(30, 200)
            crashes.append(Crash(process=process, at_ms=at, recover_ms=at + chance.uniform(10, 60)))
        run = elect("bully-stable", n=n, crash=tuple(crashes), seed=seed, network=Network(delay="uniform(0.5, 1)"))
        assert not unkept(run), (seed, unkept(run))


def test_the_leader_returns_before_its_death_was_noticed(elect: Elections, unkept: Unkept) -> None:
    run = elect("bully-stable", n=4, crash=(Crash(process=4, at_ms=50, recover_ms=50.5),))
    assert not unkept(run)
    assert leaders(run) == [4, 3]


def test_a_crash_of_the_leader_costs_one_change(elect: Elections, unkept: Unkept) -> None:
    for name in ("bully", "bully-stable", "luis", "chang-roberts"):
        run = elect(name, n=5, crash=(Crash(process=5, at_ms=50),))
        assert not unkept(run), name
        assert leaders(run) == [5, 4], name
        assert "stability" not in {verdict.name for verdict in unkept(run)}


def test_chang_roberts_skips_the_dead_and_survives_crashes_during_the_election(
    elect: Elections, unkept: Unkept
) -> None:
    for crashed in range(1, 7):
        for at in (0, 0.5, 1.5, 2.5, 3.5, 4.5, 7.5):
            run = elect("chang-roberts", ids=(3, 6, 1, 5, 2, 4), crash=(Crash(process=crashed, at_ms=at),))
            assert not unkept(run), (crashed, at, unkept(run))
            assert run.end == "quiet", (crashed, at)  # nothing of the dead goes round for ever


def test_majority_replaces_a_dead_leader_in_a_later_term(elect: Elections, unkept: Unkept) -> None:
    run = elect("majority", n=5, elect=(Elect(process=3),), crash=(Crash(process=3, at_ms=30),), until_ms=150)
    assert not unkept(run)
    reigns = History(trace_of(run)).reigns
    assert reigns[0].leader == 3
    assert all(before.term < after.term for before, after in pairwise(reigns))
    assert len(reigns) >= 2
