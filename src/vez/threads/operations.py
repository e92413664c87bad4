"""Operations on shared objects, as values that threads yield.

A program is written as generator functions that yield an operation at every access to shared memory:
`value = yield read("counter")`. Between two yields a thread uses only its local variables. So every place where
another thread can run in between is visible, the checker can try each of them, and the same program runs on real
threads.
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


class Put(Operation):
    """Put a value into a queue; blocks while the queue is full."""

    value: Any = None

    def words(self) -> str:
        return f"put {self.value} into {self.name}"


class Get(Operation):
    """Get a value from a queue; blocks while the queue is empty."""


class Lock(msgspec.Struct, frozen=True):
    """A non-reentrant lock."""


class Condition(msgspec.Struct, frozen=True):
    """A condition variable of the lock with this name."""

    lock: str


class Queue(msgspec.Struct, frozen=True):
    """A first-in-first-out queue; a capacity of 0 means no limit."""

    capacity: int = 0


Body = Callable[[], Generator[Operation, Any, None]]


class Program(msgspec.Struct, frozen=True):
    """Shared objects, the threads that use them, and the claims to check."""

    shared: Mapping[str, Any]
    """Locks, conditions and queues; any other value is the initial value of a variable."""
    threads: Mapping[str, Body]
    claim: str = ""
    """The claim of `at_end`, in words."""
    at_end: Callable[[Mapping[str, Any]], bool] | None = None
    always: Callable[[Mapping[str, Any]], bool] | None = None
    """What must be true in every state; `invariant` says it in words."""
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
                    f"Program: thread {name!r} is {body!r}, expected a function that yields operations",
                    hint="Program(shared, threads), in this order",
                )
        for what, claim in (("at_end", self.at_end), ("always", self.always)):
            if claim is not None and not callable(claim):
                raise BadDeclaration(
                    f"Program: {what} is {claim!r}, expected a function", hint="lambda memory: memory['x'] == 2"
                )


def read(name: str) -> Read:
    """Read a variable."""
    return Read(name)


def write(name: str, value: Any) -> Write:
    """Write a variable."""
    return Write(name, value)


def add(name: str, amount: int = 1) -> Add:
    """Add to a variable atomically; returns the new value."""
    return Add(name, amount)


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
