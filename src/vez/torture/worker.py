"""A worker: acquire, read, modify, write, release, again and again, until it is stopped or killed."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from types import FrameType

from vez.engines.base import Place
from vez.errors import LockTimeout
from vez.torture.record import Recorder, Register
from vez.turns.client import Client, Grant, connect

_FORK = 0.02
"""Probability of a fork while the lock is held."""
_TIMED = 0.3
"""Probability that a request has a timeout."""


class Worker:
    """The work of one process."""

    def __init__(self, folder: Path, worker: int, seed: str, client: Client, name: str) -> None:
        self.folder, self.client, self.name = folder, client, name
        self.recorder = Recorder(folder / f"{worker}.jsonl", worker)
        self.register = Register(folder / "register")
        self.chance = random.Random(seed)
        self.waiting = self.queued = False
        signal.signal(signal.SIGINT, self._interrupt)

    def run(self, until: float) -> None:
        """Work until the file `stop` exists, at most until the given time: the campaign may have died."""
        forks = (self.folder / "forks").exists()
        while time.monotonic() < until and not (self.folder / "stop").exists():
            try:
                self._turn(forks=forks)
            except KeyboardInterrupt:
                self.waiting = False
                self.recorder.say("interrupted")
            except LockTimeout:
                self.waiting = False
                self.recorder.say("refused")

    def _turn(self, *, forks: bool) -> None:
        timeout = self.chance.uniform(0, 0.05) if self.chance.random() < _TIMED else None
        self.queued = False
        lock = self.client.lock(self.name, timeout=timeout, on_wait=self._queued, label="torture")
        self.recorder.say("wanted")
        self.waiting = True
        grant = lock.acquire()
        self.waiting = False
        try:
            self.recorder.say("entered", token=grant.token)
            value = self.register.read()
            time.sleep(self.chance.choice((0, 0, 0.0005, 0.002)))
            if forks and self.chance.random() < _FORK:
                self._fork(grant)
            accepted = self.register.write(value + 1, grant.token)
            self.recorder.say("wrote", token=grant.token, value=value + 1, accepted=accepted)
        finally:
            self.recorder.say("left", token=grant.token)
            grant.release()
        time.sleep(self.chance.choice((0, 0, 0.001)))

    def _queued(self, place: Place) -> None:
        if not self.queued:
            self.queued = True
            self.recorder.say("queued")

    def _fork(self, grant: Grant) -> None:
        """Fork a child that may outlive us. It must not believe that it holds the lock, and must not keep it held."""
        if os.fork() == 0:
            try:
                if not grant.lost:
                    self.recorder.say("believer", token=grant.token)
                grant.release()
                time.sleep(self.chance.uniform(0.05, 0.3))
            finally:
                os._exit(0)
        self.recorder.say("forked")

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupt waits only: elsewhere the record could miss what the engine did."""
        if self.waiting:
            raise KeyboardInterrupt


def work(folder: Path, worker: int, seed: str, url: str, name: str, seconds: float) -> None:
    """Run one worker."""
    with connect(url) as client:
        Worker(folder, worker, seed, client, name).run(time.monotonic() + seconds)
