"""Locks as decorators: what a function may be, so that the lock is held for as long as its body runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from vez.errors import Misuse


def refuse_wrong_kind(function: Callable[..., Any], *, tasks: bool) -> None:
    """Raise if the body of the function would run after the lock was released, or could not wait for it."""
    if not callable(function):
        raise Misuse(f"a lock decorates a function, found {function!r}", hint="@vez.lock('nightly')")
    name = getattr(function, "__qualname__", repr(function))
    if _is(inspect.isgeneratorfunction, function) or _is(inspect.isasyncgenfunction, function):
        raise Misuse(
            f"{name} is a generator: its body runs after the call has returned", hint="take the lock inside it"
        )
    waits = is_coroutine_function(function)
    if waits and not tasks:
        raise Misuse(f"{name} is a coroutine function, and vez.lock is for threads", hint="use vez.aio.lock")
    if tasks and not waits:
        raise Misuse(f"{name} is not a coroutine function, and vez.aio.lock is for tasks", hint="use vez.lock")


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """True if calling it makes a coroutine."""
    return _is(inspect.iscoroutinefunction, function)


def _is(kind: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    """True for such a function, and for an object whose `__call__` is one."""
    return kind(function) or kind(getattr(type(function), "__call__", None))  # noqa: B004
