"""A long simulation shows its progress on a terminal; an interrupted one reports the result so far."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vez.core.trace_file import load

LONG = ("sim", "token-ring", "-n", "4", "--want", "2@90000000", "--until", "1e8")
"""A token that nobody wants goes round until the limit of events, which takes many seconds."""


def interrupted(*options: str) -> tuple[int, str, str]:
    """Interrupt a run as soon as the terminal shows its progress. Returns exit code, output, and the content of the
    terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vez", *LONG, *options]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200", "VEZ_PROGRESS": ""}
    shown = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as run:
        os.close(theirs)
        signalled = False
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not signalled and b"of virtual time" in shown:
                run.send_signal(signal.SIGINT)
                signalled = True
        output = run.communicate(timeout=60)[0].decode()
    os.close(ours)
    return run.returncode, output, shown.decode()


@pytest.mark.serial
def test_progress_is_shown_and_an_interrupted_run_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    code, output, shown = interrupted("--trace", str(path))
    assert code == 130
    assert "token-ring: " in shown
    assert " events, " in shown
    assert " messages" in shown
    assert "vez: interrupted after " in shown
    assert ": interrupted" in output.splitlines()[0]
    assert "exclusion" in output
    assert "Traceback" not in shown
    assert load(path).header.end == "interrupted"


@pytest.mark.serial
def test_json_says_that_the_run_was_interrupted() -> None:
    code, output, _ = interrupted("--json")
    found = json.loads(output)
    assert (code, found["end"]) == (130, "interrupted")
    assert found["messages"]["total"] > 0
