"""Inner process: a process that runs as a part of another process.

The outer process does not hold the inner one as an object. It holds the fields of the inner process as two tuples of
immutable values, durable and volatile, so that the outer process can be copied, hashed and crashed like any other.
For each event the inner process is built from its fields, its handler runs, and its fields are read back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import msgspec

from vez.core.io import Io
from vez.core.message import Message
from vez.core.process import DURABLE, Process, marked, state_fields

T = TypeVar("T")

Atom = int | str | bool | None
Value = Atom | tuple[Atom, ...] | frozenset[int]
"""The type of a field of an inner process."""


class InnerIo:
    """The `Io` of the inner process: wraps its messages, renames its timers, and collects its elections."""

    __slots__ = ("_io", "_timer_prefix", "_wrap", "elections")

    def __init__(self, io: Io, wrap: Callable[[Message], Message], timer_prefix: str) -> None:
        self._io = io
        self._wrap = wrap
        self._timer_prefix = timer_prefix
        self.elections: list[tuple[int | None, int]] = []
        """Leader and term of each call of `elected` by the inner process, for the outer process to act on."""

    @property
    def me(self) -> int:
        return self._io.me

    @property
    def peers(self) -> tuple[int, ...]:
        return self._io.peers

    @property
    def neighbours(self) -> tuple[int, ...]:
        return self._io.neighbours

    @property
    def right(self) -> int:
        return self._io.right

    @property
    def left(self) -> int:
        return self._io.left

    @property
    def hub(self) -> int:
        return self._io.hub

    def after(self, process: int) -> int:
        return self._io.after(process)

    def send(self, to: int, message: Message) -> None:
        self._io.send(to, self._wrap(message))

    def broadcast(self, message: Message) -> None:
        self._io.broadcast(self._wrap(message))

    def set_timer(self, name: str, after_ms: float) -> None:
        self._io.set_timer(self._timer_prefix + name, after_ms)

    def cancel_timer(self, name: str) -> None:
        self._io.cancel_timer(self._timer_prefix + name)

    def choose(self, options: Sequence[T]) -> T:
        return self._io.choose(options)

    def enter(self, token: int | None = None) -> None:
        self._io.enter(token)

    def elected(self, leader: int | None, term: int = 0) -> None:
        self.elections.append((leader, term))

    def note(self, text: str) -> None:
        self._io.note(text)


def build(kind: type[Process], kept: tuple[Value, ...], forgettable: tuple[Value, ...]) -> Process:
    """The inner process with these fields: durable, then volatile. Empty tuples make a new process."""
    return msgspec.structs.replace(_pattern(kind, kept, forgettable))


@lru_cache(maxsize=1024)
def _pattern(kind: type[Process], kept: tuple[Value, ...], forgettable: tuple[Value, ...]) -> Process:
    """A cached process in that state. Callers copy it and never run it."""
    durable, volatile = _names(kind)
    process = kind()
    for name, value in chain(zip(durable, kept, strict=False), zip(volatile, forgettable, strict=False)):
        setattr(process, name, value)
    return process


def take_apart(process: Process) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The fields of an inner process: the durable ones and the others."""
    durable, volatile = _getters(type(process))
    return durable(process), volatile(process)


@cache
def _names(kind: type[Process]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    durable = marked(kind, DURABLE)
    return durable, tuple(name for name in state_fields(kind) if name not in durable)


@cache
def _getters(kind: type[Process]) -> tuple[Callable[[Process], tuple[Value, ...]], ...]:
    return tuple(_getter(names) for names in _names(kind))


def _getter(names: tuple[str, ...]) -> Callable[[Process], tuple[Value, ...]]:
    """A function that reads these fields as a tuple. `attrgetter` returns a tuple only for two or more fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda process: tuple(getattr(process, name) for name in names)
