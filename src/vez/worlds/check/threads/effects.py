"""Effects: the effect of one operation on one shared object, as a pure function of the object's value.

Values: a lock is None or (holder, acquisitions). A queue and the sleepers of a condition are tuples. A map is a tuple
of pairs in the order of insertion. A thread-local variable is a tuple with a value for each thread. An output is a
tuple of (thread, line).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from vez.errors import ProtocolBug
from vez.threads.operations import (
    KINDS,
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
    Release,
    Say,
    Store,
    ThreadLocal,
    Wait,
    Write,
)

NEEDS: dict[type, tuple[type, ...]] = {
    Lock: (Acquire, Release),
    Condition: (Wait, Notify, NotifyAll),
    Queue: (Put, Get, Poll),
    Map: (Lookup, Store, PutIfAbsent),
    Output: (Say,),
}
"""The operations of each kind of object. All other operations are for variables."""


class Effect(NamedTuple):
    """The value of the object afterwards, the result that the thread gets, and the action in words."""

    value: Any
    result: Any
    words: str


def first_value(kind: Any, threads: int) -> Any:
    """The value of a shared object before the first step."""
    if isinstance(kind, Lock):
        return None
    if isinstance(kind, ThreadLocal):
        return (kind.initial,) * threads
    return () if isinstance(kind, KINDS) else kind


def is_variable(kind: Any) -> bool:
    """True if the object is a variable, which threads can read and write."""
    return isinstance(kind, ThreadLocal) or not isinstance(kind, KINDS)


def readable(kind: Any, value: Any) -> Any:
    """The value in the form that claims use."""
    if isinstance(kind, Map):
        return dict(value)
    return value[0] if isinstance(kind, Lock) and value else value


def changed(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """A tuple with one value replaced."""
    return (*values[:place], value, *values[place + 1 :])


def effect(operation: Operation, kind: Any, value: Any, thread: int, names: Sequence[str]) -> Effect | None:
    """The effect of an operation; None if the thread blocks."""
    act = _BY_KIND.get(type(kind))
    if act is None:
        return _variable(operation, value, names[thread])
    return act(operation, kind, value, thread, names)


def _output(operation: Any, kind: Output, value: Any, thread: int, names: Sequence[str]) -> Effect:
    return Effect((*value, (names[thread], operation.line)), None, operation.words())


def _local(operation: Any, kind: ThreadLocal, value: Any, thread: int, names: Sequence[str]) -> Effect:
    own = _variable(operation, value[thread], names[thread])
    return own._replace(value=changed(value, thread, own.value))


def _variable(operation: Any, value: Any, name: str) -> Effect:
    words = operation.words()
    match operation:
        case Write():
            return Effect(operation.value, None, words)
        case Add():
            try:
                total = value + operation.amount
            except TypeError as error:
                told = f"{name} adds {operation.amount!r} to {operation.name}, which is {value!r}"
                raise ProtocolBug(told, hint="add to a number") from error
            return Effect(total, total, words)
        case CompareAndSet():
            done = bool(value == operation.expected)
            return Effect(operation.value if done else value, done, words if done else f"{words}: no, it is {value}")
        case _:
            return Effect(value, value, f"{words}: {value}")


def _lock(operation: Any, kind: Lock, value: Any, thread: int, names: Sequence[str]) -> Effect | None:
    words, times = operation.words(), value[1] if value else 0
    if isinstance(operation, Acquire):
        if value and not (kind.reentrant and value[0] == thread):
            return None
        return Effect((thread, times + 1), None, words + (" again" * bool(times)))
    must_hold(value, thread, names[thread], operation.name)
    return Effect((thread, times - 1) if times > 1 else None, None, words)


def must_hold(value: Any, thread: int, name: str, lock: str) -> None:
    """Refuse an operation of a thread that does not hold the lock."""
    if not value or value[0] != thread:
        raise ProtocolBug(f"{name} gives {lock!r} back without holding it")


def _queue(operation: Any, kind: Queue, value: Any, thread: int, names: Sequence[str]) -> Effect | None:
    if isinstance(operation, Put):
        full = kind.capacity and len(value) == kind.capacity
        return None if full else Effect((*value, operation.value), None, operation.words())
    if not value:
        return Effect(value, None, f"{operation.words()}: empty") if isinstance(operation, Poll) else None
    return Effect(value[1:], value[0], f"{operation.words()}: {value[0]}")


def _map(operation: Any, kind: Map, value: Any, thread: int, names: Sequence[str]) -> Effect:
    table, words = dict(value), operation.words()
    old = table.get(operation.key)
    if isinstance(operation, Lookup):
        return Effect(value, old, f"{words}: {old}")
    there = isinstance(operation, PutIfAbsent) and operation.key in table
    if not there:
        table[operation.key] = operation.value
    return Effect(tuple(table.items()), old, f"{words}: there is {old}" if there else words)


_BY_KIND: dict[type, Callable[..., Effect | None]] = {
    Lock: _lock, Queue: _queue, Map: _map, Output: _output, ThreadLocal: _local,
}  # fmt: skip
