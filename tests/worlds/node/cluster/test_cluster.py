"""`vez cluster`: real processes, killed, paused and cut, whose merged trace is judged like any other."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from vez.catalogue.algorithms import ALGORITHMS
from vez.cli.app import run
from vez.cli.cluster_keys import Keys
from vez.core.trace import Asked, Crashed, Cut, Healed, Noted, Paused, Recovered, Resumed, Wanted, Wrote
from vez.core.trace_file import load
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.sim.scenario import Scenario
from vez.worlds.sim.setup import Setup

QUICK = ["cluster", "--time-scale", "50", "--json"]
SCALES = (150, 500, 1500)
"""Time scales that are tried one after the other, if a run depends on the order of events and the machine may be
late."""


def report(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(capsys.readouterr().out)["properties"]
    return found


def test_real_processes_take_turns_and_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    assert (
        run([*QUICK, "--algorithm", "maekawa-fair", "-n", "3", "--requests", "1", "--think", "2", "--trace", str(path)])
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    found = said["properties"]
    assert 1e6 < said["resident_bytes"]["mean"] <= said["resident_bytes"]["most"] < 1e9
    assert found["exclusion"]["evidence"] == "3 entries, no two at once"
    assert found["starvation_freedom"]["status"] == "holds in runs"
    trace = load(path)
    assert (trace.header.end, trace.header.promises.time_scale) == ("quiet", 50)
    assert run(["show", str(path), "--diagram", "text"]) == 0
    assert run(["validate", str(path)]) == 0


def test_a_killed_leader_is_replaced_and_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    command = [*QUICK, "-n", "3", "--algorithm", "bully-stable", "--crash", "3@12..45", "--trace", str(path)]
    run(command)
    found = report(capsys)
    assert found["agreement"]["status"] == "holds in runs"
    assert found["validity"]["status"] == "holds in runs"
    events = load(path).events
    crash = next(event for event in events if isinstance(event, Crashed))
    recovery = next(event for event in events if isinstance(event, Recovered))
    assert (crash.process, recovery.process, recovery.memory) == (3, 3, True)
    assert crash.at < recovery.at
    assert run(["validate", str(path)]) == 0


def test_no_leader_is_owed_if_the_only_starter_is_killed_before_it_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    options = ["-n", "3", "--algorithm", "bully", "--elect", "2@10", "--crash", "2@5", "--trace", str(path)]
    assert run([*QUICK, *options]) == 0
    found = report(capsys)
    words = "no election started: nobody was asked, process 2 crashed before"
    for name in ("termination", "agreement", "validity"):
        assert (found[name]["status"], found[name]["evidence"]) == ("not judged", words)
    assert not any(isinstance(event, Asked) for event in load(path).events)
    assert run(["validate", str(path)]) == 0


def test_pauses_and_cuts_are_in_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    options = ["--pause", "2@1+6", "--cut", "1>2@1..8", "--want", "1@2+1", "--want", "2@3+1", "--trace", str(path)]
    assert run([*QUICK, "-n", "2", "--algorithm", "ricart-agrawala", *options]) == 0
    assert report(capsys)["exclusion"]["status"] == "holds in runs"
    events = load(path).events
    kinds = [type(event) for event in events if isinstance(event, Paused | Resumed | Cut | Healed)]
    assert kinds == [Cut, Paused, Resumed, Healed] or kinds == [Paused, Cut, Resumed, Healed]


def test_a_scenario_of_the_simulator_is_played_by_real_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A paused holder of a lease: two are inside, and the late write is refused, as the file expects."""
    path = tmp_path / "run.jsonl"
    for scale in SCALES:
        options = ["--time-scale", str(scale), "--trace", str(path), "--json"]
        code = run(["cluster", "--scenario", "scenarios/03-lease-holder-slow.toml", *options])
        found = json.loads(capsys.readouterr().out)
        events = load(path).events
        woken = next(event for event in events if isinstance(event, Resumed))
        if any(isinstance(event, Wrote) and (event.process, event.at < woken.at) == (3, True) for event in events):
            break  # the lease has run out, and the next holder was in before the first one woke, as planned
    assert code == 1
    assert found["unexpected"] == []
    assert found["properties"]["exclusion"]["status"] == "broken"
    assert found["properties"]["fenced_exclusion"]["status"] == "holds in runs"
    late = next(
        event for event in events if isinstance(event, Wrote) and event.process == woken.process and event.at > woken.at
    )
    assert not late.accepted
    assert run(["validate", str(path)]) == 0


