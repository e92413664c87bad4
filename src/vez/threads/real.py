"""Run programs on real threads: each operation is done on a real variable, lock or queue.

CPython makes some things atomic by accident. It switches threads only at certain instructions (since 3.10 at backward
jumps and at the start of calls), so a bare `counter += 1` in a loop loses no update, although the language does not
promise that. Here a read and a write are two operations with calls between them, as in any larger program. A thread
switch can occur between them. It occurs more often if the switch interval of the interpreter is shorter.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from vez.errors import Misuse, ProtocolBug
from vez.threads.deadlock import find_deadlock
from vez.threads.operations import Acquire, Alive, Get, Join, Operation, Put, Release, Say, Sleep, Start, Wait
from vez.threads.program import Body, Program
from vez.threads.recording import Recorder, Recording
from vez.threads.shared import SLICE_S, Ended, Life, Shared, Waits

MOST_THREADS = 2000
"""The largest number of threads: more would exceed the limits of small machines in the middle of a run."""
YIELD = "yield read(...), write(...), …"
LOOK_S = 0.01
"""Seconds between two searches for a deadlock."""
_SHOWN_OTHERWISE = (Acquire, Release, Wait, Put, Get, Say, Sleep, Join)
"""Operations that are not recorded as instants: they are recorded as spans or lines, or their effect is visible."""


class Outcome(msgspec.Struct, frozen=True):
    """Result of a run on real threads."""

    variables: dict[str, Any]
    seconds: float
    finished: bool
    """False if threads had to be ended, because of a deadlock or after `patience_s`."""
    blocked: tuple[str, ...] = ()
    """The threads that had not ended by themselves."""
    failure: BaseException | None = None
    """The first exception that a thread raised, with its traceback."""
    deadlock: dict[str, tuple[str, str]] = {}
    """Thread that could never continue → the object that it waited for, and the thread that held the object."""
    memory: dict[str, Any] = {}
    """Variables, maps, outputs and queues, as claims see them."""
    cpu_s: dict[str, float] = {}
    """Processor time of each thread that ended."""
    recording: Recording | None = None


class _Run:
    def __init__(self, program: Program, recorder: Recorder, scale: float) -> None:
        self.program, self.recorder = program, recorder
        self.shared = Shared(program, recorder, scale)
        self.handlers: dict[type, Callable[[Any, Life], Any]] = {
            **self.shared.handlers(), Start: self._start, Join: self._join, Alive: self._alive,
        }  # fmt: skip
        self.begin = threading.Event()
        self.failures: list[BaseException] = []
        self.cpu: dict[str, float] = {}
        self.lives = {name: Life(name) for name in program.threads}
        self.workers = {
            name: threading.Thread(target=self._pump, args=(name, body), name=name, daemon=True)
            for name, body in program.threads.items()
        }

    def _pump(self, name: str, body: Body) -> None:
        life, handlers, ended = self.lives[name], self.handlers, self.shared.ended.is_set
        self.begin.wait()
        before, began = time.thread_time(), self.recorder.now()
        operation: Any = None
        try:
            steps, result = body(), None
            if not isinstance(steps, Generator):
                raise ProtocolBug(f"the body of thread {name} returns {steps!r} and yields nothing", hint=YIELD)
            while not ended():
                operation = steps.send(result)
                result = handlers[type(operation)](operation, life)
                if self.recorder.deeds and not isinstance(operation, _SHOWN_OTHERWISE):
                    self.recorder.add("does", self.recorder.now(), operation.words(), name)
        except (StopIteration, Ended):
            pass
        except (Exception, SystemExit) as error:
            self.failures.append(self._mistake(name, operation, error))
        finally:
            self.cpu[name] = time.thread_time() - before
            if self.recorder.deeds:
                self.recorder.add("runs", began, name, name)

    def _mistake(self, name: str, operation: Any, error: BaseException) -> BaseException:
        """The error to report: a clearer one if the thread did not yield an operation, or used an object that is not
        shared; otherwise the exception itself.

        This is checked after the exception, so that the measured loop does not contain the check.
        """
        if not isinstance(error, KeyError):
            return error
        if operation is not None and not isinstance(operation, Operation):
            return ProtocolBug(f"{name} yields {operation!r}", hint=YIELD)
        known = {*self.program.shared, *self.program.threads}
        if operation is not None and not isinstance(operation, Sleep) and operation.name not in known:
            return ProtocolBug(f"{name} uses {operation.name!r}, which is not shared", hint="declare it")
        return error

    def _start(self, operation: Start, life: Life) -> None:
        self.workers[operation.name].start()

    def _join(self, operation: Join, life: Life) -> bool:
        worker, limit = self.workers[operation.name], None
        if operation.seconds is not None:
            limit = time.perf_counter() + operation.seconds * self.shared.scale

        def attempt() -> bool:
            left = SLICE_S if limit is None else min(SLICE_S, limit - time.perf_counter())
            worker.join(max(0.0, left))
            return not worker.is_alive() or (limit is not None and time.perf_counter() >= limit)

        stuck = worker.is_alive if limit is None else lambda: False
        self.shared.block(life, Waits("the end", operation.name, stuck), attempt)
        return not worker.is_alive()

    def _alive(self, operation: Alive, life: Life) -> bool:
        return self.workers[operation.name].is_alive()

    def unfinished(self) -> list[str]:
        """The running threads that are not daemons."""
        return [name for name, one in self.workers.items() if one.is_alive() and name not in self.program.daemons]

    def watch(self, until: float) -> dict[str, tuple[str, str]]:
        """Wait for the end, a deadlock or a time. Returns the wait-for graph of the deadlock, empty without one."""
        while (left := self.unfinished()) and time.perf_counter() < until:
            self.workers[left[0]].join(LOOK_S)
            living = [self.lives[name] for name in self.unfinished()]
            if living and (found := find_deadlock(self.shared, living)):
                return found
        return {}


def run(
    program: Program,
    *,
    switch_us: float | None = None,
    patience_s: float = 30.0,
    scale: float = 1.0,
    recorder: Recorder | None = None,
) -> Outcome:
    """Run a program on real threads. A deadlock is reported and ended; threads that run after `patience_s` are ended.

    All threads except those of `Program.later` start together; otherwise the first could end before the last begins.
    A second of sleep takes `scale` seconds.
    """
    if not program.threads:
        raise Misuse("a program needs at least one thread")
    if len(program.threads) > MOST_THREADS:
        found = len(program.threads)
        raise Misuse(f"at most {MOST_THREADS:,} real threads, found {found:,}", hint="give a smaller number of threads")
    recorder = recorder or Recorder(deeds=False)
    running = _Run(program, recorder, scale)
    with switching(switch_us):
        for name, worker in running.workers.items():
            if name not in program.later:
                worker.start()
        started = time.perf_counter()
        running.begin.set()
        try:
            deadlock = running.watch(started + patience_s)
            blocked = tuple(running.unfinished())
        finally:
            recorder.finish()
            running.shared.end()
        seconds = time.perf_counter() - started
        for worker in running.workers.values():
            if worker.ident is not None:
                worker.join(4 * SLICE_S + LOOK_S)
    failure = running.failures[0] if running.failures else None
    if isinstance(failure, BrokenPipeError):  # the reader of the output is gone: not a failure of the program
        raise failure
    shared = running.shared
    return Outcome(
        dict(shared.variables), seconds, not blocked, blocked, failure, deadlock, shared.memory(), dict(running.cpu),
        recorder.recording(tuple(program.threads)),
    )  # fmt: skip


@contextmanager
def switching(switch_us: float | None) -> Iterator[None]:
    """Set the interpreter's switch interval, in microseconds, for a while; None leaves it unchanged."""
    before = sys.getswitchinterval()
    if switch_us is not None:
        if switch_us <= 0:
            raise Misuse(f"a switch interval must be above 0, found {switch_us:g}")
        sys.setswitchinterval(switch_us / 1e6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
