"""Run programs on real threads: each operation is done on a real variable, lock or queue.

CPython makes some things atomic by accident. It switches threads only at certain instructions (since 3.10 at backward
jumps and at the start of calls), so a bare `counter += 1` in a loop loses no update, although the language does not
promise that. Here a read and a write are two operations with calls between them, as in any larger program. A thread
switch can come between them, and it does so more often the shorter the switch interval of the interpreter is.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from vez.errors import Misuse
from vez.threads.operations import (
    Acquire,
    Add,
    Condition,
    Get,
    Lock,
    Notify,
    NotifyAll,
    Operation,
    Program,
    Put,
    Queue,
    Read,
    Release,
    Wait,
    Write,
)


class Outcome(msgspec.Struct, frozen=True):
    """Result of a run on real threads."""

    variables: dict[str, Any]
    seconds: float
    finished: bool
    """False if threads were still blocked after `patience_s`."""
    blocked: tuple[str, ...] = ()
    failure: BaseException | None = None
    """The first exception that a thread raised, with its traceback."""


class _Shared:
    def __init__(self, program: Program) -> None:
        self.variables: dict[str, Any] = {}
        self.locks: dict[str, threading.Lock] = {}
        self.queues: dict[str, queue.Queue[Any]] = {}
        self.conditions: dict[str, threading.Condition] = {}
        for name, kind in program.shared.items():
            if isinstance(kind, Lock):
                self.locks[name] = threading.Lock()
            elif isinstance(kind, Queue):
                self.queues[name] = queue.Queue(kind.capacity)
            elif not isinstance(kind, Condition):
                self.variables[name] = kind
        for name, kind in program.shared.items():
            if isinstance(kind, Condition):
                self.conditions[name] = threading.Condition(self.locks[kind.lock])
        self._atomic = threading.Lock()

    def read(self, operation: Any) -> Any:
        return self.variables[operation.name]

    def write(self, operation: Any) -> None:
        self.variables[operation.name] = operation.value

    def add(self, operation: Any) -> Any:
        with self._atomic:
            self.variables[operation.name] += operation.amount
            return self.variables[operation.name]

    def acquire(self, operation: Any) -> None:
        self.locks[operation.name].acquire()

    def release(self, operation: Any) -> None:
        self.locks[operation.name].release()

    def wait(self, operation: Any) -> None:
        self.conditions[operation.name].wait()

    def notify(self, operation: Any) -> None:
        self.conditions[operation.name].notify()

    def notify_all(self, operation: Any) -> None:
        self.conditions[operation.name].notify_all()

    def put(self, operation: Any) -> None:
        self.queues[operation.name].put(operation.value)

    def get(self, operation: Any) -> Any:
        return self.queues[operation.name].get()

    def handlers(self) -> dict[type[Operation], Callable[[Any], Any]]:
        """The method for each kind of operation."""
        return {
            Read: self.read, Write: self.write, Add: self.add, Acquire: self.acquire, Release: self.release,
            Wait: self.wait, Notify: self.notify, NotifyAll: self.notify_all, Put: self.put, Get: self.get,
        }  # fmt: skip


def run(program: Program, *, switch_us: float | None = None, patience_s: float = 30.0) -> Outcome:
    """Run a program on real threads. After a deadlock its blocked threads remain as daemon threads.

    All threads start together; otherwise the first could end before the last begins.
    """
    shared = _Shared(program)
    handlers = shared.handlers()
    begin = threading.Event()
    failures: list[BaseException] = []

    def pump(body: Callable[[], Any]) -> None:
        begin.wait()
        try:
            steps = body()
            result: Any = None
            while True:
                try:
                    operation = steps.send(result)
                except StopIteration:
                    return
                result = handlers[type(operation)](operation)
        except (Exception, SystemExit) as error:
            failures.append(error)

    workers = [
        threading.Thread(target=pump, args=(body,), name=name, daemon=True) for name, body in program.threads.items()
    ]
    before = sys.getswitchinterval()
    if switch_us is not None:
        if switch_us <= 0:
            raise Misuse(f"a switch interval must be above 0, found {switch_us:g}")
        sys.setswitchinterval(switch_us / 1e6)
    try:
        for worker in workers:
            worker.start()
        started = time.perf_counter()
        begin.set()
        for worker in workers:
            worker.join(max(0.0, started + patience_s - time.perf_counter()))
    finally:
        sys.setswitchinterval(before)
    blocked = tuple(worker.name for worker in workers if worker.is_alive())
    failure = failures[0] if failures else None
    return Outcome(dict(shared.variables), time.perf_counter() - started, not blocked, blocked, failure)


def bare_increments(threads: int, rounds: int, *, switch_us: float | None = None) -> Outcome:
    """Run a bare `counter += 1` in a loop, which CPython makes atomic by accident."""
    counter = 0

    def worker() -> None:
        nonlocal counter
        for _ in range(rounds):
            counter += 1

    workers = [threading.Thread(target=worker, daemon=True) for _ in range(threads)]
    before = sys.getswitchinterval()
    if switch_us is not None:
        sys.setswitchinterval(switch_us / 1e6)
    started = time.perf_counter()
    try:
        for one in workers:
            one.start()
        for one in workers:
            one.join()
    finally:
        sys.setswitchinterval(before)
    return Outcome({"counter": counter}, time.perf_counter() - started, True)
