"""Nodes as separate processes, which a test can kill."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

PATIENCE = 60.0


class Running:
    """One `vez node`, its commands and its JSON lines."""

    def __init__(
        self, arguments: list[str], environment: dict[str, str], folder: Path = ROOT, before: list[str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [*(before or []), sys.executable, "-m", "vez", "node", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | environment,
        )
        self.said: list[dict[str, Any]] = []
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def do(self, *commands: str) -> None:
        assert self.process.stdin is not None
        for command in commands:
            self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def until(self, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Read lines until one fits the condition."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"waited in vain; last lines: {self.said[-5:]}") from None
            if line is None:
                assert self.process.stderr is not None
                raise AssertionError(f"the node ended: {self.process.stderr.read()}")
            self.said.append(line)
            if holds(line):
                return line

    def event(self, name: str) -> dict[str, Any]:
        return self.until(lambda line: line.get("event") == name)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> tuple[int, str]:
        """Wait for the end. Returns the exit code and the log."""
        _, errors = b"", ""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        while not self._lines.empty():
            line = self._lines.get_nowait()
            if line is not None:
                self.said.append(line)
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, errors


class Nodes:
    """The nodes of a test, of one group in one folder."""

    def __init__(self, folder: Path, algorithm: str, n: int) -> None:
        folder.chmod(0o700)
        self.folder = folder
        self._common = ["--group", ",".join(map(str, range(1, n + 1))), "--algorithm", algorithm, "--name", "t"]
        self._running: list[Running] = []

    def start(self, me: int, *more: str, state: bool = True) -> Running:
        kept = ["--state", str(self.folder / "state")] if state else []
        arguments = ["--id", str(me), *self._common, *kept, *more]
        self._running.append(Running(arguments, {"XDG_RUNTIME_DIR": str(self.folder)}))
        return self._running[-1]

    def close(self) -> None:
        for running in self._running:
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGCONT)
                running.kill()


@contextmanager
def nodes(folder: Path, algorithm: str, n: int) -> Iterator[Nodes]:
    made = Nodes(folder, algorithm, n)
    try:
        yield made
    finally:
        made.close()
