"""Handlers: the table of message and timer handlers of a class of processes, made once when the class is defined.

Handlers are found by name (`vez.core.process` lists the names), and every world looks them up here: the simulator's
dispatch, the checker, inner processes, nodes. So an unhandled message or an unknown timer is the same error
everywhere. A misspelt handler would never be called, so it is refused when the class is defined.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from vez.core.message import Message, handler_name
from vez.errors import BadHandler, ProtocolBug, UnhandledMessage, article

Handler = Callable[..., None]

TIMER = "on_timer_"
_EVENTS = {
    "on_start": ("io",),
    "on_recover": ("io",),
    "on_suspect": ("peer", "io"),
    "on_trust": ("peer", "io"),
    "on_want": ("io",),
    "on_done": ("io",),
    "on_withdraw": ("io",),
    "on_elect": ("io",),
}


class Kind(NamedTuple):
    """A kind of message that a process handles."""

    message: type[Message]
    handler: Handler


class Handlers:
    """The handlers of one class, including inherited ones.

    Timers and the names of message handlers are known when the class is defined. The message classes come from the
    annotations of the handlers. An annotation may name a class that does not exist yet, so `kinds` is completed
    when it is first read. Dispatch does not need `kinds`: it looks up the name of the message's class.
    """

    def __init__(self, cls: type) -> None:
        self._owner = cls.__name__
        found = {name: getattr(cls, name) for name in _names(cls)}
        found = {name: handler for name, handler in found.items() if callable(handler)}
        self.timers: dict[str, Handler] = {
            name.removeprefix(TIMER): handler for name, handler in found.items() if name.startswith(TIMER)
        }
        """Timer name → handler."""
        self._by_name: dict[str, Handler] = {
            name: handler for name, handler in found.items() if name not in _EVENTS and not name.startswith(TIMER)
        }
        self._by_kind: dict[type[Message], Handler] = {}
        self._kinds: dict[str, Kind] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the handlers of messages and timers."""
        return (*self._by_name, *(TIMER + name for name in self.timers))

    def message(self, kind: type[Message]) -> Handler:
        """The handler of a kind of message."""
        found = self._by_kind.get(kind)
        if found is None:
            name = handler_name(kind)
            if name not in self._by_name:
                raise UnhandledMessage(
                    f"{self._owner} received {article(kind.__name__)} and has no {name}",
                    hint=f"define {name}(self, message: {kind.__name__}, sender, io)",
                )
            found = self._by_kind[kind] = self._by_name[name]
        return found

    def timer(self, name: str) -> Handler:
        """The handler of a timer."""
        found = self.timers.get(name)
        if found is None:
            raise ProtocolBug(
                f"{self._owner} set a timer {name!r} and has no {TIMER}{name}",
                hint=f"define {TIMER}{name}(self, io)",
            )
        return found

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind name → message class and handler, for callers that must build a message from its name."""
        if self._kinds is None:
            self._kinds = {
                kind.__name__: Kind(kind, handler)
                for name, handler in self._by_name.items()
                for kind in self._kinds_of(name, handler)
            }
        return self._kinds

    def _kinds_of(self, name: str, handler: Handler) -> list[type[Message]]:
        try:
            kinds = list(_annotated(handler))
        except NameError as error:
            raise BadHandler(
                f"{self._owner}.{name}: the class of its message cannot be found: {error}",
                hint="define message classes at the top level of a module",
            ) from error
        if not kinds:
            raise no_message(self._owner, name)
        return kinds


def no_message(owner: str, name: str) -> BadHandler:
    """The error of a handler that is for no message: its name may be misspelt, and it would never be called."""
    return BadHandler(
        f"{owner}.{name} does not say which message it takes, and is no handler of another kind",
        hint=f"annotate it: {name}(self, message: {_class_name(name)}, sender: int, io: Io); `vez docs core` lists the "
        "handlers",
    )


def check_handlers(cls: type) -> None:
    """Refuse a handler that would never be called."""
    for name, handler in vars(cls).items():
        if not name.startswith("on_") or not callable(handler):
            continue
        _check_returns_at_once(cls, name, handler)
        found = tuple(inspect.signature(handler).parameters)[1:]
        is_event = name in _EVENTS or name.startswith(TIMER)
        expected = _EVENTS.get(name, ("io",)) if is_event else ("message", "sender", "io")
        if len(found) != len(expected):
            raise BadHandler(
                f"{cls.__name__}.{name} takes ({', '.join(found)}), expected ({', '.join(expected)})",
                hint="`vez docs core` lists the handlers and what they are given",
            )
        if not is_event:
            _check_message_name(cls, name, handler)


def _check_returns_at_once(cls: type, name: str, handler: Any) -> None:
    """Refuse a generator and a coroutine: calling one only makes an object, and its body does not run."""
    kinds = (
        ("a coroutine (async def)", inspect.iscoroutinefunction),
        ("a generator (yield)", inspect.isgeneratorfunction),
        ("an asynchronous generator", inspect.isasyncgenfunction),
    )
    for what, is_one in kinds:
        if is_one(handler):
            raise BadHandler(
                f"{cls.__name__}.{name} is {what}, so its body would never run",
                hint="a handler is a plain function that does its work at once; use io.set_timer to go on later",
            )


def _check_message_name(cls: type, name: str, handler: Any) -> None:
    try:
        kinds = list(_annotated(handler))
    except NameError:
        return  # the class of the message is not defined yet; a wrong one is found at delivery
    if not kinds:
        raise no_message(cls.__name__, name)
    for kind in kinds:
        if handler_name(kind) != name:
            raise BadHandler(
                f"{cls.__name__}.{name} takes {article(kind.__name__)}, which is delivered to {handler_name(kind)}",
                hint=f"rename the handler to {handler_name(kind)}",
            )


def _annotated(handler: Any) -> Iterator[type[Message]]:
    """The message classes in the annotations of a handler."""
    for hint in typing.get_type_hints(handler).values():
        parts = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        for part in parts:
            if isinstance(part, type) and issubclass(part, Message) and part is not Message:
                yield part


def _names(cls: type) -> list[str]:
    """Every `on_` name of a class, in the order of definition; inherited names come first."""
    return list(dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base) if name.startswith("on_")))


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.removeprefix("on_").split("_"))
