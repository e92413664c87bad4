"""The kinds of functions whose body runs entirely while a lock is held: for decorators, and for `lead`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from vez.errors import Misuse

if TYPE_CHECKING:
    P = ParamSpec("P")
    R = TypeVar("R")
    ThreadFunction = Callable[P, R]
    TaskFunction = Callable[P, Coroutine[Any, Any, R]]

_COROUTINE = 0x80  # inspect.CO_COROUTINE


def refuse_wrong_kind(
    function: Callable[..., Any], *, tasks: bool, user: str = "a lock decorates", of: str = "lock",
    hint: str = "@vez.lock('nightly')", inside: str = "take the lock inside it",
) -> None:  # fmt: skip
    """Raise if the body of the function would run after the lock was released, or could not wait for it."""
    if not callable(function):
        raise Misuse(f"{user} a function, found {function!r}", hint=hint)
    import inspect  # here: most programs decorate nothing

    name = getattr(function, "__qualname__", repr(function))
    if _is(inspect.isgeneratorfunction, function) or _is(inspect.isasyncgenfunction, function):
        raise Misuse(f"{name} is a generator: its body runs after the call has returned", hint=inside)
    waits = is_coroutine_function(function)
    if waits and not tasks:
        raise Misuse(f"{name} is a coroutine function, and vez.{of} is for threads", hint=f"use vez.aio.{of}")
    if tasks and not waits:
        raise Misuse(f"{name} is not a coroutine function, and vez.aio.{of} is for tasks", hint=f"use vez.{of}")


def refuse_as_thread_body(function: Callable[..., Any]) -> None:
    """Raise unless a thread can run the whole function while it holds a lock."""
    refuse_wrong_kind(function, tasks=False)


def refuse_as_task_body(function: Callable[..., Any]) -> None:
    """Raise unless a task can run the whole function while it holds a lock."""
    refuse_wrong_kind(function, tasks=True)


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """True if calling the function returns a coroutine."""
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_flags & _COROUTINE and not hasattr(function, "_is_coroutine_mark"):
        return False  # an ordinary function or method: no need to load `inspect`
    import inspect

    return _is(inspect.iscoroutinefunction, function)


def _is(kind: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    """True for a function of this kind, and for an object whose `__call__` is one."""
    return kind(function) or kind(getattr(type(function), "__call__", None))  # noqa: B004
