"""A campaign: start workers, inject faults for a while, stop the faults, and check that every worker makes progress."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Literal, get_args

import msgspec

from vez.core.trace import Trace
from vez.engines.machine import refuse_unless_linux
from vez.errors import EngineUnavailable, Misuse
from vez.properties.verdict import Status, Verdict
from vez.torture import judges
from vez.torture.history import Fault, to_trace
from vez.torture.nursery import Child, Nursery
from vez.torture.record import Line, read_lines

FaultKind = Literal["kill", "pause", "fork", "interrupt"]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
NEEDED = ("fcntl.flock", "os.fork", "os.pidfd_open", "signal.pidfd_send_signal", "signal.SIGSTOP")
_PATIENCE = 20.0
"""Seconds after the last fault within which every worker must be granted once more."""
_INTERRUPTED_PATIENCE = 3.0
"""Seconds that the workers get to finish their turn after Ctrl-C: a person is waiting."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign does."""

    url: str
    workers: int = 5
    seconds: float = 5.0
    entries: int = 3000
    """The campaign ends early after so many grants: the time for judging grows with their square."""
    seed: int = 0
    faults: tuple[FaultKind, ...] = FAULTS
    name: str = "torture"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, and the verdicts."""

    plan: Plan
    trace: Trace
    verdicts: tuple[Verdict, ...]
    entries: int
    tokens: int
    faults: dict[str, int]
    takeover_ms: tuple[float, ...]
    """Milliseconds from the kill of a holder to the next grant."""
    interrupted: bool = False
    """True if Ctrl-C ended it before its time."""

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The verdicts of properties that are broken."""
        return tuple(verdict for verdict in self.verdicts if verdict.status is Status.BROKEN)


