"""Real nodes carry out the messages, timers, choices and fields of a scenario, and their trace is possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.node.cluster.test_cluster import QUICK
from vez.catalogue.mutex.lamport import Lamport
from vez.catalogue.mutex.ricart_agrawala import RicartAgrawala
from vez.cli.app import run
from vez.core.trace import AnyEvent, Crashed, Delivered, Lost, Recovered, Sent, Started, Suspected, Trusted
from vez.core.trace_file import load
from vez.worlds.node.cluster.program import make_program
from vez.worlds.node.cluster.scripted import Earlier, Scripted
from vez.worlds.node.conditions import Fate
from vez.worlds.sim.scenario import Choice, Crash, Drift, Nemesis, Network, Scenario, Timer, Want
from vez.worlds.sim.scenario import Fate as Given
from vez.worlds.sim.setup import Setup
from vez.worlds.sim.simulation import with_drawn_faults


def scripted(me: int = 1, scale: float = 10, earlier: Earlier | None = None, **parts: Any) -> Scripted:
    setup = Setup(Scenario(algorithm="ricart-agrawala", n=3, **parts), RicartAgrawala)
    return Scripted(setup, me, scale, earlier or Earlier())


def test_delays_are_scaled_and_the_same_for_the_same_seed() -> None:
    assert scripted(network=Network(delay=2.0)).message(2) == Fate((20_000,))
    varied = [scripted(seed=seed, network=Network(delay="uniform(1, 9)")) for seed in (1, 1, 2)]
    draws = [[one.message(2).delays_us for _ in range(20)] for one in varied]
    assert draws[0] == draws[1] != draws[2]
    assert all(10_000 <= delay <= 90_000 for (delay,) in draws[0])


def test_loss_copies_and_reordering_have_their_share() -> None:
    world = scripted(network=Network(delay=1.0, loss=0.5, duplicate=0.5, reorder=0.5))
    fates = [world.message(2) for _ in range(400)]
    assert 150 < sum(fate == Fate((), lost=True) for fate in fates) < 250
    assert 60 < sum(len(fate.delays_us) == 2 for fate in fates) < 140
    assert any(fate.delays_us[0] > 10_000 for fate in fates if fate.delays_us)
    assert world.alters == ("order", "copies")
    assert world.message(1) == Fate((10_000,)), "a message to oneself needs no network"
    assert 150 < sum(world.beat(2) is None for _ in range(400)) < 250


def test_a_message_a_choice_and_a_timer_are_named_by_their_numbers_over_all_lives() -> None:
    parts: dict[str, Any] = {
        "message": (
            Given(sender=1, to=2, number=2, lost=True, copies=(3,)),
            Given(sender=2, to=1, number=1, lost=True),
        ),
        "choice": (Choice(process=1, number=2, index=4),),
        "timer": (Timer(process=1, number=1, after_ms=7),),
        "drift": (Drift(process=1, rate=1.5),),
    }
    world = scripted(**parts)
    assert [world.message(2) for _ in range(3)] == [Fate((0,)), Fate((30_000,), lost=True), Fate((0,))]
    assert [world.choice(), world.choice(), world.choice()] == [None, 4, None]
    assert [world.timer_ms(1.0), world.timer_ms(1.0)] == [7, 1.0]
    assert (world.drift, world.fifo, "clock" in world.alters, "timers" in world.alters) == (1.5, False, True, True)
    earlier = Earlier()
    earlier.messages[2], earlier.choices, earlier.timers = 1, 1, 1
    later = scripted(earlier=earlier, **parts)
    assert (later.message(2).lost, later.choice(), later.timer_ms(1.0)) == (True, 4, 1.0)


def test_random_faults_are_those_of_the_simulator() -> None:
    scenario = Scenario(algorithm="lamport", n=3, seed=4, nemesis=Nemesis(crashes=1, recoveries=1, pauses=1))
    drawn = with_drawn_faults(scenario, Lamport)
    steps = make_program(Setup(drawn, Lamport)).steps
    assert sorted(step.kind for step in steps) == ["crash", "pause", "recover", "resume"]
    assert drawn == with_drawn_faults(scenario, Lamport)
    assert drawn.nemesis == Nemesis()


def test_requests_of_one_time_keep_their_order_and_a_crash_at_the_start_comes_first() -> None:
    scenario = Scenario(
        algorithm="lamport", n=3, want=tuple(Want(process=one) for one in (3, 1, 2)), crash=(Crash(process=2, at_ms=0),)
    )
    program = make_program(Setup(scenario, Lamport))
    times = {process: stays[0].at_ms or 0.0 for process, stays in program.stays.items()}
    assert times[3] < times[1] < times[2] < 1
    assert (program.stillborn, program.steps) == ((2,), [])


def play(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> tuple[dict[str, Any], tuple[AnyEvent, ...]]:
    """Run a scenario with real processes. Returns the report and the events, which must be a possible run of the
    algorithm."""
    scenario, path = tmp_path / "scenario.toml", tmp_path / "run.jsonl"
    scenario.write_text(text)
    run([*QUICK, "--scenario", str(scenario), "--trace", str(path)])
    found = json.loads(capsys.readouterr().out)
    assert run(["validate", str(path)]) == 0, capsys.readouterr().out
    return found, load(path).events


def test_fields_losses_copies_and_a_crash_inside_a_handler_in_one_real_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Process 3 dies after the first of its two requests left; process 1 loses one, and one arrives twice."""
    found, events = play(
        tmp_path,
        capsys,
        """
        algorithm = "ricart-agrawala"
        n = 3
        until_ms = 60
        initial.2.clock = 40
        want = [{ process = 1 }, { process = 3, at_ms = 3 }]
        crash = [{ process = 3, at_ms = 0.5, after_actions = 1 }]
        message = [
            { sender = 1, to = 3, number = 1, lost = true },
            { sender = 1, to = 2, number = 1, copies = [2] },
        ]
        """,
    )
    clocks = {event.process: event.fields["clock"] for event in events if isinstance(event, Started)}
    assert clocks == {1: 0, 2: 40, 3: 0}
    sent = [event for event in events if isinstance(event, Sent)]
    arrived = [event.message for event in events if isinstance(event, Delivered)]
    lost = [(event.process, event.reason) for event in events if isinstance(event, Lost)]
    first = next(event.message for event in sent if (event.process, event.to) == (1, 2))
    assert arrived.count(first) == 2
    assert (1, "loss") in lost
    assert [event.to for event in sent if event.process == 3] == [1], "it died after one action"
    assert [event.process for event in events if isinstance(event, Crashed)] == [3]
    assert found["properties"]["exclusion"]["status"] == "holds in runs"


def test_wrong_suspicions_and_the_perfect_detector_in_one_real_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Process 3 is dead from the start, which the cluster tells; 1 suspects 2 wrongly; 3 comes back and is trusted."""
    _, events = play(
        tmp_path,
        capsys,
        """
        algorithm = "luis"
        n = 3
        until_ms = 2000
        crash = [{ process = 3, at_ms = 0, recover_ms = 9 }]
        suspect = [{ process = 1, peer = 2, at_ms = 4, until_ms = 6 }]
        """,
    )
    words = [(event.process, event.peer) for event in events if isinstance(event, Suspected)]
    assert words.count((1, 2)) == 1
    assert {(1, 3), (2, 3)} <= set(words)
    assert {(1, 2), (1, 3), (2, 3)} <= {(event.process, event.peer) for event in events if isinstance(event, Trusted)}
    kinds = [type(event) for event in events if event.process == 3 and isinstance(event, Started | Crashed | Recovered)]
    assert kinds == [Started, Crashed, Recovered]