def test_a_folder_that_is_kept_is_judged_as_the_run_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("run.jsonl", "again.jsonl")]
    options = ["-n", "3", "--algorithm", "bully", "--elect", "1@0", "--crash", "3@20", "--pause", "1@40+5"]
    code = run([*QUICK, *options, "--keep", str(tmp_path / "kept"), "--trace", str(paths[0])])
    found = report(capsys)
    assert run(["show", str(tmp_path / "kept"), "--json", "--trace", str(paths[1])]) == code
    assert report(capsys) == found
    first, again = map(load, paths)
    assert first.events == again.events
    assert (first.header.end, first.header.ended_at) == (again.header.end, again.header.ended_at)
    (tmp_path / "kept" / "run.json").write_text("{}")
    assert run(["show", str(tmp_path / "kept")]) == 65
    assert "run.json is damaged" in capsys.readouterr().err


def test_a_folder_with_an_earlier_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the nodes would recover from the fields of the earlier run, and both runs would be merged into one
    trace."""
    folder = tmp_path / "kept"
    command = [*QUICK, "-n", "2", "--algorithm", "coordinator", "--want", "2@0+1", "--keep", str(folder)]
    assert run(command) == 0
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["journal", "state"]
    assert run(command) == 64
    assert "kept holds an earlier run" in capsys.readouterr().err
    assert run(["validate", str(folder)]) == 0  # its journals, without what only the cluster knew
    assert run(["show", str(folder)]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--recoveries", "1"], "nobody crashes"),
        (["--within", "5"], "--within has no effect"),
        (["--drift", "1=2"], "lamport sets no timers"),
        (["--suspect", "1:2"], "does not use a failure detector"),
        (["-n", "100000"], "100000 real processes are too many"),
    ],
)
def test_options_that_nobody_would_notice_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert run([*QUICK, "--algorithm", "lamport", *options]) == 64
    assert words in capsys.readouterr().err


def test_a_node_that_ends_by_itself_ends_the_run_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A handler with a mistake: the others are stopped, the trace is kept, and the line of the mistake is reported."""
    path = tmp_path / "run.jsonl"
    algorithm = str(Path("tests/worlds/node/protocols.py").resolve()) + ":Faulty"
    command = [*QUICK, "-n", "2", "--algorithm", algorithm, "--want", "2@0+1", "--trace", str(path)]
    assert run([*command, "--keep", str(tmp_path / "kept")]) == 65
    said = capsys.readouterr()
    assert "node 2 ended by itself: Faulty: on_want raised ZeroDivisionError: no reason" in said.err
    found = json.loads(said.out)["properties"]["no_exceptions"]
    assert found["status"] == "broken"
    assert "ZeroDivisionError: no reason" in found["evidence"]
    assert "protocols.py, line " in found["evidence"]
    trace = load(path)
    assert trace.header.end == "raised"
    assert [type(event) for event in trace.events[-2:]] == [Wanted, Noted]
    assert run(["validate", str(path), "--algorithm", algorithm]) == 0
    capsys.readouterr()
    run(["show", str(tmp_path / "kept"), "--algorithm", algorithm, "--json"])
    assert report(capsys)["no_exceptions"] == found