class Campaign:
    """One run of a plan."""

    def __init__(self, plan: Plan) -> None:
        if not 2 <= plan.workers <= 64:
            raise Misuse(f"a campaign has 2 to 64 workers, found {plan.workers}")
        if unknown := [fault for fault in plan.faults if fault not in FAULTS]:
            raise Misuse(f"unknown fault {unknown[0]!r}", hint=f"known: {', '.join(FAULTS)}")
        if plan.url.startswith("memory:"):
            raise Misuse("memory: is within one process, and torture needs many", hint="try vez torture --url file:")
        refuse_unless_linux("torture", NEEDED, hint="run it on Linux; memory: is tested by vez.testing.conformance")
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.faults: list[Fault] = []
        self._workers: dict[int, Child] = {}
        self._paused: dict[int, float] = {}  # worker -> when it goes on
        self._starts = 0
        self.interrupted = False

    def run(self, progress: Callable[[float, int], None] | None = None) -> Outcome:
        """Inject faults, stop, collect the records, judge them."""
        with tempfile.TemporaryDirectory(prefix="vez-torture-") as folder:
            self.folder = Path(folder)
            if "fork" in self.plan.faults:
                (self.folder / "forks").touch()
            plan = self.plan
            self._nursery = Nursery(self.folder, plan.url, plan.name, plan.seconds + 3 * _PATIENCE)
            with self._interruptible():
                try:
                    for worker in range(1, self.plan.workers + 1):
                        self._start(worker)
                    self._wait_until(lambda: all(self._entries(w) for w in self._workers), "the first entries")
                    self._torment(progress)
                    self._heal()
                finally:
                    self._stop()
            return self._judged()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """The first Ctrl-C ends the campaign between two faults, so that what was recorded stays whole; a second one
        ends it at once."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
            yield
            return
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _torment(self, progress: Callable[[float, int], None] | None) -> None:
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < self.plan.seconds and not self.interrupted:
            time.sleep(self.chance.uniform(0.005, 0.06))
            self._continue(time.monotonic())
            kinds = [kind for kind in self.plan.faults if kind != "fork"]  # workers fork by themselves
            if kinds:
                self._strike(self.chance.choice(kinds), self.chance.randint(1, self.plan.workers))
            entries = sum(self._entries(worker) for worker in self._workers)
            if progress is not None:
                progress(passed / self.plan.seconds, entries)
            if entries >= self.plan.entries:
                break

    def _strike(self, kind: str, worker: int) -> None:
        process = self._workers[worker]
        if worker in self._paused:
            if kind != "kill":
                return
            del self._paused[worker]
        at = time.monotonic_ns()
        if kind == "kill":
            process.kill()
            process.close()
            self.faults.append(Fault(at, worker, "kill", time.monotonic_ns()))
            self._start(worker)
        elif kind == "pause":
            process.signal(signal.SIGSTOP)
            self._paused[worker] = time.monotonic() + self.chance.uniform(0.005, 0.15)
            self.faults.append(Fault(at, worker, "pause"))
        else:
            process.signal(signal.SIGINT)
            self.faults.append(Fault(at, worker, "interrupt"))

    def _continue(self, now: float) -> None:
        for worker, until in list(self._paused.items()):
            if now >= until:
                del self._paused[worker]
                self.faults.append(Fault(time.monotonic_ns(), worker, "resume"))
                self._workers[worker].signal(signal.SIGCONT)

    def _heal(self) -> None:
        """Resume all workers; each must be granted once more."""
        self._continue(float("inf"))
        before = {worker: self._entries(worker) for worker in self._workers}
        self._wait_until(
            lambda: all(self._entries(w) > before[w] for w in self._workers), "an entry of each", fail=False
        )

    def _start(self, worker: int) -> None:
        self._starts += 1
        seed = f"{self.plan.seed}-{worker}-{self._starts}"
        self._workers[worker] = self._nursery.start(worker, seed)

    def _stop(self) -> None:
        """Let every worker finish its turn, and kill those that do not within a limit."""
        (self.folder / "stop").touch()
        end = time.monotonic() + (_INTERRUPTED_PATIENCE if self.interrupted else _PATIENCE)
        for process in self._workers.values():
            process.signal(signal.SIGCONT)
        for worker, process in self._workers.items():
            if not process.dead(max(0.1, end - time.monotonic())):
                at = time.monotonic_ns()
                process.kill()
                self.faults.append(Fault(at, worker, "kill", time.monotonic_ns()))  # the judges must know of it
            process.close()
        self._nursery.close()

    def _entries(self, worker: int) -> int:
        """Number of grants, estimated from the size of the record, which is cheap and near enough."""
        path = self.folder / f"{worker}.jsonl"
        return os.stat(path).st_size // 230 if path.exists() else 0

    def _wait_until(self, condition: Callable[[], bool], what: str, *, fail: bool = True) -> None:
        end = time.monotonic() + _PATIENCE
        while not condition():
            if self.interrupted:
                return
            dead = [w for w, process in self._workers.items() if process.dead()]
            if fail and (dead or time.monotonic() > end):
                who = f"worker {dead[0]} ended by itself" if dead else f"no {what} within {_PATIENCE:g} s"
                raise EngineUnavailable(
                    f"the workers made no progress on {self.plan.url}: {who}",
                    hint="the error of a worker is above; try vez run NAME -- true with the same --url",
                )
            if time.monotonic() > end:
                return
            time.sleep(0.005)

    def _judged(self) -> Outcome:
        lines: list[Line] = []
        for worker in range(1, self.plan.workers + 1):
            lines += read_lines(self.folder / f"{worker}.jsonl")
        lines.sort(key=lambda line: (line.at, line.worker))
        if self.interrupted and not any(line.what == "entered" for line in lines):
            raise KeyboardInterrupt  # before anything happened that could be judged
        trace = to_trace(lines, self.faults, self.plan.workers, self.plan.url, self.plan.seed)
        counts = {kind: sum(fault.kind == kind for fault in self.faults) for kind in ("kill", "pause", "interrupt")}
        counts["fork"] = sum(line.what == "forked" for line in lines)
        tokens = [line.token for line in lines if line.what == "entered"]
        return Outcome(
            plan=self.plan,
            trace=trace,
            verdicts=judges.judge_all(trace, lines, self.faults),
            entries=len(tokens),
            tokens=max(tokens, default=0) - min(tokens, default=0),
            faults=counts,
            takeover_ms=judges.takeovers(lines, self.faults),
            interrupted=self.interrupted,
        )
