"""Overrides: calls the methods by which an algorithm describes itself, and checks what they return.

An algorithm may override `longest_delay_ms`, `candidates` and similar methods. A method that raises, or that returns a
senseless value, is a mistake of the algorithm. The error is the same in the simulator, in the checker and on a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vez.core.process import Election, Mutex, Process
from vez.errors import BadDeclaration, Misuse, VezError

LONGEST_MS = 1_000_000_000
"""About twelve days: the largest delay or stay that an algorithm may name."""

T = TypeVar("T")


def longest_delay_ms(process: Process) -> float | None:
    """The largest delay (ms) of a message that the timers tolerate; None if no timer depends on it."""
    return _duration(process, "longest_delay_ms")


def longest_stay_ms(process: Process) -> float | None:
    """The longest stay (ms) that the timers tolerate; None if no timer depends on it or the process is not a mutex."""
    return _duration(process, "longest_stay_ms") if isinstance(process, Mutex) else None


def smallest(cls: type[Process]) -> int:
    """The smallest number of processes with which the algorithm makes sense."""
    found = _ask(cls, "smallest", cls.smallest)
    if type(found) is not int or found < 1:
        raise BadDeclaration(f"{cls.__name__}: smallest() is {found!r}, expected a number of processes, 1 or more")
    return found


def contenders(cls: type[Mutex], ids: tuple[int, ...]) -> tuple[int, ...]:
    """The processes that want in if the scenario does not name any."""
    return _some_of(cls, "contenders", ids, lambda: cls.contenders(ids))


def candidates(process: Process, ids: tuple[int, ...]) -> tuple[int, ...]:
    """The processes that may lead, the best last; empty if the algorithm is not an election."""
    if not isinstance(process, Election):
        return ()
    found = _some_of(type(process), "candidates", ids, lambda: process.candidates(ids))
    if not found:
        raise BadDeclaration(
            f"{type(process).__name__}: candidates({list(ids)}) names nobody, so nobody may lead",
            hint="return the processes that may lead, the best last",
        )
    return found


def watched(process: Process, me: int, ids: tuple[int, ...]) -> tuple[int, ...]:
    """The processes whose crashes must be reported to process `me`."""
    return _some_of(type(process), "watches", ids, lambda: process.watches(me, ids))


def check_parameters(process: Process, ids: tuple[int, ...]) -> None:
    """Refuse parameters that make no sense for these processes."""
    words = _ask(type(process), "objection", lambda: process.objection(ids))
    if words:
        raise Misuse(f"{process.name or type(process).__name__}: {words}", hint=f"processes: {few(ids)}")
    longest_delay_ms(process)
    longest_stay_ms(process)


def check_duration(what: str, value: object) -> None:
    """Refuse a value that is not a duration. Parameters whose names end in `_ms` are durations: a timer of less than 0
    ms, or of more than the longest one, would end the run when it is set."""
    if isinstance(value, int | float) and not 0 <= value <= LONGEST_MS:
        raise Misuse(f"{what}: expected 0 to {LONGEST_MS:,} ms, found {value:g}")


def _duration(process: Process, name: str) -> float | None:
    found = _ask(type(process), name, getattr(process, name))
    if found is not None and not (type(found) in (int, float) and 0 <= found <= LONGEST_MS):
        raise BadDeclaration(
            f"{type(process).__name__}: {name}() is {found!r}, expected milliseconds from 0 to {LONGEST_MS:,}",
            hint="return a number, or None if no timer depends on it",
        )
    return found  # type: ignore[no-any-return] # a number, or None


def _some_of(cls: type[Process], name: str, ids: tuple[int, ...], question: Callable[[], Any]) -> tuple[int, ...]:
    found = _ask(cls, name, question)
    if not isinstance(found, tuple) or len(set(found)) < len(found) or not set(found) <= set(ids):
        raise BadDeclaration(
            f"{cls.__name__}: {name} is {found!r}, expected a tuple of different processes among {few(ids)}"
        )
    return found


def _ask(cls: type[Process], name: str, question: Callable[[], T]) -> T:
    try:
        return question()
    except VezError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        raise BadDeclaration(
            f"{cls.__name__}.{name} raised {type(error).__name__}{f': {text}' if text else ''}",
            hint="it may depend on its parameters and arguments only, and returns a value for each of them",
        ) from error


def few(ids: tuple[int, ...]) -> str:
    """The identifiers, separated by commas; only the first two and the last if there are more than twelve."""
    return ", ".join(map(str, ids)) if len(ids) <= 12 else f"{ids[0]}, {ids[1]}, …, {ids[-1]}"
