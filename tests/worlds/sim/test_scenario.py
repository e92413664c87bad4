"""Scenario files can express everything that the Python API can, and mistakes in them are refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vez.catalogue.algorithms import find
from vez.errors import BadData, MissingFile, Misuse, UnknownName, VezError
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import (
    Choice,
    Crash,
    Detector,
    Drift,
    Elect,
    Expect,
    Fate,
    Nemesis,
    Network,
    Partition,
    Pause,
    Suspicion,
    Want,
    Workload,
    dumps,
    load,
    loads,
)  # fmt: skip

FULL = Scenario(
    algorithm="coordinator-lease", title="everything", ids=(4, 2, 9), topology="complete", seed=3, until_ms=77.5, max_events=1234, patience_ms=9,
    parameters={"lease_ms": 4.5}, initial={"2": {"held": 1}},
    network=Network(delay="uniform(0.5, 1.5)", fifo=True, loss=0.1, duplicate=0.2, reorder=0.3),
    detector=Detector(kind="none", delay_ms=4), workload=Workload(requests=3, think_ms=2.0, inside_ms="exponential(2)"),
    want=(Want(process=2, at_ms=1, inside_ms=3),), crash=(Crash(process=9, at_ms=5, recover_ms=7, memory=False),),
    pause=(Pause(process=2, at_ms=3, for_ms=2),),
    partition=(Partition(at_ms=1, until_ms=2, groups=((4,), (2, 9))), Partition(one_way=((2, 4),))),
    drift=(Drift(process=2, rate=1.5),), suspect=(Suspicion(process=2, peer=9, at_ms=1, until_ms=3),),
    message=(Fate(sender=2, to=4, number=1, delay_ms=2, copies=(3, 4)),), choice=(Choice(process=2, number=1, index=2),),
    nemesis=Nemesis(crashes=1, recoveries=1, memory=False, pauses=2, partitions=1, within_ms=20), expect=Expect(broken=("exclusion",), holds=("fenced_exclusion",)),
)  # fmt: skip


def test_everything_goes_through_toml() -> None:
    assert loads(dumps(FULL, "a comment")) == FULL
    assert loads(dumps(Scenario(algorithm="bully", elect=(Elect(process=2, at_ms=1),), edges=()))) == Scenario(
        algorithm="bully", elect=(Elect(process=2, at_ms=1),)
    )


def test_a_scenario_runs_the_same_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "full.toml"
    scenario = FULL.but(suspect=())  # this algorithm listens to no detector
    path.write_text(dumps(scenario))
    assert simulate(load(path), find(FULL.algorithm)).trace == simulate(scenario, find(FULL.algorithm)).trace


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("algorithm = ", "not TOML"),
        ("n = 3", "missing required field `algorithm`"),
        ('algorithm = "bully"\nprocesses = 3', "unknown field `processes`"),
        ('algorithm = "bully"\nn = 0', "`int` >= 1"),
        ('algorithm = "bully"\nn = "many"', "Expected `int"),
        ('algorithm = "bully"\n[network]\nloss = 1.5', "<= 1"),
        ('algorithm = "bully"\n[[crash]]\nprocess = 1\nat_ms = -3', ">= 0"),
        ('algorithm = "bully"\n[[drift]]\nprocess = 1\nrate = 0', "> 0"),
    ],
)
def test_malformed_files_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadData, match=complaint):
        loads(text, "mine.toml")


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean exclusion"):
        loads('algorithm = "bully"\n[expect]\nbroken = ["exclusoin"]')
    with pytest.raises(UnknownName, match="did you mean lease_ms"):
        simulate(Scenario(algorithm="coordinator-lease", parameters={"lease": 3}), find("coordinator-lease"))
    with pytest.raises(UnknownName, match="did you mean ring"):
        simulate(Scenario(algorithm="bully", topology="rong"), find("bully"))


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"n": 1}, "at least 2"), ({"n": 3, "ids": (1, 2)}, "2 ids are given"), ({"ids": (1, 1)}, "unique"),
        ({"crash": (Crash(process=9),)}, "no process 9"), ({"want": (Want(process=2),)}, "so want does not apply"),
        ({"partition": (Partition(),)}, "groups or one_way"), ({"crash": (Crash(process=1, at_ms=5, recover_ms=5),)}, "not after its crash"),
        ({"topology": "graph"}, "needs edges"), ({"topology": "ring", "edges": ((1, 2),)}, "topology is ring"),
        ({"parameters": {"answer_ms": "soon"}}, "answer_ms of bully"), ({"initial": {"7": {}}}, "no process 7"), ({"initial": {"x": {}}}, "no process x"),
        ({"initial": {"1": {"answer_ms": 3}}}, "unknown field"), ({"message": (Fate(sender=1, to=8, number=1),)}, "no process 8"),
        ({"network": Network(delay="later")}, "not a duration"),
    ],
)  # fmt: skip
def test_scenarios_that_make_no_sense_are_refused(parts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(VezError, match=complaint):
        simulate(Scenario(algorithm="bully", **parts), find("bully"))


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"partition": (Partition(groups=((1, 2), (2, 3))),)}, "on two sides"),
        ({"partition": (Partition(at_ms=20, until_ms=5, groups=((1,), (2,))),)}, "ends before it begins"),
        ({"partition": (Partition(one_way=((1, 1),)),)}, "no channel to itself"),
        ({"suspect": (Suspicion(process=1, peer=1),)}, "does not suspect itself"),
        ({"drift": (Drift(process=1, rate=2.0), Drift(process=1, rate=3.0))}, "two rates"),
    ],
)
def test_faults_that_could_never_happen_are_refused(parts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Misuse, match=complaint):
        simulate(Scenario(algorithm="bully", **parts), find("bully"))


def test_nobody_suspects_under_an_algorithm_that_does_not_listen() -> None:
    with pytest.raises(Misuse, match="does not use a failure detector"):
        simulate(Scenario(algorithm="coordinator", suspect=(Suspicion(process=1, peer=2),)), find("coordinator"))


def test_an_election_is_not_asked_of_a_mutex() -> None:
    with pytest.raises(Misuse, match="not an election"):
        simulate(Scenario(algorithm="coordinator", elect=(Elect(process=1),)), find("coordinator"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        load(tmp_path / "missing.toml")
    with pytest.raises(MissingFile):
        load(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadData, match="UTF-8"):
        load(binary)


def test_limits_end_a_run() -> None:
    ring = Scenario(algorithm="token-ring", want=(Want(process=2, at_ms=5000),), until_ms=100)
    assert simulate(ring, find("token-ring")).end == "time"
    assert simulate(ring.but(max_events=50), find("token-ring")).end == "events"
    assert simulate(ring.but(want=(Want(process=2),)), find("token-ring")).end == "finished"
