"""Handlers are found by name, so a misspelt one would never be called: the guard refuses it.

`vez.core.process` lists the names; everything else that starts with `on_` handles a message.
"""

from __future__ import annotations

import inspect
import typing
from typing import Any

from vez.core.message import Message, handler_name
from vez.errors import BadHandler, article

_EVENTS = {
    "on_start": ("io",),
    "on_recover": ("io",),
    "on_suspect": ("peer", "io"),
    "on_trust": ("peer", "io"),
    "on_want": ("io",),
    "on_done": ("io",),
    "on_elect": ("io",),
}


def check_handlers(cls: type) -> None:
    """Refuse a handler that nothing would ever call, when the class is defined."""
    for name, handler in vars(cls).items():
        if not name.startswith("on_") or not callable(handler):
            continue
        found = tuple(inspect.signature(handler).parameters)[1:]
        if name in _EVENTS or name.startswith("on_timer_"):
            expected = _EVENTS.get(name, ("io",))
        else:
            expected = ("message", "sender", "io")
            _check_message_name(cls, name, handler)
        if len(found) != len(expected):
            raise BadHandler(
                f"{cls.__name__}.{name} takes ({', '.join(found)}), expected ({', '.join(expected)})",
                hint="see `vez.core.process` for the handlers and what they are given",
            )


def _check_message_name(cls: type, name: str, handler: Any) -> None:
    try:
        kinds = [kind for kind in typing.get_type_hints(handler).values() if _is_message(kind)]
    except NameError:
        return  # an annotation of a scope that is still being built; delivery will tell
    for kind in kinds:
        if handler_name(kind) != name:
            raise BadHandler(
                f"{cls.__name__}.{name} takes {article(kind.__name__)}, which is delivered to {handler_name(kind)}",
                hint=f"rename the handler to {handler_name(kind)}",
            )


def _is_message(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
