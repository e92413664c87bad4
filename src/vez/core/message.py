"""Message: what one process says to another.

A message is a frozen, typed, hashable value. The same definition is simulated, hashed by the checker and
encoded on the wire, so its fields hold immutable values only; the guard says so when the class is defined.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, dataclass_transform

import msgspec

from vez.core import guards

STAGE = "stage"
"""The field of a message that says which dead processes an election leaves out; empty in the first election."""


@dataclass_transform(frozen_default=True)
class Message(msgspec.Struct, frozen=True, gc=False):
    """Base of all messages. The class name is the message's kind, and `on_<kind>` its handler."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        guards.check_fields(cls, "message")

    def in_words(self) -> str:
        """What traces and pictures show in place of the fields; empty: the fields."""
        return ""


@cache
def handler_name(kind: type[Message]) -> str:
    """The handler of a kind of message: `VoteForMe` is handled by `on_vote_for_me`."""
    return "on_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def fields_of(message: Message) -> dict[str, Any]:
    """The message's fields as plain values, or its words, for traces. An empty `stage` is left out."""
    if words := message.in_words():
        return {"words": words}
    fields = {
        name: msgspec.to_builtins(getattr(message, name), order="deterministic") for name in message.__struct_fields__
    }
    if STAGE in fields and not fields[STAGE]:
        del fields[STAGE]
    return fields


def plain_values(fields: dict[str, Any]) -> dict[str, Any]:
    """Values of fields as a trace holds them: numbers, texts, lists and dictionaries, sets in a fixed order."""
    return {name: _lists(msgspec.to_builtins(value, order="deterministic")) for name, value in fields.items()}


def _lists(value: Any) -> Any:
    """A plain value as JSON gives it back: tuples are lists."""
    if isinstance(value, tuple | list):
        return [_lists(part) for part in value]
    return {key: _lists(part) for key, part in value.items()} if isinstance(value, dict) else value
