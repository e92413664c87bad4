"""Operations: all that a thread may do to what it shares with others.

A program of threads is written as generator functions that yield an operation at every access to shared
memory: `value = yield read("counter")`. Between two yields a thread touches only its own variables. Then the
places where another thread can come between are in sight, the checker can try every one of them, and the same
program runs on real threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, dataclass_transform

import msgspec

from vez.errors import BadDeclaration


@dataclass_transform(frozen_default=True)
class Operation(msgspec.Struct, frozen=True):
    """One access to a shared object."""

    name: str

    def words(self) -> str:
        """The operation as people say it."""
        return f"{type(self).__name__.lower()} {self.name}"


class Read(Operation):
    """Get a variable's value."""


class Write(Operation):
    """Set a variable."""

    value: Any = None

    def words(self) -> str:
        return f"write {self.name} = {self.value}"


class Add(Operation):
    """Add to a variable in one step that nobody can come between; gives the new value."""

    amount: int = 1

    def words(self) -> str:
        return f"add {self.amount} to {self.name}, atomically"


class Acquire(Operation):
    """Wait for a lock and take it."""


class Release(Operation):
    """Give a lock back."""


class Wait(Operation):
    """Give the condition's lock back and sleep until notified; then take the lock again."""


class Notify(Operation):
    """Wake one of those who wait on a condition, if any."""


class NotifyAll(Operation):
    """Wake all who wait on a condition."""


class Put(Operation):
    """Wait for room in a queue and put a value in."""

    value: Any = None

    def words(self) -> str:
        return f"put {self.value} into {self.name}"


class Get(Operation):
    """Wait for a value in a queue and take it out."""


class Lock(msgspec.Struct, frozen=True):
    """A lock that its holder cannot take twice."""


class Condition(msgspec.Struct, frozen=True):
    """A place to wait at, which belongs to a lock."""

    lock: str


class Queue(msgspec.Struct, frozen=True):
    """A first-in-first-out queue; a capacity of 0 means no limit."""

    capacity: int = 0


Body = Callable[[], Generator[Operation, Any, None]]


class Program(msgspec.Struct, frozen=True):
    """Shared objects, the threads that use them, and what must be true."""

    shared: Mapping[str, Any]
    """Locks, conditions and queues; any other value is a variable's first value."""
    threads: Mapping[str, Body]
    claim: str = ""
    """What must be true when all threads have ended, in words."""
    at_end: Callable[[Mapping[str, Any]], bool] | None = None
    always: Callable[[Mapping[str, Any]], bool] | None = None
    """What must be true at every moment."""
    invariant: str = ""

    def __post_init__(self) -> None:
        for what, given in (("shared", self.shared), ("threads", self.threads)):
            if not isinstance(given, Mapping):
                raise BadDeclaration(
                    f"Program: {what} is a {type(given).__name__}, expected a mapping from names",
                    hint="Program(shared, threads)",
                )
        for name, body in self.threads.items():
            if not callable(body):
                raise BadDeclaration(
                    f"Program: thread {name!r} is {body!r}, expected a function that yields what it does",
                    hint="Program(shared, threads), in this order",
                )
        for what, claim in (("at_end", self.at_end), ("always", self.always)):
            if claim is not None and not callable(claim):
                raise BadDeclaration(
                    f"Program: {what} is {claim!r}, expected a function", hint="lambda memory: memory['x'] == 2"
                )


def read(name: str) -> Read:
    """Get a variable's value."""
    return Read(name)


def write(name: str, value: Any) -> Write:
    """Set a variable."""
    return Write(name, value)


def add(name: str, amount: int = 1) -> Add:
    """Add to a variable atomically."""
    return Add(name, amount)


def acquire(name: str) -> Acquire:
    """Take a lock, waiting for it."""
    return Acquire(name)


def release(name: str) -> Release:
    """Give a lock back."""
    return Release(name)


def wait(name: str) -> Wait:
    """Sleep on a condition."""
    return Wait(name)


def notify(name: str) -> Notify:
    """Wake one."""
    return Notify(name)


def notify_all(name: str) -> NotifyAll:
    """Wake all."""
    return NotifyAll(name)


def put(name: str, value: Any) -> Put:
    """Put into a queue."""
    return Put(name, value)


def get(name: str) -> Get:
    """Take from a queue."""
    return Get(name)
