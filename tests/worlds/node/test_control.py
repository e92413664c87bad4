"""Wrong commands to a node, and paths at which it cannot listen for commands."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from tests.conftest import ROOT
from tests.worlds.node.processes import PATIENCE, nodes
from vez.cli.app import run
from vez.worlds.node.control import Controlled, obey


def test_bytes_that_are_not_text_are_an_unknown_command_and_the_next_one_is_obeyed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    ended = subprocess.run(
        [sys.executable, "-m", "vez", "node", "--id", "1", "--group", "1,2", "--algorithm", "lamport"],
        input=b"\xff\xfe\nwant" + b" " * 5000 + b"77\n\x00\nstatus\nstop\n",
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path), "PYTHONIOENCODING": "utf-8:strict"},
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    answers = [line for line in map(json.loads, ended.stdout.splitlines()) if "event" not in line]
    assert [answer.get("error", "")[:27] for answer in answers] == [
        "unknown command '\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}'",
        "a command has at most 1000 ",
        "unknown command '\\x00'",
        "",
    ]
    assert answers[-1]["status"]["state"] == "outside"


class Deaf:
    """A node that refuses every command."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError(name)


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ("slow", "slow needs PEER and MS", "slow PEER MS"),
        ("slow 2", "slow needs MS", "slow PEER MS"),
        ("slow 2 3 4", "slow does not take '2 3 4'", "slow PEER MS"),
        ("cut", "cut needs PEER", "cut PEER"),
        ("want 1 2 3", "want does not take '1 2 3'", "want [MS [LINGER]]"),
    ],
)
def test_a_command_says_what_it_needs(line: str, words: str, hint: str) -> None:
    assert obey(cast(Controlled, Deaf()), line) == {"error": words, "hint": hint}


def test_a_line_without_an_end_is_answered_on_the_control_socket_too(tmp_path: Path) -> None:
    with nodes(tmp_path, "token-ring", 2) as made:
        control = tmp_path / "control"
        one = made.start(1, "--control", str(control))
        one.event("ready")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(control))
            client.sendall(b"x" * 100_000)
            with client.makefile("rb") as answers:
                assert json.loads(answers.readline()) == {"error": "a command has at most 1000 characters", "hint": ""}
        second = made.start(2, "--control", str(control))  # it is that of node 1
        code, errors = second.close()
        assert code == 64
        assert "a node listens at" in errors
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(control))
            client.sendall(b"status\nstop\n")
            with client.makefile("rb") as answers:
                assert [list(json.loads(line)) for line in answers] == [["status"], ["ok"]]
            assert one.close() == (0, "")  # while this client is still connected
        assert not list(tmp_path.rglob("*.sock")), "the socket of the group"
        assert not control.exists()


@pytest.mark.parametrize("kind", ["a file", "a folder", "a long name"])
def test_a_control_socket_takes_the_place_of_nothing_else(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    place = tmp_path / ("x" * 200 if kind == "a long name" else "place")
    if kind == "a file":
        place.write_text("mine")
    elif kind == "a folder":
        place.mkdir()
    common = ["node", "--id", "1", "--group", "1,2", "--algorithm", "bully"]
    assert run([*common, "--control", str(place)]) == 69
    assert f"cannot listen at unix:{place}" in capsys.readouterr().err
    assert kind != "a file" or place.read_text() == "mine"


def test_nobody_is_told_to_close_a_directory_that_all_use(capsys: pytest.CaptureFixture[str]) -> None:
    shared = Path("/", "tmp")
    command = ["node", "--id", "1", "--group", "1,2", "--algorithm", "bully"]
    assert run([*command, "--control", str(shared / "vez.sock")]) == 64
    errors = capsys.readouterr().err
    assert f"others may enter the directory {shared}" in errors
    assert "chmod" not in errors
