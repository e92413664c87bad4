"""The content of the scenarios of leader election, beyond their verdicts."""

from __future__ import annotations

from pathlib import Path

from vez.catalogue.load import load_algorithm
from vez.core.trace import Elected, Sent, Status, Suspected, Trace
from vez.judge.properties import History
from vez.study.report import run_and_report
from vez.worlds.sim.scenario import load

FOLDER = Path(__file__).parents[4] / "scenarios"


def play(name: str) -> Trace:
    scenario = load(FOLDER / f"{name}.toml")
    return run_and_report(scenario, load_algorithm(scenario.algorithm), debug=True).trace


def test_13_the_seeds_tables() -> None:
    one = play("13-ring-anonymous-one")
    assert [(event.process, event.kind) for event in one if isinstance(event, Sent)] == [
        (1, "VoteForMe"), (2, "VoteForMe"), (1, "HabemusLeader"), (2, "HabemusLeader"),
    ]  # fmt: skip
    two = play("13-ring-anonymous-two")
    states = {
        process: [event.text for event in two if isinstance(event, Status) and event.process == process]
        for process in (1, 2)
    }
    assert states[1] == states[2] == ["follower", "candidate", "elected", "in office"]


def test_15_the_bridge_decides_how_many_leaders_there_are() -> None:
    assert {event.leader for event in play("15-yoyo") if isinstance(event, Elected)} == {2}
    cut = play("15-yoyo-bridge-cut")
    views = {event.process: event.leader for event in cut if isinstance(event, Elected)}
    assert views == {process: 2 if process < 8 else 8 for process in (*range(2, 13),)}


def test_16_the_leaders_as_processes_fail() -> None:
    trace = play("16-luis")
    for process in (1, 3):
        assert [event.leader for event in trace if isinstance(event, Elected) and event.process == process] == [
            5,
            4,
            4,
            3,
        ]
    assert not any(isinstance(event, Sent) for event in trace)


def test_16_they_disagree_while_the_detector_is_wrong() -> None:
    trace = play("16-luis-wrong-detector")
    assert sum(isinstance(event, Suspected) for event in trace) == 2
    assert [reign.leader for reign in History(trace).reigns] == [5, 4]


def test_17_two_leaders_with_bully_one_with_majority_one_when_healed() -> None:
    bully, majority = History(play("17-partition-bully")), History(play("17-partition-majority"))
    assert [leaders(bully, at) for at in (25, 60, 115)] == [{5}, {3, 5}, {5}]
    assert [len(leaders(majority, at)) for at in (25, 60, 75, 129)] == [1, 1, 1, 1]
    assert len({reign.term for reign in majority.reigns}) == len(majority.reigns)


def test_17_a_forgotten_vote() -> None:
    history = History(play("17-majority-amnesia"))
    assert [(reign.leader, reign.term) for reign in history.reigns] == [(1, 1), (3, 1)]


def leaders(history: History, at_ms: float) -> set[int]:
    return {reign.leader for reign in history.reigns if reign.start <= at_ms * 1000 < reign.end}
