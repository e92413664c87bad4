"""However `vez cluster` ends, it leaves no node behind, and no file in the temporary folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.processes import descendants, is_alive
from vez.testing import eventually

PATIENCE = 120.0


def has_begun(folder: Path, n: int) -> bool:
    return sum(b'"started"' in path.read_bytes() for path in folder.glob("vez-cluster-*/journal/*.jsonl")) == n


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("signals", "begun", "code"),
    [
        ([signal.SIGINT], False, 130),
        ([signal.SIGTERM], False, 143),
        ([signal.SIGINT, signal.SIGINT], True, 130),
        ([signal.SIGHUP], True, 143),
    ],
    ids=lambda value: "+".join(one.name for one in value) if isinstance(value, list) else str(value),
)
def test_no_node_outlives_the_cluster(signals: list[signal.Signals], begun: bool, code: int) -> None:
    n = 3
    with tempfile.TemporaryDirectory(prefix="vez-") as name:  # short: paths of sockets are
        folder = Path(name)
        line = f"cluster -n {n} --algorithm token-ring --requests 1000 --pause 1@1+100000 --crash 2@1..50000"
        parent = subprocess.Popen(
            [sys.executable, "-m", "vez", *line.split()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": name},
        )
        try:
            if begun:
                eventually(lambda: has_begun(folder, n), "the nodes begin")
            else:
                eventually(lambda: bool(descendants(parent.pid)), "a node starts")
            children = descendants(parent.pid)
            for number in signals:
                parent.send_signal(number)
                time.sleep(0.05)  # so that the kernel does not take two for one
            _, errors = parent.communicate(timeout=PATIENCE)
            assert not [child for child in children if is_alive(child)]
            assert parent.returncode == code, errors
            assert "Traceback" not in errors
            assert not list(folder.iterdir())
        finally:
            parent.kill()
            parent.wait(60)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_node_that_is_killed_by_hand_is_named_by_the_validation() -> None:
    with tempfile.TemporaryDirectory(prefix="vez-") as name:
        kept = Path(name) / "kept"
        line = f"cluster -n 2 --algorithm token-ring --requests 1000 --keep {kept}"
        parent = subprocess.Popen([sys.executable, "-m", "vez", *line.split()], stderr=subprocess.PIPE, text=True)
        try:
            eventually(lambda: any(b'"sent"' in path.read_bytes() for path in kept.glob("journal/2-*")), "node 2 runs")
            victim = next(child for child in descendants(parent.pid) if "--id\0002\0" in command_line(child))
            os.kill(victim, signal.SIGKILL)
            _, errors = parent.communicate(timeout=PATIENCE)
            assert parent.returncode == 71
            assert "node 2 ended by itself" in errors
        finally:
            parent.kill()
            parent.wait(60)
        found = subprocess.run(
            [sys.executable, "-m", "vez", "validate", str(kept)], capture_output=True, text=True, timeout=PATIENCE
        )
        assert found.returncode == 0, found.stdout + found.stderr
        assert "what process 2 did after" in found.stdout
        assert "it was killed, or its journal was cut" in " ".join(found.stdout.split())


def command_line(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_text()
