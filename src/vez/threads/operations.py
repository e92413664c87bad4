"""Operations on shared objects and on threads, as values that threads yield.

A program is written as generator functions that yield an operation at every access to shared memory:
`value = yield read("counter")`. Between two yields a thread uses only its local variables. So every place where
another thread can run in between is visible, the checker can try each of them, and the same program runs on real
threads.
"""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True)
class Operation(msgspec.Struct, frozen=True):
    """One access to a shared object, or to another thread."""

    name: str

    def words(self) -> str:
        """The operation in words."""
        return f"{type(self).__name__.lower()} {self.name}"


class Read(Operation):
    """Read a variable."""


class Write(Operation):
    """Write a variable."""

    value: Any = None

    def words(self) -> str:
        return f"write {self.name} = {self.value}"


class Add(Operation):
    """Add to a variable atomically; returns the new value."""

    amount: int = 1

    def words(self) -> str:
        return f"add {self.amount} to {self.name}, atomically"


class CompareAndSet(Operation):
    """Write a variable if it still has the expected value; returns True if it was written. Atomic."""

    expected: Any = None
    value: Any = None

    def words(self) -> str:
        return f"set {self.name} from {self.expected} to {self.value}, atomically"


class Acquire(Operation):
    """Acquire a lock; blocks while another thread holds it."""


class Release(Operation):
    """Release a lock."""


class Wait(Operation):
    """Release the lock of the condition, block until notified, then acquire the lock again."""


class Notify(Operation):
    """Wake one waiter of a condition, if there is one."""


class NotifyAll(Operation):
    """Wake all waiters of a condition."""

    def words(self) -> str:
        return f"notify all waiters of {self.name}"


class Put(Operation):
    """Put a value into a queue; blocks while the queue is full."""

    value: Any = None

    def words(self) -> str:
        return f"put {self.value} into {self.name}"


class Get(Operation):
    """Get a value from a queue; blocks while the queue is empty."""


class Poll(Operation):
    """Get a value from a queue if there is one, else None; never blocks."""


class Lookup(Operation):
    """The value of a key in a map, or None."""

    key: Any = None

    def words(self) -> str:
        return f"look up {self.key} in {self.name}"


class Store(Operation):
    """Put a value under a key of a map. It replaces any earlier value."""

    key: Any = None
    value: Any = None

    def words(self) -> str:
        return f"put {self.value} under {self.key} of {self.name}"


class PutIfAbsent(Operation):
    """Put a value under a key of a map unless the key is there; returns the old value or None. Atomic."""

    key: Any = None
    value: Any = None

    def words(self) -> str:
        return f"put {self.value} under {self.key} of {self.name}, if absent"


class Say(Operation):
    """Print a line. Lines of different threads do not mix."""

    line: str = ""

    def words(self) -> str:
        return f"print {self.line!r}"


class Sleep(Operation):
    """Sleep. Only real threads sleep; for the checker this is a step in which nothing happens."""

    seconds: float = 1.0

    def words(self) -> str:
        return f"sleep {self.seconds:g} s"


class Start(Operation):
    """Start a thread of `Program.later`."""


class Join(Operation):
    """Block until a thread has ended, or at most some seconds; returns True if it has ended."""

    seconds: float | None = None

    def words(self) -> str:
        return f"join {self.name}" if self.seconds is None else f"join {self.name} for {self.seconds:g} s at most"


class Alive(Operation):
    """True if a thread was started and has not ended."""

    def words(self) -> str:
        return f"is {self.name} alive"


OF_THREADS = (Start, Join, Alive)
"""Operations whose name is the name of a thread."""


class Lock(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """A lock. Unless it is reentrant, a holder that acquires it again blocks itself."""

    reentrant: bool = False


class Condition(msgspec.Struct, frozen=True):
    """A condition variable of the lock with this name."""

    lock: str


class Queue(msgspec.Struct, frozen=True):
    """A first-in-first-out queue; a capacity of 0 means no limit."""

    capacity: int = 0


class Map(msgspec.Struct, frozen=True):
    """A map, empty at first. Each operation on it is atomic; a sequence of two is not."""


class ThreadLocal(msgspec.Struct, frozen=True):
    """A variable of which every thread has its own copy."""

    initial: Any = None


class Output(msgspec.Struct, frozen=True):
    """The lines that the threads print: (thread, line), in order."""


KINDS = (Lock, Condition, Queue, Map, ThreadLocal, Output)
"""Kinds of shared objects; any other value is the initial value of a variable."""


def read(name: str) -> Read:
    """Read a variable."""
    return Read(name)


def write(name: str, value: Any) -> Write:
    """Write a variable."""
    return Write(name, value)


def add(name: str, amount: int = 1) -> Add:
    """Add to a variable atomically; returns the new value."""
    return Add(name, amount)


def compare_and_set(name: str, expected: Any, value: Any) -> CompareAndSet:
    """Write a variable if it still has the expected value; returns True if it was written. Atomic."""
    return CompareAndSet(name, expected, value)


def acquire(name: str) -> Acquire:
    """Acquire a lock; blocks while another thread holds it."""
    return Acquire(name)


def release(name: str) -> Release:
    """Release a lock."""
    return Release(name)


def wait(name: str) -> Wait:
    """Wait on a condition; the thread must hold its lock."""
    return Wait(name)


def notify(name: str) -> Notify:
    """Wake one waiter of a condition."""
    return Notify(name)


def notify_all(name: str) -> NotifyAll:
    """Wake all waiters of a condition."""
    return NotifyAll(name)


def put(name: str, value: Any) -> Put:
    """Put a value into a queue; blocks while the queue is full."""
    return Put(name, value)


def get(name: str) -> Get:
    """Get a value from a queue; blocks while the queue is empty."""
    return Get(name)


def poll(name: str) -> Poll:
    """Get a value from a queue if there is one, else None; never blocks."""
    return Poll(name)


def lookup(name: str, key: Any) -> Lookup:
    """The value of a key in a map, or None."""
    return Lookup(name, key)


def store(name: str, key: Any, value: Any) -> Store:
    """Put a value under a key of a map. It replaces any earlier value."""
    return Store(name, key, value)


def put_if_absent(name: str, key: Any, value: Any) -> PutIfAbsent:
    """Put a value under a key of a map unless the key is there; returns the old value or None. Atomic."""
    return PutIfAbsent(name, key, value)


def say(line: object, to: str = "output") -> Say:
    """Print a line to an `Output`."""
    return Say(to, str(line))


def sleep(seconds: float = 1.0) -> Sleep:
    """Sleep; for the checker a step in which nothing happens."""
    return Sleep("", seconds)


def start(thread: str) -> Start:
    """Start a thread of `Program.later`."""
    return Start(thread)


def join(thread: str, seconds: float | None = None) -> Join:
    """Block until a thread has ended, or at most some seconds; returns True if it has ended."""
    return Join(thread, seconds)


def alive(thread: str) -> Alive:
    """True if a thread was started and has not ended."""
    return Alive(thread)
