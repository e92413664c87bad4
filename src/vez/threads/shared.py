"""Shared: the real variables, locks, conditions, queues and maps of a program, and the waits of blocked threads.

Every blocking operation can be ended from outside: it waits in slices and checks `ended` between them. A lock knows
its holder, and a blocked thread records what it is blocked on, so that `deadlock` can find and describe a deadlock.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from vez.errors import Misuse
from vez.threads.operations import (
    Acquire,
    Add,
    CompareAndSet,
    Condition,
    Get,
    Lock,
    Lookup,
    Map,
    Notify,
    NotifyAll,
    Operation,
    Output,
    Poll,
    Put,
    PutIfAbsent,
    Queue,
    Read,
    Release,
    Say,
    Sleep,
    Store,
    ThreadLocal,
    Wait,
    Write,
)
from vez.threads.program import Program
from vez.threads.recording import Recorder

SLICE_S = 0.05
"""Seconds after which a blocked thread checks if the run was ended."""


class Ended(BaseException):
    """The run was ended while this thread ran or was blocked."""


class Life:
    """The state of a thread that other threads can read."""

    __slots__ = ("name", "waits")

    def __init__(self, name: str) -> None:
        self.name = name
        self.waits: Waits | None = None


class Waits(NamedTuple):
    """The wait of a blocked thread."""

    what: str
    thread: str
    """The thread whose end it waits for; empty if it waits for an object."""
    stuck: Callable[[], bool]
    """Returns True as long as the thread cannot continue."""


class Shared:
    """The shared objects of a program, for real threads."""

    def __init__(self, program: Program, recorder: Recorder, scale: float = 1.0) -> None:
        self.variables: dict[str, Any] = {}
        self.locks: dict[str, threading.Lock] = {}
        self.queues: dict[str, queue.Queue[Any]] = {}
        self.maps: dict[str, dict[Any, Any]] = {}
        self.locals: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.outputs: dict[str, list[tuple[str, str]]] = {}
        self.sleepers: dict[str, list[threading.Event]] = {}
        self.lock_of: dict[str, str] = {}
        self.holders: dict[str, tuple[str, int, int]] = {}  # held lock → holder, acquisitions, time of the first
        self.reentrant = {name for name, kind in program.shared.items() if isinstance(kind, Lock) and kind.reentrant}
        self.recorder, self.scale = recorder, scale
        self.ended = threading.Event()
        self._atomic = threading.Lock()
        for name, kind in program.shared.items():
            self._make(name, kind)
        for condition, lock in self.lock_of.items():
            if lock not in self.locks or lock in self.reentrant:
                raise Misuse(f"condition {condition!r} belongs to {lock!r}, which is not a plain lock")

    def _make(self, name: str, kind: Any) -> None:
        match kind:
            case Lock():
                self.locks[name] = threading.Lock()
            case Queue():
                self.queues[name] = queue.Queue(kind.capacity)
            case Map():
                self.maps[name] = {}
            case ThreadLocal():
                self.locals[name] = (kind.initial, {})
            case Output():
                self.outputs[name] = []
            case Condition():
                self.sleepers[name], self.lock_of[name] = [], kind.lock
            case _:
                self.variables[name] = kind

    def memory(self) -> dict[str, Any]:
        """Variables, maps, outputs and the remaining items of queues, in the form that claims use."""
        queues = {name: tuple(one.queue) for name, one in self.queues.items()}
        outputs = {name: tuple(lines) for name, lines in self.outputs.items()}
        return {**self.variables, **{name: dict(table) for name, table in self.maps.items()}, **outputs, **queues}

    def end(self) -> None:
        """End every thread that runs or is blocked. Held locks are not released."""
        for lock, (thread, _, since) in list(self.holders.items()) if self.recorder.deeds else ():
            self.recorder.add("holds", since, lock, thread)
        self.ended.set()

    # Blocking.

    def block(self, life: Life, waits: Waits, attempt: Callable[[], bool]) -> None:
        """Repeat `attempt`, in slices of SLICE_S, until it succeeds. The thread counts as blocked meanwhile."""
        began = self.recorder.now()
        life.waits = waits
        try:
            while not attempt():
                if self.ended.is_set():
                    raise Ended
        finally:
            life.waits = None
            self.recorder.add("waits", began, waits.what, life.name)

    def _take(self, life: Life, name: str) -> None:
        lock = self.locks[name]
        if not lock.acquire(blocking=False):
            held = self.holders.get(name)
            if name in self.reentrant and held is not None and held[0] == life.name:
                self.holders[name] = (life.name, held[1] + 1, held[2])
                return
            waits = Waits(name, "", lambda: name in self.holders)
            self.block(life, waits, lambda: lock.acquire(timeout=SLICE_S))
        self.holders[name] = (life.name, 1, self.recorder.now() if self.recorder.deeds else 0)

    def _give(self, life: Life, name: str) -> None:
        held = self.holders.get(name)
        if held is None or held[0] != life.name:
            raise Misuse(f"{life.name} gives {name!r} back without holding it")
        if held[1] > 1:
            self.holders[name] = (life.name, held[1] - 1, held[2])
            return
        del self.holders[name]
        self.locks[name].release()
        if self.recorder.deeds:
            self.recorder.add("holds", held[2], name, life.name)

    # Operations.

    def read(self, operation: Any, life: Life) -> Any:
        if operation.name in self.locals:
            initial, own = self.locals[operation.name]
            return own.get(life.name, initial)
        return self.variables[operation.name]

    def write(self, operation: Any, life: Life) -> None:
        if operation.name in self.locals:
            self.locals[operation.name][1][life.name] = operation.value
        else:
            self.variables[operation.name] = operation.value

    def add(self, operation: Any, life: Life) -> Any:
        with self._atomic:
            self.variables[operation.name] += operation.amount
            return self.variables[operation.name]

    def compare_and_set(self, operation: Any, life: Life) -> bool:
        with self._atomic:
            if self.variables[operation.name] != operation.expected:
                return False
            self.variables[operation.name] = operation.value
            return True

    def acquire(self, operation: Any, life: Life) -> None:
        self._take(life, operation.name)

    def release(self, operation: Any, life: Life) -> None:
        self._give(life, operation.name)

    def wait(self, operation: Any, life: Life) -> None:
        """Wait on a condition. `threading.Condition` is not used, because its timed wait can lose a notification that
        comes at the end of the time."""
        woken, lock = threading.Event(), self.lock_of[operation.name]
        self.sleepers[operation.name].append(woken)
        self._give(life, lock)
        waits = Waits(operation.name, "", lambda: not woken.is_set())
        self.block(life, waits, lambda: woken.wait(SLICE_S))
        self._take(life, lock)

    def notify(self, operation: Any, life: Life) -> None:
        self._wake(operation.name, life, 1)

    def notify_all(self, operation: Any, life: Life) -> None:
        self._wake(operation.name, life, None)

    def _wake(self, name: str, life: Life, most: int | None) -> None:
        held = self.holders.get(self.lock_of[name])
        if held is None or held[0] != life.name:
            raise Misuse(f"{life.name} notifies {name!r} without holding {self.lock_of[name]!r}")
        sleepers = self.sleepers[name]
        chosen = sleepers[:most]
        del sleepers[: len(chosen)]
        for one in chosen:
            one.set()

    def put(self, operation: Any, life: Life) -> None:
        there = self.queues[operation.name]
        try:
            there.put_nowait(operation.value)
        except queue.Full:
            waits = Waits(operation.name, "", there.full)
            self.block(life, waits, lambda: _succeeds(queue.Full, there.put, operation.value, True))

    def get(self, operation: Any, life: Life) -> Any:
        there = self.queues[operation.name]
        try:
            return there.get_nowait()
        except queue.Empty:
            got: list[Any] = []
            waits = Waits(operation.name, "", there.empty)
            self.block(life, waits, lambda: _succeeds(queue.Empty, lambda *given: got.append(there.get(*given)), True))
            return got[0]

    def poll(self, operation: Any, life: Life) -> Any:
        try:
            return self.queues[operation.name].get_nowait()
        except queue.Empty:
            return None

    def lookup(self, operation: Any, life: Life) -> Any:
        return self.maps[operation.name].get(operation.key)

    def store(self, operation: Any, life: Life) -> Any:
        with self._atomic:
            old = self.maps[operation.name].get(operation.key)
            self.maps[operation.name][operation.key] = operation.value
            return old

    def put_if_absent(self, operation: Any, life: Life) -> Any:
        with self._atomic:
            table = self.maps[operation.name]
            if operation.key in table:
                return table[operation.key]
            table[operation.key] = operation.value
            return None

    def say(self, operation: Any, life: Life) -> None:
        with self._atomic:  # so that claims and the reader see the same order
            self.outputs[operation.name].append((life.name, operation.line))
            self.recorder.say(operation.line, life.name)

    def sleep(self, operation: Any, life: Life) -> None:
        began = self.recorder.now()
        if self.ended.wait(operation.seconds * self.scale):
            raise Ended
        self.recorder.add("sleeps", began, operation.words(), life.name)

    def handlers(self) -> dict[type[Operation], Callable[[Any, Life], Any]]:
        """The method for each kind of operation."""
        return {
            Read: self.read, Write: self.write, Add: self.add, CompareAndSet: self.compare_and_set,
            Acquire: self.acquire, Release: self.release, Wait: self.wait, Notify: self.notify,
            NotifyAll: self.notify_all, Put: self.put, Get: self.get, Poll: self.poll, Lookup: self.lookup,
            Store: self.store, PutIfAbsent: self.put_if_absent, Say: self.say, Sleep: self.sleep,
        }  # fmt: skip


def _succeeds(error: type[Exception], attempt: Callable[..., Any], *given: Any) -> bool:
    """Try a queue operation for one slice of time; False if it raised `error`."""
    try:
        attempt(*given, SLICE_S)
    except error:
        return False
    return True
