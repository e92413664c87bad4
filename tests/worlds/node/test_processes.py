"""`vez node` as real processes: turns, SIGKILL, recovery with and without durable state, SIGSTOP, endings."""

from __future__ import annotations

import json
import signal
import socket
from itertools import pairwise
from pathlib import Path

import pytest

from tests.worlds.node.processes import Running, nodes
from vez.cli.app import run

COUNTER = "tests/worlds/node/protocols.py:Counter"


def heard(running: Running) -> list[int]:
    texts = [line["text"] for line in running.said if line.get("event") == "noted"]
    return [int(text.split()[1]) for text in texts if text.startswith("heard")]


def after(running: Running, number: int) -> None:
    """Wait until a number at least this large is received."""
    running.until(lambda line: line.get("text", "").startswith("heard") and int(line["text"].split()[1]) >= number)


def test_three_nodes_take_turns(tmp_path: Path) -> None:
    with nodes(tmp_path, "ricart-agrawala", 3) as made:
        running = [made.start(me) for me in (1, 2, 3)]
        for one in running:
            one.event("started")
        for one in running:
            one.do("want 20")
        stays = [(one.event("entered")["at"], one.event("left")["at"]) for one in running]
        ordered = sorted(stays)
        assert all(left < entered for (_, left), (entered, _) in pairwise(ordered))
        running[0].do("status", "leave", "jump")
        status = running[0].until(lambda line: "status" in line)["status"]
        assert (status["entries"], status["sent"], status["received"], status["linked"]) == (1, 4, 4, [2, 3])
        assert running[0].until(lambda line: "error" in line)["error"] == "node 1 is not inside"
        assert running[0].until(lambda line: "error" in line)["error"] == "unknown command 'jump'"
        assert running[0].close() == (0, "")  # the end of the input
        running[1].process.send_signal(signal.SIGTERM)
        assert running[1].close()[0] == 0


def test_what_a_killed_node_told_others_is_on_its_disk(tmp_path: Path) -> None:
    """Killed at any moment, it recovers with at least the number that it sent; without memory it starts again."""
    with nodes(tmp_path, COUNTER, 2) as made:
        two = made.start(2)
        one = made.start(1)
        told = 0
        for _ in range(2):
            after(two, told + 30)
            one.kill()
            one = made.start(1)
            recovered = int(one.event("noted")["text"].split()[1])
            assert recovered >= max(heard(two)) > told
            told = recovered
        after(two, told + 5)
        numbers = heard(two)
        assert numbers == sorted(set(numbers)), "in order and never twice, over three lives of the sender"
        one.kill()
        one = made.start(1, "--amnesia")
        assert one.event("recovered").get("memory", True) is False
        assert one.event("noted")["text"] == "recovered 0"


def test_a_paused_receiver_gets_everything_when_it_goes_on(tmp_path: Path) -> None:
    with nodes(tmp_path, COUNTER, 2) as made:
        one, two = made.start(1), made.start(2)
        after(two, 10)
        two.process.send_signal(signal.SIGSTOP)
        sent = before = len(heard(two))
        while sent < before + 30:
            one.do("status")
            sent = one.until(lambda line: "status" in line)["status"]["sent"]
        two.process.send_signal(signal.SIGCONT)
        after(two, before + 30)
        numbers = heard(two)
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.serial
def test_the_death_of_the_leader_is_noticed_and_another_is_elected(tmp_path: Path) -> None:
    with nodes(tmp_path, "bully", 3) as made:
        scale = ("--time-scale", "100", "--beat", "50")
        running = [made.start(me, *scale) for me in (1, 2, 3)]
        for one in running:
            one.event("started")
        running[0].do("elect")
        for one in running:
            one.until(lambda line: line.get("event") == "elected" and line["leader"] == 3)
        running[2].kill()
        for one in running[:2]:
            one.until(lambda line: line.get("event") == "suspected" and line["peer"] == 3)
            leader = None
            while leader != 2:  # not the next `elected`: on a busy machine 2 may have led before, while 3 was silent
                one.do("status")
                leader = one.until(lambda line: "status" in line)["status"]["leader"]