def test_a_remark_may_be_longer_than_the_lines_that_asyncio_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    algorithm = str(Path("tests/worlds/node/protocols.py").resolve()) + ":Talkative"
    assert run([*QUICK, "-n", "2", "--algorithm", algorithm, "--want", "2@0+1", "--trace", str(path)]) == 0
    assert report(capsys)["exclusion"]["evidence"] == "1 entry, no two at once"
    assert [len(event.text) for event in load(path).events if isinstance(event, Noted)] == [200_000, 2_100_000]


def test_a_member_can_be_stopped_after_somebody_gave_up_waiting_for_its_end(tmp_path: Path) -> None:
    """A run whose time is over while a node is being killed: the step is cancelled, and all nodes are stopped."""

    async def test() -> None:
        tmp_path.chmod(0o700)
        setup = Setup(Scenario(algorithm="coordinator", n=2), ALGORITHMS["coordinator"])
        member = Cluster(setup, tmp_path, time_scale=1.0, watch=lambda _: None).members[1]
        await member.start("--hold")
        waiting = asyncio.create_task(member.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await member.stop()
        assert not member.is_alive

    asyncio.run(test())


def test_a_key_that_the_algorithm_does_not_know_does_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        tmp_path.chmod(0o700)
        setup = Setup(Scenario(algorithm="bully", n=2), ALGORITHMS["bully"])
        running = Cluster(setup, tmp_path, time_scale=1.0, watch=lambda _: None)
        member = running.members[1]
        await member.start("--hold")
        running.has_begun = True
        keys = Keys(running)
        keys.press("w")
        assert not running.inside  # it would be shown as waiting for ever
        assert "want" not in keys.help
        assert "elect" in keys.help
        for key in "²٣é\n ":
            keys.press(key)  # characters that are not keys, such as digits of other scripts
        assert keys.chosen == 1
        await member.stop()

    asyncio.run(test())


def test_what_was_done_to_channels_is_done_again_to_a_node_that_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        tmp_path.chmod(0o700)
        setup = Setup(Scenario(algorithm="coordinator", n=3), ALGORITHMS["coordinator"])
        running = Cluster(setup, tmp_path, time_scale=10.0, watch=lambda _: None)
        member = running.members[1]
        await member.start()
        await running.cut(1, 3)
        running.slow(1, 2, 5.0)
        running.slow(1, 3, 5.0)
        running.slow(1, 3, 0.0)
        await running.crash(1)
        told = list[str]()
        monkeypatch.setattr(member, "do", told.append)
        await running.recover(1)
        assert told == ["cut 3", "slow 2 50.000"]
        await member.kill()

    asyncio.run(test())


def test_keys_crash_and_recover_nodes_while_they_run(tmp_path: Path) -> None:
    """In a real terminal of 60 columns: choose node 2, kill it, start it again without memory, cut 1→2, end."""
    path = tmp_path / "run.jsonl"
    arguments = ["cluster", "-i", "-n", "2", "--algorithm", "coordinator", "--requests", "0", "--trace", str(path)]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "60"
        os.execv(sys.executable, [sys.executable, "-m", "vez", *arguments])  # noqa: S606

    def until(words: str) -> None:
        seen, deadline = "", time.monotonic() + 60
        while words not in seen:
            assert select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0], seen[-500:]
            seen += os.read(terminal, 10_000).decode(errors="replace")

    up = "│    2 │       │"
    for keys, words in (
        (b"", up),
        (b"2c", "dead"),
        (b"a", up),
        (b"x", "cut: 1→2"),
        (b"s", "slow: 1→2"),
        (b"q", "wrote"),
    ):
        os.write(terminal, keys)
        until(words)
    os.waitpid(pid, 0)
    os.close(terminal)
    events = load(path).events
    assert [event.process for event in events if isinstance(event, Crashed)] == [2]
    assert [event.memory for event in events if isinstance(event, Recovered)] == [False]
    assert [(event.process, event.to) for event in events if isinstance(event, Cut)] == [(1, 2)]
