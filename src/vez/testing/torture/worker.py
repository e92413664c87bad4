"""A worker: it repeats acquire, read, modify, write and release until it is stopped or killed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from types import FrameType

from vez.errors import EngineUnavailable, LockTimeout, OwnershipLost
from vez.locks.engines.base import Place
from vez.locks.engines.local.core import Superseded
from vez.locks.turns.client import Client, Election, Grant, Lock, connect
from vez.testing.torture import inner_faults
from vez.testing.torture.controls import CALM, RELAY, Controls
from vez.testing.torture.record import Recorder, Register
from vez.testing.torture.relay import STAY, Relay
from vez.testing.torture.stays import FRESH, Target, targets

_FORK = 0.02
"""Probability of a fork while the lock is held."""
_TIMED = 0.3
"""Probability that a request has a timeout."""
_SHARED = 0.7
"""Probability that a request for the read/write lock is shared."""
_FRESH_TURN = 0.3
"""Probability of a turn with one of the seldom used names."""
_RANGE_ENDS = 0.05
"""Probability that a turn begins at the end of a range of tokens, if syncs may fail."""


class Worker:
    """The work of one process."""

    def __init__(self, folder: Path, worker: int, seed: str, client: Client, name: str, recorder: Recorder,
                 controls: Controls) -> None:  # fmt: skip
        self.folder, self.client, self.name, self.worker = folder, client, name, worker
        self.recorder, self.controls = recorder, controls
        self.relay = Relay(folder, controls.workers)
        faults, kinds = (_words(folder / what) for what in ("faults", "kinds"))
        found = targets(kinds or ("lock",), fresh=needs_fresh(faults))
        self.targets = [target for target in found if not target.suffix.startswith(FRESH)]
        self.fresh = [target for target in found if target.suffix.startswith(FRESH)]
        self.registers = {target: Register(folder / f"register{target.suffix}") for target in found}
        self.may_fail = not MAY_FAIL.isdisjoint(faults)
        self.breaks, self.forks, self.syncs = ("break" in faults, "fork" in faults, "fsync" in faults)
        self.chance = random.Random(seed)
        self.waiting = self.queued = False
        signal.signal(signal.SIGINT, self._interrupt)

    def run(self, until: float) -> None:
        """Work until the file `stop` exists, at most until the given time: the campaign may have died."""
        while time.monotonic() < until and not (self.folder / "stop").exists():
            phase = self.controls.phase
            if phase == RELAY:
                self.relay.run(self.worker, self.controls, self.recorder)
                continue
            try:
                self._turn(calm=phase == CALM)
            except KeyboardInterrupt:
                self.waiting = False
                self.recorder.say("interrupted")
            except LockTimeout:
                self.waiting = False
                self.recorder.say("refused")
            except OwnershipLost:  # broken: a holder is told when it leaves, a waiter when its turn comes
                self.recorder.say("refused" if self.waiting else "lost")
                self.waiting = False
            except EngineUnavailable:
                if not self.may_fail:
                    raise
                self.waiting = False
                self.recorder.say("failed")
                time.sleep(0.001)

    def _turn(self, *, calm: bool) -> None:
        timeout = self.chance.uniform(0, 0.05) if not calm and self.chance.random() < _TIMED else None
        self.queued = False
        target = self._target(calm=calm)
        shared = target.kind == "read-write" and self.chance.random() < _SHARED
        self.recorder.name = target.suffix
        if self.syncs and not calm and (self.controls.sync_error(self.worker) or self.chance.random() < _RANGE_ENDS):
            with suppress(Superseded):
                inner_faults.skip_range(self.client.engine, target.engine_kind, target.name(self.name))
        lock = self._lock(target, timeout, shared=shared)
        self.recorder.say("wanted")
        self.waiting = True
        grant = lock.acquire()
        self.waiting = False
        try:
            self.recorder.say("entered", token=grant.token, shared=shared)
            writes = target.limit == 1 and not shared
            value = self._read(target, grant.token) if writes else 0
            time.sleep(STAY if calm else self._stay())
            if self.forks and not calm and self.chance.random() < _FORK:
                self._fork(grant)
            if writes:
                accepted = self.registers[target].write(value + 1, grant.token)
                self.recorder.say("wrote", token=grant.token, value=value + 1, accepted=accepted)
        finally:
            self.recorder.say("left", token=grant.token)
            grant.release()
        if not calm:
            time.sleep(self.chance.choice((0, 0, 0.001)))

    def _target(self, *, calm: bool) -> Target:
        if self.fresh and not calm and self.chance.random() < _FRESH_TURN:
            return self.chance.choice(self.fresh)
        return self.targets[0] if len(self.targets) == 1 else self.chance.choice(self.targets)

    def _stay(self) -> float:
        return self.chance.choice((0, 0, 0.0005, 0.02 if self.breaks else 0.002))  # a break takes a while

    def _read(self, target: Target, token: int) -> int:
        """Read the number. After a break the previous holder may still write, so its token must be refused from now
        on."""
        register = self.registers[target]
        return register.admit(token) if self.breaks else register.read()

    def _lock(self, target: Target, timeout: float | None, *, shared: bool) -> Lock | Election:
        name = target.name(self.name)
        if target.kind == "election":
            return self.client.election(name, timeout=timeout, on_wait=self._queued, label="torture")
        if target.kind == "semaphore":
            return self.client.semaphore(name, target.limit, timeout=timeout, on_wait=self._queued, label="torture")
        return self.client.lock(name, timeout=timeout, shared=shared, on_wait=self._queued, label="torture")

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
                with suppress(OwnershipLost):
                    grant.release()
                time.sleep(self.chance.uniform(0.05, 0.3))
            finally:
                os._exit(0)
        self.recorder.say("forked")
        time.sleep(0.002)  # long enough to be killed while the child lives

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal: interrupt only waits, because elsewhere the record could miss an action of the engine."""
        if self.waiting:
            raise KeyboardInterrupt


MAY_FAIL = frozenset(("disk", "descriptors", "fsync"))
"""Faults for which the engine may refuse a request."""


def needs_fresh(faults: Collection[str]) -> bool:
    """True if seldom used names must be among the targets: only those need new disk space and descriptors."""
    return not {"disk", "descriptors"}.isdisjoint(faults)


def _words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def work(folder: Path, worker: int, seed: str, url: str, name: str, seconds: float) -> None:
    """Run one worker."""
    controls = Controls(folder / "controls")
    recorder = Recorder(folder / f"{worker}.jsonl", worker, controls.origin)
    inner_faults.install(controls, worker, recorder)
    with connect(url) as client:
        Worker(folder, worker, seed, client, name, recorder, controls).run(time.monotonic() + seconds)