def test_a_node_that_was_killed_by_hand_is_not_judged_as_alive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    with nodes(tmp_path, "bully", 2) as made:
        options = ("--time-scale", "100", "--detector", "none", "--trace", str(journal))
        one, two = (made.start(me, *options) for me in (1, 2))
        one.event("linked")
        two.event("linked")
        one.do("elect")
        for node in (one, two):
            node.until(lambda line: line.get("leader") == 2)
        two.kill()
        one.do("suspect 2", "elect")
        one.until(lambda line: line.get("leader") == 1)
        one.do("stop")
        one.close()
    run(["show", str(journal), "--json"])
    properties = json.loads(capsys.readouterr().out)["properties"]
    assert properties["uniqueness"]["status"] == "holds in runs"
    assert run(["validate", str(journal)]) == 0


def test_a_node_without_state_that_was_killed_and_started_again_is_a_possible_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    with nodes(tmp_path, "bully", 2) as made:
        options = ("--time-scale", "100", "--detector", "none", "--trace", str(journal))
        one, two = (made.start(me, *options, state=False) for me in (1, 2))
        one.event("linked")
        two.event("linked")
        two.kill()
        one.event("unlinked")
        two = made.start(2, *options, state=False)
        one.event("linked")
        two.event("linked")
        one.do("elect")
        for node in (one, two):
            node.until(lambda line: line.get("leader") == 2)
        for node in (one, two):
            node.do("stop")
            node.close()
    assert run(["show", str(journal), "--json"]) in (0, 2)
    assert json.loads(capsys.readouterr().out)["properties"]["agreement"]["status"] == "holds in runs"
    run(["show", str(journal)])
    assert "back without memory" in capsys.readouterr().out
    assert run(["validate", str(journal)]) == 0


def test_a_killed_node_without_state_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with nodes(tmp_path, COUNTER, 2) as made:
        one = made.start(1, state=False)
        one.event("started")
        one.kill()
    assert not list(temporary.iterdir())


def test_the_control_socket_takes_the_same_commands(tmp_path: Path) -> None:
    with nodes(tmp_path, "token-ring", 2) as made:
        control = tmp_path / "control"
        one = made.start(1, "--control", str(control), "--hold")
        one.event("ready")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(control))
            file = client.makefile("rw")
            answers = []
            for command in ("want", "start", "status"):
                file.write(command + "\n")
                file.flush()
                answers.append(json.loads(file.readline()))
            file.close()
        assert answers[0]["error"] == "node 1 has not begun"
        assert answers[1] == {"ok": True}
        assert answers[2]["status"]["begun"] is True


def test_mistakes_on_the_command_line_are_one_line_and_a_code() -> None:
    common = ["node", "--algorithm", "bully"]
    assert run([*common, "--id", "9", "--group", "1,2"]) == 64
    assert run([*common, "--id", "1", "--group", "1=10.0.0.1:7000,2=10.0.0.2:7000"]) == 64
    assert run([*common, "--id", "1", "--group", "nowhere.toml"]) == 66
    assert run([*common, "--id", "1", "--group", "1,2", "--amnesia"]) == 64
    assert run([*common, "--id", "1", "--group", "1,2", "--set", "x=1"]) == 64


def test_a_node_that_stands_by_begins_at_a_line_and_ends_without_one(tmp_path: Path) -> None:
    """A cluster starts the node in advance. If the cluster is killed meanwhile, the node must not begin."""
    with nodes(tmp_path, "tests/worlds/node/protocols.py:Counter", 2) as made:
        unneeded = made.start(1, "--standby")
        unneeded.event("standby")
        assert unneeded.close() == (0, "")
        assert not (tmp_path / "state").exists()
        needed = made.start(1, "--standby")
        needed.event("standby")
        needed.do("")
        needed.event("started")
        needed.do("stop")
        assert needed.close() == (0, "")
