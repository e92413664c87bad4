"""A cluster ends when nothing is under way, and never before: real processes, and a model with random timing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.worlds.node.protocols import Greeting, Watchful
from vez.cli.app import run
from vez.core import Process
from vez.core.trace import Delivered, Fired, Lost, Noted, Sent, Trace
from vez.core.trace_file import load
from vez.worlds.node.cluster import stillness
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.node.cluster.scripted import can_suspect_the_living
from vez.worlds.node.cluster.stillness import Stillness
from vez.worlds.sim.scenario import Detector, Network, Scenario
from vez.worlds.sim.setup import Setup

PROTOCOLS = str(Path("tests/worlds/node/protocols.py").resolve())


def trace_of(folder: Path, name: str, *options: str, code: int = 0) -> Trace:
    """The trace of a run of two nodes, which the validation accepts as complete."""
    path = folder / "run.jsonl"
    algorithm = name if name.islower() else f"{PROTOCOLS}:{name}"
    limits = [] if "--seconds" in options else ["--seconds", "600"]  # the test would hit its own limit before this one
    assert run(["cluster", "-n", "2", "--algorithm", algorithm, "--trace", str(path), *limits, *options]) == code
    assert run(["validate", str(path), "--algorithm", algorithm]) == 0  # no message in transit, no running timer
    return load(path)


def test_a_process_without_a_role_ends_when_nothing_is_under_way(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, "Greeting")
    assert trace.header.end == "quiet"
    assert sum(isinstance(event, Delivered) for event in trace.events) == 1


def test_late_messages_timers_and_frames_behind_a_cut_are_waited_for(tmp_path: Path) -> None:
    """Nothing at all happens between the start, the end of the cut, the timer, and the arrival of the messages."""
    options = ("--time-scale", "50", "--delay", "8", "--cut", "1>2@0..8", "--set", "again_ms=25")
    trace = trace_of(tmp_path, "Greeting", *options)
    assert trace.header.end == "quiet"
    assert [type(event) for event in trace.events if isinstance(event, Fired | Delivered)] == [
        Delivered,
        Fired,
        Delivered,
    ]


def test_a_paused_node_is_waited_for(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, "Greeting", "--time-scale", "100", "--set", "again_ms=3", "--pause", "2@1+12")
    assert trace.header.end == "quiet"
    assert sum(isinstance(event, Delivered) for event in trace.events) == 2


def test_frames_behind_a_cut_that_stays_are_still_in_transit(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, "Greeting", "--cut", "1>2@0", "--seconds", "2")
    assert trace.header.end == "time"
    assert sum(isinstance(event, Sent) for event in trace.events) == 1
    assert not any(isinstance(event, Delivered | Lost) for event in trace.events)


@pytest.mark.parametrize("detector", ["perfect", "heartbeat"])
def test_a_crash_is_noticed_before_the_end(tmp_path: Path, detector: str) -> None:
    trace = trace_of(tmp_path, "Watchful", "--crash", "1@5", "--detector", detector)
    assert trace.header.end == "quiet"
    assert [event.text for event in trace.events if isinstance(event, Noted)] == ["suspects 1"]


def test_a_run_that_loses_heartbeats_goes_on_because_a_live_peer_may_be_suspected(tmp_path: Path) -> None:
    options = ("--detector", "heartbeat", "--loss", "0.8", "--time-scale", "20", "--seconds", "3")
    trace = trace_of(tmp_path, "Watchful", *options)
    assert trace.header.end == "time"
    assert any(isinstance(event, Noted) and event.text.startswith("suspects") for event in trace.events)


def test_a_channel_that_becomes_slow_makes_a_live_peer_suspected(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    scenario = Scenario(algorithm=f"{PROTOCOLS}:Watchful", n=2, detector=Detector(kind="heartbeat"))

    def watch(running: Cluster) -> None:
        if running.has_begun and not running.slowed:
            running.slow(1, 2, 50.0)

    async def ran() -> Trace:
        return await Cluster(Setup(scenario, Watchful), tmp_path, time_scale=20.0, watch=watch).run(1.5)

    trace = asyncio.run(ran())
    assert trace.header.end == "time"
    assert "suspects 1" in [event.text for event in trace.events if isinstance(event, Noted)]


@pytest.mark.parametrize(
    ("kind", "network", "algorithm", "errs"),
    [
        ("heartbeat", Network(), Watchful, False),
        ("heartbeat", Network(loss=0.01), Watchful, True),
        ("heartbeat", Network(loss=0.01), Greeting, False),  # nobody is told
        ("perfect", Network(loss=0.01), Watchful, False),
        ("none", Network(loss=0.01), Watchful, False),
        ("adaptive", Network(delay="uniform(0.5, 1.5)"), Watchful, True),
        ("phi", Network(delay="exponential(1)"), Watchful, True),
        ("heartbeat", Network(delay=9.0), Watchful, False),
        ("heartbeat", Network(delay=10.0), Watchful, True),  # with the interval of 5 ms, as long as the timeout
        ("phi", Network(delay=1.0), Watchful, False),
        ("heartbeat", Network(reorder=0.5, duplicate=0.5), Watchful, False),  # done to messages only
    ],
)
def test_what_can_make_a_detector_suspect_the_living(
    kind: Any, network: Network, algorithm: type[Process], errs: bool
) -> None:
    scenario = Scenario(algorithm="", n=2, network=network, detector=Detector(kind=kind))
    assert can_suspect_the_living(Setup(scenario, algorithm)) is errs


def test_waiters_whom_nobody_will_let_in_are_a_deadlock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = trace_of(tmp_path, "ricart-agrawala", "--requests", "1", "--think", "1", "--loss", "1", code=1)
    assert trace.header.end == "quiet"
    assert "deadlock_freedom     broken" in capsys.readouterr().out


class Net:
    """A model of nodes and links. It takes random steps; the status of a node is read at random moments."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.ids = range(1, self.chance.randint(2, 4) + 1)
        self.lives = dict.fromkeys(self.ids, 1)
        self.steps = dict.fromkeys(self.ids, 0)
        self.timers = dict.fromkeys(self.ids, 0)
        self.wire: dict[tuple[int, int], list[int]] = {}  # channel → lives of the sender, one for each frame in transit
        self.kept: dict[tuple[int, int], int] = {}  # channel → messages that are not acknowledged
        self.dead: set[int] = set()
        self.faults = self.chance.randint(0, 2)
        self.left = self.chance.randint(2, 12)  # messages that are still sent, so that every run ends
        self.work(1)

    def work(self, me: int) -> None:
        """One handler."""
        self.steps[me] += 1
        if self.left and self.chance.random() < 0.3:
            self.left -= 1
            self.timers[me] += 1
        for _ in range(self.chance.randint(0, min(2, self.left))):
            self.left -= 1
            channel = me, self.chance.choice([one for one in self.ids if one != me])
            self.kept[channel] = self.kept.get(channel, 0) + 1
            self.wire.setdefault(channel, []).append(self.lives[me])

    def moves(self) -> list[Callable[[], None]]:
        """Everything that can happen next."""
        found: list[Callable[[], None]] = []
        for (sender, to), frames in self.wire.items():
            if frames and to not in self.dead:
                found.append(lambda sender=sender, to=to: self.deliver(sender, to))  # type: ignore[misc]
        found += [lambda me=me: self.fire(me) for me in self.ids if self.timers[me]]  # type: ignore[misc]
        if self.faults:
            found.append(self.fault)
        return found

    def deliver(self, sender: int, to: int) -> None:
        life = self.wire[sender, to].pop(0)
        if life == self.lives[sender] and sender not in self.dead:
            self.kept[sender, to] -= 1
        self.work(to)

    def fire(self, me: int) -> None:
        self.timers[me] -= 1
        self.work(me)

    def fault(self) -> None:
        """Kill a node, or start a dead one again. What was sent to it is lost; what it sent may still arrive."""
        self.faults -= 1
        me = self.chance.choice(list(self.ids))
        if me in self.dead:
            self.dead.discard(me)
            self.lives[me] += 1
            self.steps[me] = 0
            self.work(me)
            return
        self.dead.add(me)
        self.timers[me] = 0
        for sender, to in list(self.wire):
            if to == me:
                self.wire[sender, to] = []
                self.kept[sender, to] = 0
            elif sender == me:
                self.kept[sender, to] = 0

    def status(self, me: int) -> dict[str, Any]:
        frames = {sender: found for (sender, to), found in self.wire.items() if to == me and found}
        kept = {str(to): count for (sender, to), count in self.kept.items() if sender == me and count}
        return {
            "begun": True, "ends": False, "state": "outside", "arrived": 0, "watched": [], "suspected": [], "doubted": [],
            "incarnation": str(self.lives[me]), "steps": self.steps[me], "timers": ["t"] * self.timers[me],
            "unacknowledged": kept, "sources": {str(sender): str(found[0]) for sender, found in frames.items()},
        }  # fmt: skip

    def run(self) -> int:
        """Take random steps and read random statuses until the verdict is `quiet`. Returns how many moves were still
        possible then."""
        judge, answers = Stillness(), dict[int, dict[str, Any]]()
        while judge.verdict != "quiet":
            moves = self.moves()
            asked = [me for me in self.ids if me not in answers and me not in self.dead]
            if moves and (not asked or self.chance.random() < 0.5):
                self.chance.choice(moves)()
                answers = {me: one for me, one in answers.items() if one["incarnation"] == str(self.lives[me])}
            elif asked:
                me = self.chance.choice(asked)
                answers[me] = self.status(me)
            if all(me in answers for me in self.ids if me not in self.dead):
                alive = {me: one for me, one in answers.items() if me not in self.dead}
                judge.look(alive, set(), planned=self.faults > 0)
                answers = {}
        return len(self.moves())


def false_ends(seeds: int) -> int:
    return sum(Net(seed).run() > 0 for seed in range(seeds))


def test_no_run_ends_while_something_can_still_happen() -> None:
    assert false_ends(1500) == 0


def _one_round(self: Stillness, statuses: Any, cuts: Any, *, planned: bool) -> None:
    moving = planned or any(stillness.under_way(me, statuses, cuts) for me in statuses)
    self.verdict = "moving" if moving else "quiet"


def _without(*fields: str) -> Callable[..., str]:
    original = stillness.under_way

    def look(me: int, statuses: Any, cuts: Any) -> str:
        blind = {
            one: {**status, **{field: type(status[field])() for field in fields}} for one, status in statuses.items()
        }
        return original(me, blind, cuts)

    return look


def test_a_judge_with_a_mistake_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model can tell: one round is not enough, and neither is any fewer of the facts."""
    for target, name, wrong in (
        (Stillness, "look", _one_round),
        (stillness, "under_way", _without("timers")),
        (stillness, "under_way", _without("unacknowledged")),
        (stillness, "under_way", _without("sources")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, wrong)
            assert false_ends(1500) > 0
