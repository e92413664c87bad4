"""A node whose output is not read does not block."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.expectations import expect_no_error
from tests.worlds.node.processes import PATIENCE, nodes
from vez.worlds.node import output
from vez.worlds.node.output import Output


class Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self.found = b""

    def run(self) -> None:
        while data := os.read(self._descriptor, 1 << 16):
            self.found += data
        os.close(self._descriptor)


def read(made: Output, read_end: int, write_end: int) -> list[bytes]:
    """Everything that is read while the output is closed."""
    reader = Reader(read_end)
    reader.start()
    made.close()
    os.close(write_end)
    reader.join(PATIENCE)
    return reader.found.splitlines(keepends=True)


def test_lines_wait_and_those_that_are_too_many_are_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "MOST_BYTES", 100_000)
    read_end, write_end = os.pipe()
    made = Output(write_end)
    lines = [b"%06d %s\n" % (number, b"x" * 2000) for number in range(1000)]
    for line in lines:
        made.line(line)
    found = read(made, read_end, write_end)
    assert 0 < len(found) < len(lines)
    assert found == sorted(set(found) & set(lines)), "whole lines in their order"
    said = f"vez node: {len(lines) - len(found)} lines were left out of the output: nobody read it\n"
    assert capfd.readouterr().err == said


def test_a_reader_that_goes_away_is_not_missed() -> None:
    read_end, write_end = os.pipe()
    made = Output(write_end)
    for _ in range(500):
        made.line(b"y" * 1000 + b"\n")
    os.close(read_end)
    with expect_no_error("a reader that is gone raises EPIPE"):
        made.close()
        made.line(b"nobody\n")
    os.close(write_end)


def test_what_waits_at_the_end_is_still_read() -> None:
    read_end, write_end = os.pipe()
    made = Output(write_end)
    lines = [b"z" * 300_000 + b"\n", b"last\n"]
    for line in lines:
        made.line(line)
    assert read(made, read_end, write_end) == lines


def test_the_others_go_on_with_a_node_whose_output_nobody_reads(tmp_path: Path) -> None:
    with nodes(tmp_path, "lamport", 2) as made:
        two = made.start(2)
        arguments = ["--id", "1", "--group", "1,2", "--algorithm", "lamport", "--name", "t"]
        one = subprocess.Popen(
            [sys.executable, "-m", "vez", "node", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT,
            env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
        )  # fmt: skip
        try:
            two.event("linked")
            assert one.stdin is not None
            assert one.stdout is not None
            one.stdin.write(b"status\n" * 1000)
            one.stdin.flush()
            two.do("want 5")
            two.event("left")
            one.stdin.write(b"stop\n")
            one.stdin.flush()
            assert one.wait(PATIENCE) == 0
        finally:
            one.kill()
            one.wait(60)
            for stream in (one.stdin, one.stdout):
                if stream is not None:
                    stream.close()
        two.do("stop")
        assert two.close()[0] == 0
