"""Relay: turns without the engine, with which the speed of the engine is compared.

The workers pass a baton around, a byte through a pipe from each to the next. The worker with the baton has a turn. So
only one has a turn at a time, as with a lock, and one process is woken for each turn. The time that this takes on this
machine, at this moment and with all its noise, is a lower bound for any engine.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from pathlib import Path

from vez.testing.torture.controls import RELAY, Controls
from vez.testing.torture.record import Recorder

STAY = 0.001
"""Seconds of a turn in the relay, and of a turn in a calm phase."""
_LOOK_MS = 20
"""Milliseconds after which a runner checks whether the relay is over."""


class Relay:
    """The pipes of the relay. They stay open as long as any process has them open."""

    def __init__(self, folder: Path, runners: int) -> None:
        self._pipes = [_opened(folder / f"baton-{runner}") for runner in range(1, runners + 1)]

    def begin(self, controls: Controls) -> None:
        """Give the first runner the baton, which carries the number of the relay. A baton of an earlier relay is
        removed, or dropped by the runner that has it."""
        for pipe in self._pipes:
            with suppress(BlockingIOError):
                while os.read(pipe, 16):
                    pass
        controls.next_phase(RELAY)
        os.write(self._pipes[0], bytes([controls.round]))

    def run(self, runner: int, controls: Controls, recorder: Recorder) -> None:
        """Wait for the baton, have a turn, pass it on, and repeat until the relay is over."""
        mine, following = self._pipes[runner - 1], self._pipes[runner % len(self._pipes)]
        waiting = select.poll()
        waiting.register(mine, select.POLLIN)
        controls.ready(runner)
        while controls.phase == RELAY:
            if not waiting.poll(_LOOK_MS):
                continue
            try:
                baton = os.read(mine, 1)
            except BlockingIOError:
                continue
            time.sleep(STAY)
            recorder.say("bare")
            if baton[0] == controls.round:
                os.write(following, baton)

    def close(self) -> None:
        """Close the pipes."""
        while self._pipes:
            os.close(self._pipes.pop())


def _opened(path: Path) -> int:
    with suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
