"""A slow command says what it does: a word within a second, then more, on standard error only."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from vez.catalogue.algorithms import ALGORITHMS
from vez.cli.app import COMMANDS, LASTING
from vez.cli.check_progress import expectation
from vez.cli.printing import progress as module
from vez.cli.printing.progress import Line, progress
from vez.errors import Misuse
from vez.worlds.check import Configuration, Limits, check
from vez.worlds.check.estimate import expected_total, growth, processes_that_ask
from vez.worlds.sim.scenario import Scenario

SLOW = {
    "sim": ["bully", "-n", "3000"],
    "check": ["bully", "-n", "40"],
    "verify": [],
    "servers": ["load"],
    "cluster": ["--algorithm", "token-ring", "--requests", "100000"],
    "torture": ["--url", "file:slow", "--seconds", "60"],
    "detectors": ["--beats", "1000000"],
    "compare": ["mutex", "-n", "300"],
}
"""Command lines that take many seconds. The others are ended by the same code."""


class Words(io.StringIO):
    """Standard error that announces each line. `wanted` lines are awaited."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.all_said = threading.Event()
        self._wanted = wanted

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("\n") >= self._wanted:
            self.all_said.set()
        return written


@pytest.fixture
def speaking(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv(module.SWITCH)
    monkeypatch.setattr(module, "FIRST_S", 0.0)
    monkeypatch.setattr(module, "EVERY_S", 0.001)
    return monkeypatch


def said_in(speaking: pytest.MonkeyPatch, wanted: int) -> Words:
    words = Words(wanted)
    speaking.setattr(sys, "stderr", words)
    return words


def test_the_innermost_words_are_said_by_one_line_only(speaking: pytest.MonkeyPatch) -> None:
    words = said_in(speaking, 1)
    with Line("outer"):
        assert words.all_said.wait(60)
        words = said_in(speaking, 3)
        with Line("inner") as line, Line():
            line.show("now at 7")
            assert words.all_said.wait(60)
    lines = words.getvalue().splitlines()
    assert set(lines[1:]) <= {"vez: at work for 0 s: now at 7", "vez: at work for 1 s: now at 7"}
    threads = [thread for thread in threading.enumerate() if thread.name.endswith("(_speak)")]
    assert not threads


def test_a_bar_is_told_in_words(speaking: pytest.MonkeyPatch) -> None:
    with progress("runs", 40) as bar:
        bar("first")
        bar.at(12, "second")
        words = said_in(speaking, 1)
        assert words.all_said.wait(60)
    assert "runs second, 12 of 40" in words.getvalue()


def test_it_can_be_turned_off_and_a_closed_stream_does_no_harm(speaking: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        tried = threading.Event()

        def write(self, text: str) -> int:
            self.tried.set()
            raise BrokenPipeError

    speaking.setattr(sys, "stderr", Closed())
    with Line("x"):
        assert Closed.tried.wait(60)
    speaking.setenv(module.SWITCH, "none")
    with Line("x") as line:
        assert line._thread is None


def test_the_words_about_a_search_that_cannot_end_are_turned_off_too(
    speaking: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = Configuration(Scenario(algorithm="bully", n=40), ALGORITHMS["bully"])
    options: dict[str, Any] = {"reduce": False, "symmetry": False}
    expectation(configuration, options, Limits())
    assert "this search has at least 2^40" in capsys.readouterr().err
    speaking.setenv(module.SWITCH, "none")
    expectation(configuration, options, Limits())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", SLOW)
def test_a_slow_command_speaks_on_a_pipe_and_keeps_its_output_clean(command: str) -> None:
    """The first word comes before any result; then Ctrl-C ends the command."""
    environment = {name: value for name, value in os.environ.items() if name != module.SWITCH}
    line = [sys.executable, "-m", "vez", command, *SLOW[command], "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stderr is not None
        first = running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        output, _ = running.communicate(timeout=100)
    assert first.startswith(("vez: at work: ", "vez: this search has at least 2^40 (about 1e+12) states")), first
    if output:
        json.loads(output)


def test_every_command_that_ends_by_itself_is_watched() -> None:
    assert set(SLOW) <= {name for group in COMMANDS.values() for name in group} - LASTING


def test_a_slow_command_speaks_on_a_terminal() -> None:
    environment = {name: value for name, value in os.environ.items() if name != module.SWITCH}
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "vez", "check", "bully", "-n", "40"]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=theirs, env=environment | {"TERM": "xterm"}) as run:
        os.close(theirs)
        seen = b""
        while b"states, " not in seen:
            seen += os.read(ours, 65536)
        run.send_signal(signal.SIGTERM)
        run.wait(100)
    os.close(ours)
    assert seen.index(b"at least 2^40") < seen.index(b"states, ")


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_lower_bound_of_a_search_is_true(name: str) -> None:
    asked = 0
    for n in (2, 3, 4):
        try:
            configuration = Configuration(Scenario(algorithm=name, n=n), ALGORITHMS[name])
        except Misuse:  # it needs more processes
            continue
        asked = processes_that_ask(configuration)
        found = check(configuration, limits=Limits(500), pictures=False)
        assert found.states >= 2**asked
    assert asked


def test_layers_that_shrink_add_up_and_others_have_no_sum() -> None:
    assert growth([1, 5, 20]) is None
    assert growth([100, 1100, 1600]) == 0.5
    assert expected_total(1600, 500, 0.5) == 2100
    assert expected_total(1600, 500, 1.0) is None
